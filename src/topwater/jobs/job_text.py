"""The text of a job's file: its tables, and the line of each name.

What is read is plain: tables, lists, texts, numbers, true and false. Whatever else TOML or YAML can
say, and whatever would take for ever to read, is refused here, so that nothing behind has to
expect it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date, time
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from topwater.errors import QueryError
from topwater.validation import shown

Place: TypeAlias = tuple[str, ...]
"""The names of a setting, from the outermost table on."""

Tables: TypeAlias = tuple[dict[str, Any], dict[Place, int]]
"""What a file says, and where."""

LONGEST = 1 << 18
"""Characters in the longest file that is read."""

_DEEPEST = 32
_MOST_DOTS = 1_000
"""In a line: the parser of TOML takes the square of the number of names in a name."""
_MOST_VALUES = 100_000
_MOST_BRACKETS = 100
_BRACKET = re.compile(r"[\[\]{}]")
_LARGEST = 2**63
_HEADER = re.compile(r"\s*\[\[?([^\]]+)\]\]?\s*(?:#.*)?")
_NAME = r"""(?:"[^"]*"|'[^']*'|[\w-]+)"""
_SETTING = re.compile(rf"\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*=")
_PART = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))\s*(?:\.|$)""")
_KINDS = {
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number that can be read",
    "timestamp": "a date",
}
"""What YAML calls scalars, in our words."""


class Misfit(NamedTuple):
    """A value that no setting can have: where it is, what is wrong, and what to do."""

    place: Place
    problem: str
    fix: str


def toml_tables(path: Path, text: str) -> Tables:
    """The tables of a file in TOML."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > _MOST_DOTS:
            raise QueryError(f"{path}, line {number}: has too many dots", fix="shorten it")
    try:
        return tomllib.loads(text), _toml_lines(text)
    except tomllib.TOMLDecodeError as error:
        raise QueryError(f"{path} is not TOML: {error}", fix="correct that line") from None
    except RecursionError:
        raise _too_deep(path) from None
    except ValueError:  # Python reads no number of thousands of digits
        raise QueryError(f"{path} has a number that is too long", fix="shorten it") from None


def _too_deep(path: Path) -> QueryError:
    return QueryError(f"{path} is nested too deep", fix="remove brackets that do nothing")


def _toml_lines(text: str) -> dict[Place, int]:
    """Where tables and settings begin; those of a table inside a line are in its line."""
    found: dict[Place, int] = {}
    table: Place = ()
    for number, line in enumerate(text.splitlines(), 1):
        if (header := _HEADER.fullmatch(line)) is not None and (parts := name_parts(header[1])):
            table = parts
            found.setdefault(table, number)
        elif (setting := _SETTING.match(line)) is not None:
            found.setdefault((*table, *name_parts(setting[1])), number)
    return found


def name_parts(name: str) -> Place:
    """The names between the dots; nothing if it is not all names.

    Examples
    --------
    >>> name_parts('query."a.b"'), name_parts("a..b")
    (('query', 'a.b'), ())
    """
    parts, at = [], 0
    while at < len(name):
        found = _PART.match(name, at)
        if found is None:
            return ()
        parts.append(found[found.lastindex or 0])
        at = found.end()
    return () if name.endswith(".") else tuple(parts)


def yaml_tables(path: Path, text: str) -> Tables:
    """The tables of a file in YAML."""
    import yaml

    if _depth(text) > _MOST_BRACKETS:
        raise _too_deep(path)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if node is None:
            return {}, {}
        _require_plain_nodes(path, node)
        _expanded(path, node, {})
        lines = dict(_yaml_lines(node, (), set()))
        said = yaml.SafeLoader("").construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        told = f"line {mark.line + 1}: {getattr(error, 'problem', '')}" if mark else "unreadable"
        raise QueryError(f"{path} is not YAML: {told}", fix="correct that line") from None
    except RecursionError:
        raise _too_deep(path) from None
    except QueryError:
        raise
    except (ValueError, OverflowError):  # an escape for no character
        raise QueryError(f"{path} is not YAML: unreadable", fix="write it plainly") from None
    if not isinstance(said, dict):
        raise QueryError(f"{path} has no settings", fix="write query:, stream:, … with settings")
    return said, lines


def _depth(text: str) -> int:
    """How deep brackets nest, whether they are in quotes or not: the parser is slow below that."""
    depth = deepest = 0
    for bracket in _BRACKET.findall(text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def _nodes(node: Any) -> Iterator[Any]:
    """Each node of YAML once."""
    waiting, seen = [node], {id(node)}
    while waiting:
        each = waiting.pop()
        yield each
        inner = each.value if each.id != "scalar" else ()
        parts = [part for one in inner for part in (one if each.id == "mapping" else (one,))]
        fresh = [part for part in parts if id(part) not in seen]
        seen.update(map(id, fresh))
        waiting += fresh


def _require_plain_nodes(path: Path, node: Any) -> None:
    """Raise for a name that is not text, or is there twice, and for a scalar that can't be read."""
    import yaml

    made = yaml.SafeLoader("")
    for each in _nodes(node):
        if each.id == "mapping":
            _require_names(path, each)
        elif each.id == "scalar" and not each.tag.endswith(":merge"):
            try:
                made.construct_object(each)
            except yaml.YAMLError:
                raise
            except Exception:  # whatever Python says of it
                kind = _KINDS.get(each.tag.rpartition(":")[2], f"what {each.tag} means")
                raise QueryError(
                    f"{path}, line {each.start_mark.line + 1}: {shown(each.value)} is not {kind}",
                    fix="correct it, or write it in quotes if it is text",
                ) from None


def _require_names(path: Path, mapping: Any) -> None:
    first: dict[str, int] = {}
    for name, _ in mapping.value:
        line = name.start_mark.line + 1
        kind = name.tag.rpartition(":")[2]
        if name.id != "scalar" or kind not in ("str", "merge", "value"):
            told = shown(name.value).strip("'") if name.id == "scalar" else f"a {name.id}"
            raise QueryError(
                f"{path}, line {line}: a name must be text, not {told}",
                fix=f'write "{told}", in quotes' if name.id == "scalar" else "write one name",
            )
        if kind != "merge" and name.value in first:
            raise QueryError(
                f"{path}, line {line}: {shown(name.value)} is there twice, first in line "
                f"{first[name.value]}",
                fix="keep one of them",
            )
        first.setdefault(name.value, line)


def _expanded(path: Path, node: Any, known: dict[int, int]) -> int:
    """How many values a node stands for, with all that it refers to."""
    if id(node) in known:
        if not known[id(node)]:
            raise QueryError(
                f"{path}, line {node.start_mark.line + 1}: refers to itself",
                fix="write what is meant in full",
            )
        return known[id(node)]
    known[id(node)] = 0
    inner = node.value if node.id != "scalar" else ()
    parts = [part[1] if node.id == "mapping" else part for part in inner]
    count = 1 + sum(_expanded(path, part, known) for part in parts)
    if count > _MOST_VALUES:
        raise QueryError(
            f"{path}, line {node.start_mark.line + 1}: stands for over {_MOST_VALUES:,} values",
            fix="refer to less",
        )
    known[id(node)] = count
    return count


def _yaml_lines(node: Any, place: Place, seen: set[int]) -> Iterator[tuple[Place, int]]:
    """Where names stand; a part that is named again stands where it stood first."""
    if node.id != "mapping" or id(node) in seen:
        return
    seen.add(id(node))
    for name, value in node.value:
        inner = (*place, name.value)
        yield inner, name.start_mark.line + 1
        yield from _yaml_lines(value, inner, seen)


def misfits(value: Any, place: Place = ()) -> Iterator[Misfit]:
    """What in a value is not plain.

    Examples
    --------
    >>> [each.place for each in misfits({"query": {"k": date(2001, 9, 9), "score": "n"}})]
    [('query', 'k')]
    """
    if isinstance(value, Mapping):
        if len(place) >= _DEEPEST:
            yield Misfit(place[:3], "is nested too deep", "name fewer tables in tables")
            return
        for name, each in value.items():
            yield from (Misfit(place, *wrong) for wrong in _odd(name))
            yield from misfits(each, (*place, name))
    elif isinstance(value, list):
        for each in _flat(value):
            if each is _DEEP:
                yield Misfit(place, "is nested too deep", "remove brackets that do nothing")
            else:
                yield from misfits(each, place)
    else:
        yield from (Misfit(place, *wrong) for wrong in _odd(value))


_DEEP = object()


def _flat(values: list[Any], depth: int = 0) -> Iterator[Any]:
    """All that is in lists in lists."""
    for each in values:
        if not isinstance(each, list):
            yield each
        elif depth < _DEEPEST:
            yield from _flat(each, depth + 1)
        else:
            yield _DEEP


def _odd(value: Any) -> Iterator[tuple[str, str]]:
    """Why a value is not text, a number, true, false or nothing; and what to do."""
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= each <= "\udfff" for each in value):
            yield f"{shown(value)} has half a character in it", "write whole characters"
    elif isinstance(value, int):
        if not -_LARGEST <= value < _LARGEST:
            yield "is a number of more than 64 bits", "write a smaller one"
    elif isinstance(value, date | time):
        yield f"{value} is a date or a time", "write it in quotes if it is text"
    elif not isinstance(value, float | None):
        yield f"{shown(value)} is neither text nor a number", "write it in quotes if it is text"
