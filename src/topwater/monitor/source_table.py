"""All sources of a query with several remote values: each guarded, all asked at the same time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from topwater.errors import QueryError
from topwater.model import Attempts, Fetched, Frozen, KeyArray, Millis
from topwater.protocols import Source
from topwater.query import TopKQuery
from topwater.remote.threads import Crew
from topwater.remote.wrappers.deadline import guarded
from topwater.remote.wrappers.wrapper import failed
from topwater.replica.joins.join import Join
from topwater.replica.look_ups import ask
from topwater.validation import nearest, shown

_SPARE = 3

NO_LIMIT: Frozen[Attempts] = Frozen()
"""Sources ask again as often as they are set to."""


class SourceTable:
    """The sources of a query by their names.

    Parameters
    ----------
    sources
        By name. Whatever one of them does, the others are asked, and answers are out in time.
    """

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self.sources = {name: guarded(source) for name, source in sources.items()}
        self._crew = Crew(max(1, len(self.sources)), _SPARE)
        self._asked: Counter[str] = Counter()
        self._unanswered: Counter[str] = Counter()

    def __getstate__(self) -> dict[str, object]:
        return {"sources": self.sources}

    def __setstate__(self, state: dict[str, Mapping[str, Source]]) -> None:
        self.__init__(state["sources"])  # type: ignore[misc]

    @staticmethod
    def of(query: TopKQuery, given: Source | Mapping[str, Source] | SourceTable) -> SourceTable:
        """The sources that a query names.

        Raises
        ------
        QueryError
            If one is missing, or is not asked for, or does not give what the query takes from it.
        """
        assert query.joins is not None  # noqa: S101  for the type checker
        if isinstance(given, SourceTable):
            return given
        wanted = query.joins.sources
        if not isinstance(given, Mapping):
            if len(wanted) > 1:
                raise QueryError(
                    f"one source was given, and the query names {', '.join(wanted)}",
                    field="sources",
                    fix=f'pass them by name, as sources={{"{wanted[0]}": …}}',
                )
            given = {wanted[0]: given}
        _require_same(wanted, given)
        for join in query.joins.joins:
            _require_names(join, given[join.source])
        return SourceTable(given)

    def most(self, source: str) -> int | None:
        """How many keys one request may have; None for any number."""
        return self.sources[source].per_request

    def fetch(
        self,
        asked: Sequence[tuple[str, KeyArray]],
        now: Millis,
        deadline: float | None,
        again: Mapping[str, Attempts] = NO_LIMIT,
    ) -> list[Fetched]:
        """What came for the keys of each source, all asked at the same time.

        ``again`` is what may be spent on further attempts, by the names of sources.
        """
        for name, attempts in again.items():
            self.sources[name].allow(attempts)
        try:
            return self._fetched(asked, now, deadline)
        finally:
            for name in again:
                self.sources[name].allow(None)

    def _fetched(
        self, asked: Sequence[tuple[str, KeyArray]], now: Millis, deadline: float | None
    ) -> list[Fetched]:
        found = [Fetched(np.empty(0), np.empty(0, bool))] * len(asked)
        busy = [at for at, (_, keys) in enumerate(asked) if len(keys)]
        calls = [
            partial(ask, self.sources[asked[at][0]], asked[at][1], now, deadline) for at in busy
        ]
        together = len(calls) > 1 and not all(self._at_once(asked[at][0]) for at in busy)
        # Each guard is back by the deadline; one that is not asked at all has come to nothing.
        came = self._crew.run(calls, None) if together else [call() for call in calls]
        for at, got in zip(busy, came, strict=True):
            found[at] = failed(asked[at][1], "broken") if got is None else got
            self._asked[asked[at][0]] += len(asked[at][1])
            self._unanswered[asked[at][0]] += int(np.count_nonzero(~found[at].ok))
        return found

    def take_tally(self) -> dict[str, tuple[int, int]]:
        """How many keys each source was asked for since the last call, and did not answer."""
        found = {name: (count, self._unanswered[name]) for name, count in self._asked.items()}
        self._asked.clear()
        self._unanswered.clear()
        return found

    def _at_once(self, source: str) -> bool:
        """Whether a source takes no time that others could use."""
        return type(self.sources[source].source).__name__ == "MemorySource"

    def start(self) -> None:
        """Look whether the sources can be reached; see :meth:`topwater.remote.Guarded.start`."""
        for source in self.sources.values():
            source.start()

    def close(self) -> None:
        """Give back what the sources hold."""
        self._crew.close()
        for source in self.sources.values():
            source.close()


Sources: TypeAlias = Source | Mapping[str, Source] | SourceTable
"""Where values are fetched: one source, several by name, or the table of them."""


def one_of(
    source: Source | None, sources: Mapping[str, Source] | None
) -> Source | Mapping[str, Source] | None:
    """What was given: one source, or several by name."""
    if source is not None and sources is not None:
        raise QueryError(
            "one source and several were given",
            field="sources",
            fix="pass all of them in sources, by name",
        )
    return source if sources is None else sources


def _require_same(wanted: Sequence[str], given: Mapping[str, Source]) -> None:
    for name in wanted:
        if name not in given:
            near = nearest(name, given)
            fix = f"did you call it {near}?" if near else f'pass sources={{"{name}": …}}'
            raise QueryError(f"the query names the source {name!r}", field="sources", fix=fix)
    for name in given:
        if name not in wanted:
            raise QueryError(
                f"the query takes nothing from the source {shown(name)}",
                field="sources",
                fix=f"leave it out, or name it in refresh: there are {', '.join(wanted)}",
            )


def _require_names(join: Join, source: Source) -> None:
    """A source that says what it gives must give what is wanted; others give one value."""
    names = _names_of(source)
    if not names:
        if len(join.remote) > 1:
            raise QueryError(
                f"gives one value, and {len(join.remote)} are wanted: {', '.join(join.remote)}",
                field=f"sources.{join.source}",
                fix="let it give a value for each of these names",
            )
        return
    for name in join.remote:
        if name not in names:
            near = nearest(name, names)
            raise QueryError(
                f"gives no value {name!r}, but {', '.join(names)}",
                field=f"sources.{join.source}",
                fix=f"did you mean {near}?" if near else "use one of these names",
            )


def _names_of(source: Source) -> tuple[str, ...]:
    return tuple(getattr(source, "names", ()) or ())
