"""How the notices of a stream of changes are written, and what they promise."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, get_args

from topwater.errors import QueryError
from topwater.model import Frozen, Millis
from topwater.query import TopKQuery
from topwater.replica.refresher import ONLY
from topwater.validation import (
    checked_call,
    choice_of,
    column_of,
    flag_of,
    made_from,
    mapping_of,
    millis,
    suggestion,
    whole_of,
)

Form = Literal["rows", "debezium"]
KEY = "key"
"""The usual name of a key's column."""

VALUE = "value"
"""The usual name of the column of a value, where there is one."""

NO_NAMES: Frozen[str] = Frozen()


@checked_call("changes")
@dataclass(frozen=True, slots=True)
class NoticeSettings:
    """Which columns of a stream say what changed, and whether they say all that did.

    Parameters
    ----------
    form
        ``"rows"``: plain columns. ``"debezium"``: envelopes in JSON, in a column ``value`` and, if
        there is one, the row's key in ``key``, as Debezium writes them to Kafka.
    key
        The column of the key that is looked up by, or the columns; in an envelope, the field. By
        default ``key``, or the query's name for it.
    value
        The column of a remote value, or of each by its name; by default they have the query's
        names, or ``value`` if there is one. A null says that a value has changed, but not to what.
    time
        The column that says when it changed. An envelope says it by itself.
    source
        The column that names the source, if there are several.
    complete
        Whether every change is sent: by all sources, or by those that are named. Then a value that
        came in a notice or was looked up is certain until the next notice, and answers may be
        exact without a look-up.
    delay
        How much later than a younger notice one may come, for ``complete``.

    Examples
    --------
    >>> NoticeSettings(key="id", complete=True, delay="5 s").delay
    5000
    """

    form: Form = "rows"
    key: tuple[str, ...] = ()
    value: Frozen[str] | str = NO_NAMES
    time: str = "time"
    source: str = "source"
    complete: bool | tuple[str, ...] = False
    delay: Millis = 0

    def __post_init__(self) -> None:
        put = functools.partial(object.__setattr__, self)
        choice_of(self.form, get_args(Form), "changes.form")
        put("key", _several(self.key, "changes.key", 'name the column of the key, as key="id"'))
        if not isinstance(self.value, str):
            fix = 'name the columns of the remote values, as {"price": "new_price"}'
            given = mapping_of(self.value or {}, "changes.value", fix)
            put("value", Frozen({n: column_of(c, "changes.value", fix) for n, c in given.items()}))
        column_of(self.time, "changes.time", "name the column that says when it changed")
        column_of(self.source, "changes.source", "name the column of the source's name")
        if isinstance(self.complete, bool):
            flag_of(self.complete, "changes.complete")
        else:
            fix = "say true, or name the sources that send every change"
            put("complete", _several(self.complete, "changes.complete", fix))
        length = millis(self.delay, field="changes.delay")
        put("delay", whole_of(length, "changes.delay", 0, fix='write a span of time, as "5 s"'))

    def complete_sources(self, query: TopKQuery) -> frozenset[str]:
        """The sources that send every change."""
        if isinstance(self.complete, bool):
            return frozenset(sources_of(query)) if self.complete else frozenset()
        for name in self.complete:
            require_source(query, name, "changes.complete")
        return frozenset(self.complete)

    @staticmethod
    def of(given: Any) -> NoticeSettings:
        """Settings from named ones."""
        if isinstance(given, NoticeSettings):
            return given
        return made_from(NoticeSettings, dict(given), "changes")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "form": self.form,
            "key": [*self.key],
            "value": self.value if isinstance(self.value, str) else dict(self.value),
            "time": self.time,
            "source": self.source,
            "complete": self.complete if isinstance(self.complete, bool) else [*self.complete],
            "delay": self.delay,
        }


class ChangeStream:
    """A stream of what changed at the sources of a query: batches in process, a frame on Spark.

    Parameters
    ----------
    stream
        Batches of notices, as of events; on Spark, a streaming DataFrame.
    form, key, value, time, source, complete, delay
        How notices are written, and what they promise: see :class:`NoticeSettings`.

    Examples
    --------
    >>> told = ChangeStream([{"key": ["tea"], "time": [3], "price": [2.5]}], complete=True)
    >>> told.settings.complete
    True
    """

    @checked_call("changes")
    def __init__(
        self,
        stream: Any,
        *,
        form: Form = "rows",
        key: str | Iterable[str] = (),
        value: str | Mapping[str, str] = NO_NAMES,
        time: str = "time",
        source: str = "source",
        complete: bool | str | Iterable[str] = False,
        delay: int | str | timedelta = 0,
    ) -> None:
        given = {"form": form, "key": key, "value": value, "time": time, "source": source}
        self.stream = stream
        self.settings = NoticeSettings.of({**given, "complete": complete, "delay": delay})

    @staticmethod
    def of(given: Any) -> ChangeStream:
        """A stream whose notices are plain rows, if nothing else is said of it."""
        return given if isinstance(given, ChangeStream) else ChangeStream(given)


def _several(given: Any, field: str, fix: str) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    if names is None:
        return ()
    if not isinstance(names, Iterable) or isinstance(names, Mapping):
        raise QueryError("names no column", field=field, fix=fix)
    return tuple(column_of(name, field, fix) for name in names)


def sources_of(query: TopKQuery) -> tuple[str, ...]:
    """The names of a query's sources."""
    return (ONLY,) if query.joins is None else query.joins.sources


def names_of(query: TopKQuery, source: str) -> tuple[str, ...]:
    """The remote values that come from a source."""
    if query.joins is None:
        assert query.single is not None  # noqa: S101  for the type checker
        return (query.single.remote,)
    joins = [join for join in query.joins.joins if join.source == source]
    return tuple(dict.fromkeys(name for join in joins for name in join.remote))


def used_names(query: TopKQuery, source: str) -> frozenset[str]:
    """Those of them that scores and filters use; the others are only shown."""
    used = {*query.score.columns, *(() if query.condition is None else query.condition.columns)}
    return frozenset(used.intersection(names_of(query, source)))


def key_names(
    query: TopKQuery, settings: NoticeSettings, source: str, there: Sequence[str]
) -> tuple[str, ...]:
    """The columns of what is looked up by."""
    if settings.key:
        return settings.key
    if KEY in there:
        return (KEY,)
    own = () if query.joins is None else query.joins.joins
    join = next((each for each in own if each.source == source), None)
    if join is None or join.key is None:
        return query.key_columns
    assert query.aggregation is not None  # noqa: S101  joins are of aggregates
    return (query.aggregation.aggregates[join.key].column or join.key,)


def value_name(settings: NoticeSettings, name: str, there: Sequence[str], *, alone: bool) -> str:
    """The column of a remote value."""
    if isinstance(settings.value, str):
        return settings.value
    if name in settings.value:
        return settings.value[name]
    return VALUE if alone and name not in there and VALUE in there else name


def require_source(query: TopKQuery, name: str, field: str) -> None:
    """Raise unless a query has a source of this name."""
    known = sources_of(query)
    if name not in known:
        raise QueryError(
            f"{name!r} is not a source of the query; there are: {', '.join(known)}",
            field=field,
            fix=suggestion(name, known),
        )


def require_notices(query: TopKQuery, settings: NoticeSettings) -> None:
    """Raise if a query can't use notices at all.

    Raises
    ------
    QueryError
        If it has no remote value, groups, count windows or a list that forgets keys; or names in
        the settings are not its own.
    """
    if query.refresh is None:
        raise QueryError(
            "the query has no remote value that could change",
            field="changes",
            fix="leave it out, or name the remote value in refresh",
        )
    if query.group_by is not None:
        raise QueryError(
            "each group has a replica of its own, and notices are for one",
            field="changes",
            fix="leave out group_by, or look values up: leave out changes",
        )
    if query.window.by != "time":
        raise QueryError(
            "notices count by their times, and the windows are by the number of events",
            field="changes",
            fix="use time windows, or leave it out",
        )
    if query.forgets_keys:
        raise QueryError(
            f"{query.list!r} forgets keys that a notice could lift",
            field="changes",
            fix="leave out the query's list, or leave out changes",
        )
    settings.complete_sources(query)
    names = [name for each in sources_of(query) for name in names_of(query, each)]
    for name in settings.value if isinstance(settings.value, Mapping) else ():
        if name not in names:
            raise QueryError(
                f"{name!r} is not a remote value of the query; there are: {', '.join(names)}",
                field="changes.value",
                fix=suggestion(name, names),
            )
