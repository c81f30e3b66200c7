"""Descriptions of jobs in TOML and YAML: what they say, and in which line."""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from topwater.errors import QueryError, SourceError
from topwater.jobs.job_text import LONGEST, Place, misfits, name_parts, toml_tables, yaml_tables
from topwater.validation import shown, suggestion

ENDINGS = (".toml", ".yaml", ".yml")
"""Of the files that describe a job."""
_MOST_NAMES = 32


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
        """Errors in settings, with the file and the line.

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
    """The place of a setting that was looked for in the wrong table; empty if there is none."""
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
    read_tables = toml_tables if path.suffix == ".toml" else yaml_tables
    said, lines = read_tables(path, text_of(path))
    return _plain(Written(path, said, lines), said)


def text_of(path: Path, what: str = "") -> str:
    """The text of a file."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(LONGEST + 1)
        if len(text) <= LONGEST:
            return text
        told = f"it has more than {LONGEST:,} characters"
    except (OSError, UnicodeDecodeError, ValueError) as error:
        told = getattr(error, "strerror", "") or "it is not text in UTF-8"
    raise QueryError(
        f"{what}{' ' if what else ''}{path} can't be read: {told}",
        fix="give the path of a text file",
    )


def _plain(written: Written, value: Any, place: Place = ()) -> Written:
    """Raise for the first value that no setting can have."""
    for misfit in misfits(value, place):
        raise written.error(misfit.problem, misfit.place, misfit.fix)
    return written


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
        _plain(written, value, place)
    return written


def _override(text: str) -> tuple[Place, Any]:
    """A value is read as TOML does, and is text if that fails."""
    name, equals, value = text.partition("=")
    place = name_parts(name)
    for line in (f"value = {value}", f"value = {json.dumps(value)}"):
        # Not TOML, or a number of thousands of digits, or brackets in brackets without end.
        with contextlib.suppress(ValueError, RecursionError):
            found = tomllib.loads(line)
            if equals and 0 < len(place) <= _MOST_NAMES and [*found] == ["value"]:
                return place, found["value"]
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
