"""Descriptions of jobs in TOML and YAML: what they say, and in which line."""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from topwater.errors import QueryError, SourceError
from topwater.validation import shown, suggestion

Place: TypeAlias = tuple[str, ...]
ENDINGS = (".toml", ".yaml", ".yml")
"""Of the files that describe a job."""

_HEADER = re.compile(r"\s*\[\[?([^\]]+)\]\]?\s*(?:#.*)?")
_NAME = r"""(?:"[^"]*"|'[^']*'|[\w-]+)"""
_SETTING = re.compile(rf"\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*=")
_PART = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))\s*(?:\.|$)""")


@dataclass(frozen=True, slots=True)
class Written:
    """What a file says.

    Attributes
    ----------
    path
        The file.
    said
        Its tables.
    lines
        Where settings stand, by their names from the outermost table on.
    overridden
        What was said on the command line instead.
    """

    path: Path
    said: Mapping[str, Any] = field(repr=False)
    lines: Mapping[Place, int] = field(default_factory=dict)
    overridden: frozenset[Place] = frozenset()

    @property
    def base(self) -> Path:
        """The folder from which its paths start."""
        return self.path.parent

    def table(self, name: str) -> dict[str, Any]:
        """A table; empty if it is not there."""
        found = self.said.get(name, {})
        if not isinstance(found, Mapping):
            raise self.error("must be a table", (name,), f"write [{name}] above its settings")
        return dict(found)

    def error(self, problem: str, place: Place, fix: str) -> QueryError:
        """An error that names the file, the line, and the setting."""
        return QueryError(f"{self._where(place)}: {problem}", fix=fix)

    def _where(self, place: Place) -> str:
        name = ".".join(_shown(part) for part in place)
        if any(place[:depth] in self.overridden for depth in range(1, len(place) + 1)):
            return f"--set {name}"
        line = self.line(place)
        told = f"{self.path}, line {line}" if line else str(self.path)
        return f"{told}: {name}" if name else told

    def line(self, place: Place) -> int | None:
        """Where a setting stands, or the table that it would be in."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place)

    def require_known(self, place: Place, given: Mapping[str, Any], known: Iterable[str]) -> None:
        """Raise for a name that is not known, with the one that was probably meant."""
        names = list(known)
        for name in given:
            if name not in names:
                what = "setting" if place else "table"
                fix = _elsewhere(name, place) or suggestion(name, names)
                raise self.error(f"no such {what}", (*place, name), fix)

    @contextlib.contextmanager
    def blamed(self, *place: str, inner: Sequence[Place] = ()) -> Iterator[None]:
        """Errors in settings, told with the file and the line.

        Parameters
        ----------
        place
            The table whose settings are used here.
        inner
            Tables in it whose settings are named without it.
        """
        try:
            yield
        except QueryError as error:
            problem = error.problem.removeprefix(f"{error.field}: ")
            found = self._found(error.field, place, inner)
            lost = problem.startswith("no such setting") and _elsewhere(found[-1], found[:-1])
            raise self.error(problem, found, lost or error.fix) from None
        except SourceError as error:
            problem = error.problem.removeprefix(f"{error.field}: ")
            told = self.error(problem, self._found(error.field, place, inner), error.fix)
            raise SourceError(told.problem, fix=told.fix) from None

    def _says(self, place: Place) -> bool:
        table: Any = self.said
        for name in place:
            if not isinstance(table, Mapping) or name not in table:
                return False
            table = table[name]
        return True

    def _found(self, name: str, place: Place, inner: Sequence[Place]) -> Place:
        """The setting that an error names."""
        own = ".".join(place)
        if name in ("", own):
            return place
        parts = tuple(name.removeprefix(f"{own}.").split("."))
        for each in inner:
            if self._says((*place, *each, parts[0])):
                return (*place, *each, *parts)
        return (*place, *parts)


def _elsewhere(name: str, place: Place) -> str:
    """Where a setting is that was looked for in the wrong table; empty if it is nowhere."""
    from topwater.jobs.setting_places import place_of

    found = place_of(name, ".".join(place)) if place else ""
    return f"it is a setting of [{found.rpartition('.')[0]}]: {found}" if found else ""


def read(path: Path) -> Written:
    """A description of a job.

    Raises
    ------
    QueryError
        If the file can't be read, or is not TOML or YAML.
    """
    text = text_of(path)
    return _read_toml(path, text) if path.suffix == ".toml" else _read_yaml(path, text)


def text_of(path: Path, what: str = "") -> str:
    """The text of a file."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        told = getattr(error, "strerror", "") or "it is not text in UTF-8"
        raise QueryError(
            f"{what}{' ' if what else ''}{path} can't be read: {told}",
            fix="give the path of a text file",
        ) from None


def _read_toml(path: Path, text: str) -> Written:
    try:
        return Written(path, tomllib.loads(text), _toml_lines(text))
    except tomllib.TOMLDecodeError as error:
        raise QueryError(f"{path} is not TOML: {error}", fix="correct that line") from None


def _toml_lines(text: str) -> dict[Place, int]:
    """Where tables and settings begin; those of a table inside a line are in its line."""
    found: dict[Place, int] = {}
    table: Place = ()
    for number, line in enumerate(text.splitlines(), 1):
        if (header := _HEADER.fullmatch(line)) is not None and (parts := _parts(header[1])):
            table = parts
            found.setdefault(table, number)
        elif (setting := _SETTING.match(line)) is not None:
            found.setdefault((*table, *_parts(setting[1])), number)
    return found


def _parts(name: str) -> Place:
    """The names between the dots; nothing if it is not all names."""
    parts, at = [], 0
    while at < len(name):
        found = _PART.match(name, at)
        if found is None:
            return ()
        parts.append(found[found.lastindex or 0])
        at = found.end()
    return () if name.endswith(".") else tuple(parts)


def _read_yaml(path: Path, text: str) -> Written:
    import yaml

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        lines = dict(_yaml_lines(path, node, (), set()))
        said = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        told = f"line {mark.line + 1}: {getattr(error, 'problem', '')}" if mark else "unreadable"
        raise QueryError(f"{path} is not YAML: {told}", fix="correct that line") from None
    if said is not None and not isinstance(said, dict):
        raise QueryError(f"{path} has no settings", fix="write query:, stream:, … with settings")
    return Written(path, said or {}, lines)


def _yaml_lines(path: Path, node: Any, place: Place, seen: set[int]) -> Iterator[tuple[Place, int]]:
    """Where names stand; a part that is named again stands where it stood first."""
    if getattr(node, "id", "") != "mapping" or id(node) in seen:
        return
    seen.add(id(node))
    for name, value in node.value:
        line = name.start_mark.line + 1
        if name.tag.rpartition(":")[2] in ("bool", "int", "float", "null", "timestamp"):
            raise QueryError(
                f"{path}, line {line}: a name must be text, not {name.value}",
                fix=f'write "{name.value}", in quotes',
            )
        inner = (*place, str(name.value))
        yield inner, line
        yield from _yaml_lines(path, value, inner, seen)


def overridden(written: Written, settings: Sequence[str]) -> Written:
    """The same with what ``NAME=VALUE`` says instead.

    Examples
    --------
    >>> job = Written(Path("job.toml"), {"query": {"k": 3}})
    >>> overridden(job, ["query.k=10", "sink.path=out"]).said
    {'query': {'k': 10}, 'sink': {'path': 'out'}}
    """
    for each in settings:
        place, value = _override(each)
        said = _put(written.said, place, value)
        written = replace(written, said=said, overridden=written.overridden | {place})
    return written


def _override(text: str) -> tuple[Place, Any]:
    """A value is read as TOML does, and is text if that fails."""
    name, equals, value = text.partition("=")
    for line in (f"value = {value}", f"value = {json.dumps(value)}"):
        with contextlib.suppress(tomllib.TOMLDecodeError):
            if equals and (place := _parts(name)):
                return place, tomllib.loads(line)["value"]
    raise QueryError(
        f"{shown(text)} is not NAME=VALUE",
        field="--set",
        fix="write --set query.k=10, for instance",
    )


def _put(table: Any, place: Place, value: Any) -> Any:
    """The table with another value at a place."""
    if not place:
        return value
    found = dict(table) if isinstance(table, Mapping) else {}
    found[place[0]] = _put(found.get(place[0]), place[1:], value)
    return found


def _shown(part: str) -> str:
    return part if re.fullmatch(r"[\w-]+", part) else json.dumps(part)
