"""A mapping that never changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

V_co = TypeVar("V_co", covariant=True)


class Frozen(Mapping[str, V_co], Generic[V_co]):
    """A mapping that never changes, so that scores can be compared, hashed and shared.

    Examples
    --------
    >>> Frozen({"a": 1.0}) == {"a": 1.0}, hash(Frozen({"a": 1.0})) == hash(Frozen(a=1.0))
    (True, True)
    """

    __slots__ = ("_entries",)

    def __init__(self, *entries: Mapping[str, V_co], **named: V_co) -> None:
        self._entries = dict(*entries, **named)

    def __getitem__(self, name: str) -> V_co:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.items()))

    def __repr__(self) -> str:
        return repr(self._entries)
