"""How the values of keys are read from a JSON document."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from topwater.errors import QueryError
from topwater.remote.json_path import EACH, KEY, Misfit, Path
from topwater.remote.key_values import DOUBLED, NOTHING, Matches, key_text


@dataclass(frozen=True, slots=True)
class Reader:
    """Finds keys and values by paths.

    Examples
    --------
    >>> reader = Reader.of("users[*].followers", "users[*].id", many=True)
    >>> reader.read(b'{"users": [{"id": 7, "followers": "12"}, {"id": 8}]}', {"7", "8"}).values
    {'7': 12.0, '8': nan}
    >>> Reader.of("{key}", None, many=True).read(b'{"7": 12, "9": 1}', {"7", "8"}).values
    {'7': 12.0}
    """

    value: Path
    key: Path | None

    @staticmethod
    def of(value: Any, key: Any, *, many: bool) -> Reader:
        """A checked reader."""
        path = Path.parse(value, "value")
        keys = None if key is None else Path.parse(key, "key")
        if keys is None and many and KEY not in path.steps:
            raise QueryError(
                "does not tell which value belongs to which key",
                field="value",
                fix='write "counts.{key}", or name the path of the keys: key="users[*].id"',
            )
        if keys is not None:
            before = keys.split(EACH)
            if before is None or (path.split(EACH) or [None])[0] is None:
                raise QueryError(
                    "keys and values must be parts of one list",
                    field="key",
                    fix='write key="users[*].id", value="users[*].followers"',
                )
            if keys.steps[: len(before[0].steps)] != path.steps[: path.steps.index(EACH)]:
                raise QueryError(
                    "keys and values are in different lists",
                    field="key",
                    fix="let both paths be the same up to [*]",
                )
        return Reader(path, keys)

    def read(self, body: bytes, asked: Collection[str]) -> Matches:
        """The values of the keys asked for; others are ignored.

        Raises
        ------
        ValueError
            If the body is not JSON, or does not have the shape that the paths need.
        """
        document = json.loads(body, object_pairs_hook=_object)
        found = Matches()
        for key, value in self._pairs(document, asked):
            if key in asked:
                found.add(key, value)
        return found

    def _pairs(self, document: Any, asked: Collection[str]) -> Iterator[tuple[str, Any]]:
        if self.key is not None:
            yield from self._by_list(document, self.key)
        elif (halves := self.value.split(KEY)) is not None:
            named = halves[0].container(document, dict)
            for key in asked:
                if named.get(key) is DOUBLED:
                    yield key, DOUBLED
                elif key in named:
                    yield from ((key, value) for value in _values(halves[1], named[key]))
        else:
            _require_container(self.value, document)
            (key,) = asked
            yield from ((key, value) for value in _values(self.value, document))

    def _by_list(self, document: Any, keys: Path) -> Iterator[tuple[str, Any]]:
        before, after = keys.split(EACH) or (keys, keys)
        _, value = self.value.split(EACH) or (self.value, self.value)
        for part in before.container(document, list):
            key = next(after.values(part), None)
            if isinstance(key, str | int | float) and not isinstance(key, bool):
                yield key_text(key), next(value.values(part), NOTHING)


def _values(path: Path, document: Any) -> Iterator[Any]:
    """What a path leads to; that it leads nowhere is told too."""
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
