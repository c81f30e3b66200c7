"""What the columns of answers are called, as a table: as the user calls what is in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from topwater.errors import QueryError
from topwater.model import Frozen
from topwater.query.topk_query import TopKQuery

OURS = (
    "kind",
    "window_start",
    "window_end",
    "rank",
    "score",
    "time",
    "exact",
    "precision",
    "ndcg",
    "figures",
    "change",
    "previous_rank",
    "previous_score",
)
"""The names that are not the user's, in any form of the table."""


@dataclass(frozen=True, slots=True)
class RemoteColumns:
    """Where a remote value is, how old it is, how surely right, and why it was assumed."""

    value: str
    age: str
    confidence: str
    assumed: str

    @property
    def names(self) -> tuple[str, str, str, str]:
        """All four."""
        return self.value, self.age, self.confidence, self.assumed


@dataclass(frozen=True, slots=True)
class AnswerColumns:
    """What the columns of a query's items are called.

    Attributes
    ----------
    keys, groups
        The columns of the key and of the group, as in the stream.
    values
        What the stream contributed, by the name that it has in the query. None where items are
        events: of these only the score is kept.
    remotes
        The remote values, by the name that they have in the query.
    """

    keys: tuple[str, ...]
    groups: tuple[str, ...]
    values: Mapping[str, str]
    remotes: Mapping[str, RemoteColumns]

    @staticmethod
    def of(query: TopKQuery) -> AnswerColumns:
        """Those of a query.

        A value that is called like another column gets an underscore. Keys and groups never do:
        users join by them.

        Raises
        ------
        QueryError
            If a key or a group is called like a column that every answer has.

        Examples
        --------
        >>> from topwater import TopKQuery, tumbling
        >>> columns = AnswerColumns.of(TopKQuery(
        ...     key="lot", time="at", window=tumbling(10), k=2, refresh="price",
        ...     take={"bids": "count", "rank": "max(place)"}, score="bids * price"))
        >>> columns.values, columns.remotes["price"].names
        ({'bids': 'bids', 'rank': 'rank_'}, ('price', 'price_age', 'price_confidence', \
'price_assumed'))
        """
        for field, names in (("key", query.key_columns), ("group_by", query.group_columns)):
            _require_free(field, names)
        taken = {*OURS, *query.key_columns, *query.group_columns}
        values = {name: _free(name, taken) for name in query.names_taken}
        remotes = {
            name: RemoteColumns(
                _free(name, taken),
                _free(f"{name}_age", taken),
                _free(f"{name}_confidence", taken),
                _free(f"{name}_assumed", taken),
            )
            for name in _remote_names(query)
        }
        return AnswerColumns(
            query.key_columns, query.group_columns, Frozen(values), Frozen(remotes)
        )


def _remote_names(query: TopKQuery) -> tuple[str, ...]:
    if query.joins is not None:
        return tuple(name for join in query.joins.joins for name in join.remote)
    return () if query.single is None else (query.single.remote,)


def free_name(name: str, taken: Iterable[str]) -> str:
    """A name that is not taken: this one, or with underscores at its end.

    Examples
    --------
    >>> free_name("rank", ["rank", "rank_"]), free_name("bids", ["rank"])
    ('rank__', 'bids')
    """
    known = set(taken)
    while name in known:
        name += "_"
    return name


def _free(name: str, taken: set[str]) -> str:
    """The same; and it is taken from now on."""
    found = free_name(name, taken)
    taken.add(found)
    return found


def _require_free(field: str, names: Iterable[str]) -> None:
    for name in names:
        if name in OURS:
            raise QueryError(
                f"the column {name!r} can't stand in the answers, which have one of this name",
                field=field,
                fix=f"rename it before: events.withColumnRenamed({name!r}, {f'the_{name}'!r})",
            )
