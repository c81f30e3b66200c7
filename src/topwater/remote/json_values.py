"""How the values of keys are read from a JSON document."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from topwater.errors import QueryError
from topwater.remote.found_values import Found
from topwater.remote.json_path import EACH, KEY, Misfit, Path
from topwater.remote.key_values import DOUBLED, NOTHING, key_text
from topwater.remote.wanted_values import Wanted, wanted_values


@dataclass(frozen=True, slots=True)
class Reader:
    """Finds keys and values by paths.

    Examples
    --------
    >>> reader = Reader.of("users[*].followers", "users[*].id", many=True)
    >>> found = reader.read(b'{"users": [{"id": 7, "followers": "12"}, {"id": 8}]}', {"7", "8"})
    >>> found.matches().values
    {'7': 12.0, '8': nan}
    >>> reader = Reader.of("max({key}[*].price)", None, many=True)
    >>> reader.read(b'{"7": [{"price": 2}, {"price": 3}]}', {"7", "8"}).matches().values
    {'7': 3.0}
    """

    wanted: tuple[Wanted, ...]
    paths: tuple[Path | None, ...]
    key: Path | None

    @staticmethod
    def of(value: Any, key: Any, *, many: bool, text: Any = None) -> Reader:
        """A checked reader."""
        wanted = wanted_values(value, text)
        keys = None if key is None else Path.parse(key, "key")
        if keys is not None and EACH not in keys.steps:
            raise QueryError(_NOT_ONE_LIST, field="key", fix=_IN_LIST)
        paths = tuple(_path(each, keys, many=many) for each in wanted)
        return Reader(wanted, paths, keys)

    def read(self, body: bytes, asked: Collection[str], found: Found | None = None) -> Found:
        """The values of the keys asked for, beside those found before; others are ignored.

        Raises
        ------
        ValueError
            If the body is not JSON, or does not have the shape that the paths need.
        """
        document = json.loads(body, object_pairs_hook=_object)
        found = Found(self.wanted) if found is None else found
        if self.key is not None:
            self._by_list(document, self.key, asked, found)
            return found
        for at, path in enumerate(self.paths):
            assert path is not None  # noqa: S101  for the type checker: only lists are counted so
            for key, value in _pairs(path, document, asked):
                found.add_at(at, key, value)
        return found

    def _by_list(self, document: Any, keys: Path, asked: Collection[str], found: Found) -> None:
        before, after = keys.split(EACH) or (keys, keys)
        inside = [path and (path.split(EACH) or (path, path))[1] for path in self.paths]
        for part in before.container(document, list):
            key = next(after.values(part), None)
            if isinstance(key, str | int | float) and not isinstance(key, bool):
                text = key_text(key)
                if text in asked:
                    found.add(text, [_value_in(part, path) for path in inside])


_NOT_ONE_LIST = "keys and values must be parts of one list"
_IN_LIST = 'write key="users[*].id", value="users[*].followers"'


def _path(wanted: Wanted, keys: Path | None, *, many: bool) -> Path | None:
    """Where a value stands; None where rows of a key are counted."""
    if wanted.merge == "count" and not wanted.place:
        if keys is not None:
            return None
        fix = 'write count(offers[*]), or name the path of the keys: key="offers[*].id"'
        raise QueryError("does not say what is counted", field=wanted.setting, fix=fix)
    path = Path.parse(wanted.place, wanted.setting)
    if keys is None and many and KEY not in path.steps:
        raise QueryError(
            "does not say which value belongs to which key",
            field=wanted.setting,
            fix='write "counts.{key}", or name the path of the keys: key="users[*].id"',
        )
    if keys is not None:
        _require_one_list(path, keys)
    return path


def _require_one_list(path: Path, keys: Path) -> None:
    """Raise unless a value stands in the list of the keys."""
    halves, before = path.split(EACH), keys.split(EACH)
    if halves is None:
        raise QueryError(_NOT_ONE_LIST, field="key", fix=_IN_LIST)
    if before is None or before[0].steps != halves[0].steps:
        raise QueryError(
            "keys and values are in different lists",
            field="key",
            fix="let both paths be the same up to [*]",
        )


def _pairs(path: Path, document: Any, asked: Collection[str]) -> Iterator[tuple[str, Any]]:
    """The values at a path, each with its key."""
    if (halves := path.split(KEY)) is not None:
        named = halves[0].container(document, dict)
        for key in asked:
            if named.get(key) is DOUBLED:
                yield key, DOUBLED
            elif key in named:
                yield from ((key, value) for value in _values(halves[1], named[key]))
    else:
        _require_container(path, document)
        (key,) = asked
        yield from ((key, value) for value in _values(path, document))


def _value_in(part: Any, path: Path | None) -> Any:
    """What stands in an item of a list; the item itself where items are counted."""
    return part if path is None else next(path.values(part), NOTHING)


def _values(path: Path, document: Any) -> Iterator[Any]:
    """What a path leads to, even if that is nothing."""
    found = path.values(document)
    yield next(found, NOTHING)
    yield from found


def _require_container(path: Path, document: Any) -> None:
    """A document of another type altogether is not an answer about the key."""
    if path.steps and not isinstance(
        document, list if isinstance(path.steps[0], int | bytes) else dict
    ):
        raise Misfit(f"no {path.text} in it")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object in which a name that stands twice is not decided by its place."""
    found = dict(pairs)
    if len(found) < len(pairs):
        for name, value in pairs:
            if found[name] is not value and found[name] != value:
                found[name] = DOUBLED
    return found
