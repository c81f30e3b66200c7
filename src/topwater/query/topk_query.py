"""TopKQuery: all settings of one continuous query, in one frozen value."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import timedelta
from typing import Any, Literal, get_args

from topwater.candidates.rescorable import changing
from topwater.errors import QueryError
from topwater.model import Frozen, Millis
from topwater.query.checks import check_query
from topwater.query.key_names import names_of, one_column
from topwater.query.key_parts import with_key_parts
from topwater.replica import RefreshSettings
from topwater.replica.budget import Budget
from topwater.replica.joins.allowance import Allowance
from topwater.replica.joins.join import Join
from topwater.replica.joins.join_settings import JoinSettings
from topwater.scoring import Order, Score, ordered, score_from, score_in_words
from topwater.scoring.aggregates import RESERVED, Aggregate, Aggregation
from topwater.scoring.condition import Condition
from topwater.scoring.condition_parser import read_condition
from topwater.validation import (
    checked_call,
    choice_of,
    column_of,
    columns_of,
    made_from,
    mapping_of,
    millis,
    shown,
    whole_of,
)
from topwater.views import html_view
from topwater.windows import Windows

LateRule = Literal["drop", "use"]
_HOUR: Millis = 3_600_000
_OF_JOINS = ("cost", "per", "over")
"""What only the budget of joins has."""


class _Usual(str):
    """The list where none was named: ``replace`` may lead to a query that has none."""

    __slots__ = ()


_USUAL = _Usual("panes")


@checked_call()
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TopKQuery:
    """Which k items matter most in each window.

    Parameters
    ----------
    key
        The column that names an item, or a tuple of columns that name it together: integers,
        strings, dates, timestamps, decimals or booleans.
    time
        The event-time column: timestamps, or integers as epoch milliseconds. Count windows
        need none.
    window
        Made by ``sliding``, ``tumbling`` or ``counting``.
    score
        A column, an expression over columns, or a score of :mod:`topwater.scoring`.
    k
        How many items an answer has.
    order
        Which scores are best, ``"largest"`` or ``"smallest"``. By default the largest, except for
        distances.
    take
        What the stream contributes. ``"each"``: every event is an item of its own. Or named
        aggregates per key and window, which the score then refers to:
        ``{"mentions": "count", "spent": "sum(amount)"}``.
    list
        The candidate list, by registry name; ``"panes"`` by default where each event is an item.
        Queries with aggregates have none (``query.list`` is None), and keep a small row per key
        and pane instead. With a remote part and ``last`` alone they may choose ``"panes+n"``,
        ``"topk+n"`` or ``"mintopk+"``: k + ``refresh.spare`` keys of each window are kept, and
        the score must follow the stream's value in one direction. Such an answer may miss a key
        that was forgotten before its remote value rose: it is then not ``exact``.
    lateness
        How far events may come out of order: the watermark trails the newest event by it.
    late
        What to do with an event if one of its windows has already been answered: ``"drop"`` it, or
        ``"use"`` it for its windows that are still open. It is counted in both cases.
    jump
        How far ahead of all others an event may lie and still move the time; one that lies
        further ahead waits. By default an hour, or the window's width if that is longer. So one
        wrong date does not make all other events late.
    group_by
        A column or a tuple of columns, of the same types as keys: one ranking for each of its
        values. Every ranking has the whole budget, and a group without items has no answer.
    refresh
        The remote part of the score, and how its values are kept fresh: settings, or just the
        name that the score uses for the remote value. Needs aggregates in ``take``. Several
        values, of one source or more, are a list of :class:`~topwater.replica.joins.join.Join`
        settings: ``[{"remote": ["price", "stock"], "from": "shop"}, …]``.
    where
        The condition a key has to meet to be ranked, over names of ``take`` and remote values:
        ``"stock > 0 and trust > 0.2"``. A missing value meets none.
    budget
        What look-ups may cost, if ``refresh`` does not say so: a number for each window, or
        settings of :class:`~topwater.replica.joins.allowance.Allowance`, as
        ``{"cost": 100, "deadline": "2 s", "per": {"1 day": 50_000}}``.
    empty_windows
        How many windows without any item are answered in a row. After that they are only
        counted, so that one wrong date does not cause a million empty answers.
    heartbeat
        A column of booleans, for streams that carry signs of life: a row where it is true is not an
        event, has no key, and is counted nowhere. It only moves the time.

    Examples
    --------
    >>> from topwater.windows import sliding
    >>> query = TopKQuery(key="user", time="at", window=sliding("9 min", "3 min"),
    ...                   take={"mentions": "count"}, score="mentions", k=3)
    >>> TopKQuery.from_json(query.to_json()) == query
    True
    """

    key: str | tuple[str, ...]
    window: Windows
    score: Score
    k: int
    time: str | None = None
    take: Literal["each"] | Mapping[str, str] = "each"
    list: str | None = None
    lateness: Millis = 0
    late: LateRule = "drop"
    jump: Millis = 0
    group_by: str | tuple[str, ...] | None = None
    refresh: RefreshSettings | JoinSettings | None = None
    where: str | None = None
    empty_windows: int = 1_000
    heartbeat: str | None = None

    def __init__(
        self,
        *,
        key: str | Sequence[str],
        window: Windows,
        score: str | Mapping[str, Any] | Score,
        k: int,
        order: Order | None = None,
        time: str | None = None,
        take: Literal["each"] | Mapping[str, str] = "each",
        list: str | None = None,  # noqa: A002
        lateness: int | str | timedelta = 0,
        late: LateRule = "drop",
        jump: int | str | timedelta | None = None,
        group_by: str | Sequence[str] | None = None,
        refresh: str
        | Mapping[str, Any]
        | Sequence[str | Mapping[str, Any] | Join]
        | RefreshSettings
        | JoinSettings
        | None = None,
        where: str | None = None,
        budget: Any = ...,
        empty_windows: int = 1_000,
        heartbeat: str | None = None,
    ) -> None:
        put = functools.partial(object.__setattr__, self)
        put("key", columns_of(key, "key"))
        put("window", _required_window(window))
        put("score", ordered(score_from(score), order))
        put("k", whole_of(k, "k", 1, fix="ask for one item or more"))
        put("time", None if time is None else column_of(time, "time"))
        put("take", _take(take))
        put("list", _list_of(list, self.take == "each"))
        put("lateness", millis(lateness, field="lateness"))
        put("late", choice_of(late, get_args(LateRule), "late"))
        put("jump", max(_HOUR, _width(window)) if jump is None else millis(jump, field="jump"))
        put("group_by", None if group_by is None else columns_of(group_by, "group_by"))
        put("where", None if where is None else str(read_condition(where)))
        put("refresh", _refresh(refresh, budget, filtered=where is not None))
        if isinstance(self.refresh, JoinSettings) and isinstance(self.key, str):
            put("refresh", self.refresh.ranked_by(self.key))
        elif isinstance(self.refresh, JoinSettings):
            took, joins = with_key_parts(self.take, self.refresh, self.key_columns)
            put("take", took)
            put("refresh", joins)
        fix = "0 answers no empty window"
        put("empty_windows", whole_of(empty_windows, "empty_windows", 0, fix=fix))
        put("heartbeat", None if heartbeat is None else column_of(heartbeat, "heartbeat"))
        check_query(self)

    @property
    def order(self) -> Order:
        """Which scores are best."""
        return self.score.order

    @property
    def aggregation(self) -> Aggregation | None:
        """The aggregates per key, or None when each event is an item."""
        if isinstance(self.take, str):
            return None
        return Aggregation(
            {name: Aggregate.parse(text, field=f"take.{name}") for name, text in self.take.items()},
            self.label_names,
        )

    @property
    def condition(self) -> Condition | None:
        """What a key has to fulfil to be ranked."""
        return None if self.where is None else _condition(self.where)

    @property
    def single(self) -> RefreshSettings | None:
        """How the remote value is kept fresh, if there is one value of one source."""
        return self.refresh if isinstance(self.refresh, RefreshSettings) else None

    @property
    def joins(self) -> JoinSettings | None:
        """How remote values are kept fresh, if there are several, or a filter on them."""
        return self.refresh if isinstance(self.refresh, JoinSettings) else None

    @property
    def lookup_names(self) -> tuple[str, ...]:
        """The names of ``take`` by which remote values are looked up."""
        return () if self.joins is None else self.joins.keys

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of ``take`` that may be text: no number is made with them."""
        if isinstance(self.take, str):
            return ()
        lasts = [name for name, text in self.take.items() if text.startswith("last(")]
        if not lasts:
            return ()
        used = {*self.score.columns, *(() if self.condition is None else self.condition.columns)}
        return tuple(name for name in lasts if name not in used)

    @property
    def names_taken(self) -> tuple[str, ...]:
        """The names of what the stream contributes; none when each event is an item."""
        return () if isinstance(self.take, str) else tuple(self.take)

    @property
    def value_columns(self) -> tuple[str, ...]:
        """The numeric columns of the stream that are read."""
        aggregation = self.aggregation
        return self.score.columns if aggregation is None else aggregation.columns

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the stream that are read, each once."""
        others = (self.time, *self.group_columns, self.heartbeat, *self.value_columns)
        named = (*self.key_columns, *others)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns of the key."""
        return names_of(self.key)

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns of the groups; none without groups."""
        return () if self.group_by is None else names_of(self.group_by)

    @property
    def key_column(self) -> str:
        """The one column of the key, where there can be no more: see :mod:`keyed_query`."""
        return one_column(self.key, "key")

    @property
    def group_column(self) -> str | None:
        """The one column of the groups, if there are groups."""
        return None if self.group_by is None else one_column(self.group_by, "group_by")

    @property
    def key_in_words(self) -> str:
        """The columns of the key, as in a sentence."""
        return " and ".join(self.key_columns)

    @property
    def group_in_words(self) -> str:
        """The columns of the groups, as in a sentence; empty without groups."""
        return " and ".join(self.group_columns)

    @property
    def forgets_keys(self) -> bool:
        """Whether keys of an open window may be forgotten: a list keeps k + spare of each."""
        return self.list in changing

    @property
    def remote_in_words(self) -> str:
        """Whose remote value is looked up, how often, and who chooses; empty without one."""
        if self.refresh is None:
            return ""
        spent = self.refresh.budget.in_words
        each = "" if self.group_by is None else f" for each {self.group_in_words}"
        if isinstance(self.refresh, JoinSettings):
            each = "" if self.refresh.budget.over == "all" else each
            joined = ", ".join(
                f"{' and '.join(join.remote)} of each {join.key or self.key_in_words}"
                for join in self.refresh.joins
            )
            return f"{joined}: {spent}{each}, chosen by worth"
        chosen = f"chosen by {self.refresh.policy}"
        return f"{self.refresh.remote} of each {self.key_in_words}: {spent}{each}, {chosen}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON, TOML and YAML."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain |= {name: _plain(plain[name]) for name in ("key", "group_by")}
        plain["window"] = asdict(self.window)
        plain["score"] = self.score.to_dict()
        plain["refresh"] = None if self.refresh is None else self.refresh.to_dict()
        plain["take"] = self.take if isinstance(self.take, str) else dict(self.take)
        return plain

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> TopKQuery:
        """The query that such values describe. A window may be given in durations, as text."""
        given = dict(mapping_of(settings, "query", "give a mapping, as to_dict() does"))
        if "window" in given:
            given["window"] = _window(given["window"])
        return made_from(cls, given)

    def __repr__(self) -> str:
        remote = f", with {self.remote_in_words}" if self.refresh else ""
        order = ", the smallest first" if self.score.order == "smallest" else ""
        where = "" if self.where is None else f" where {self.where}"
        best = f"the {self.k} best by {score_in_words(self.score)}{order}{where}"
        return f"<TopKQuery: {best}, over {self.window.in_words}{remote}>"

    def _repr_html_(self) -> str:
        return html_view(self)

    def to_json(self) -> str:
        """The query as text."""
        # Not sorted: the order of a score's terms decides how their sum is rounded.
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> TopKQuery:
        """The query that :meth:`to_json` wrote."""
        try:
            settings = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise QueryError(f"no JSON: {error}", field="query", fix="use to_json()") from None
        return cls.from_dict(mapping_of(settings, "query", "use to_json()"))


def _plain(columns: str | tuple[str, ...] | None) -> Any:
    return [*columns] if isinstance(columns, tuple) else columns


def _list_of(given: str | None, each: bool) -> str | None:
    """The list that is named, or the usual one where there is one."""
    if given is None or isinstance(given, _Usual):
        return _USUAL if each else None
    return given


@functools.lru_cache(maxsize=256)
def _condition(text: str) -> Condition:
    return read_condition(text)


def _refresh(given: Any, budget: Any, *, filtered: bool) -> RefreshSettings | JoinSettings | None:
    """One remote value keeps its short form, and its way, unless there is more to say."""
    if given is None:
        if budget is not ...:
            raise QueryError(
                "there is nothing to look up",
                field="budget",
                fix="leave it out, or name the remote values in refresh",
            )
        return None
    own = isinstance(budget, Mapping) and any(name in budget for name in _OF_JOINS)
    if JoinSettings.meant(given) or own or isinstance(budget, Allowance):
        return JoinSettings.of(given, budget)
    if budget is not ...:
        given = _with_budget(given, budget)
    one = RefreshSettings.of(given)
    return JoinSettings.of(one) if filtered else one


def _with_budget(given: Any, budget: Any) -> Any:
    """One remote value with the budget that stands in the query."""
    if isinstance(given, RefreshSettings):
        return replace(given, budget=Budget.of(budget))
    settings = {"remote": given} if isinstance(given, str) else given
    if isinstance(settings, Mapping) and "budget" in settings:
        what = "is set both in the query and in refresh"
        raise QueryError(what, field="budget", fix="leave one of them out")
    return {**settings, "budget": budget}


def _width(window: Windows) -> Millis:
    """In time; of a window by count it is not known."""
    return window.width if window.by == "time" else 0


def _required_window(given: Any) -> Windows:
    if not isinstance(given, Windows):
        raise QueryError(
            f"{shown(given)} is not a window",
            field="window",
            fix='write sliding("9 min", "3 min"), tumbling("1 h") or counting(1000, 100)',
        )
    return given


def _window(given: Any) -> Any:
    """Windows from plain values; anything else is left to the validation."""
    if not isinstance(given, Mapping):
        return given
    spans = {
        name: millis(span, field=f"window.{name}")
        for name, span in given.items()
        if name in ("width", "step") and isinstance(span, str)
    }
    return made_from(Windows, {**given, **spans}, "window")


def _take(take: Any) -> Literal["each"] | Mapping[str, str]:
    if isinstance(take, str) and take == "each":
        return "each"
    if not isinstance(take, Mapping):
        raise QueryError(
            f"{shown(take)} is unknown", field="take", fix='use "each", or names as {"n": "count"}'
        )
    for name in take:
        if not isinstance(name, str) or not name.isidentifier() or name in RESERVED:
            raise QueryError(
                f"{name!r} can't be used as a name",
                field="take",
                fix=f"use a plain name other than {', '.join(RESERVED)}",
            )
    return Frozen(
        {name: str(Aggregate.parse(text, field=f"take.{name}")) for name, text in take.items()}
    )
