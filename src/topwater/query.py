"""TopKQuery: all settings of one continuous query, in one frozen value."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import timedelta
from typing import Any, Literal, get_args

from topwater.candidates import approximate, lists
from topwater.candidates.rescorable import changing
from topwater.errors import QueryError
from topwater.model import Frozen, Millis
from topwater.replica import RefreshSettings
from topwater.scoring import Score, score_from, score_in_words
from topwater.scoring.aggregates import RESERVED, Aggregate, Aggregation
from topwater.validation import (
    FARTHEST,
    checked_call,
    choice_of,
    column_of,
    made_from,
    mapping_of,
    millis,
    shown,
    suggestion,
    whole_of,
)
from topwater.views import html_view
from topwater.windows import Windows

LateRule = Literal["drop", "use"]
_HOUR: Millis = 3_600_000


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
        The column that names an item: integers or strings.
    time
        The event-time column: timestamps, or integers as epoch milliseconds. Count windows
        need none.
    window
        Made by ``sliding``, ``tumbling`` or ``counting``.
    score
        A column, an expression over columns, or a score of :mod:`topwater.scoring`.
    k
        How many items an answer has.
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
        What to do with an event one of whose windows was answered already: ``"drop"`` it, or
        ``"use"`` it for its windows that are still open. It is counted in both cases.
    jump
        How far ahead of all others an event may lie and still move the time; one that lies
        further ahead waits. By default an hour, or the window's width if that is longer. So one
        wrong date does not make all other events late.
    group_by
        A column, integers or strings: one ranking for each of its values. Every ranking has the
        whole budget, and a group without items has no answer.
    refresh
        The remote part of the score, and how its values are kept fresh: settings, or just the
        name that the score uses for the remote value. Needs aggregates in ``take``.
    empty_windows
        How many windows without any item are answered in a row. After that they are only
        counted, so that one wrong date does not cause a million empty answers.

    Examples
    --------
    >>> from topwater.windows import sliding
    >>> query = TopKQuery(key="user", time="at", window=sliding("9 min", "3 min"),
    ...                   take={"mentions": "count"}, score="mentions", k=3)
    >>> TopKQuery.from_json(query.to_json()) == query
    True
    """

    key: str
    window: Windows
    score: Score
    k: int
    time: str | None = None
    take: Literal["each"] | Mapping[str, str] = "each"
    list: str | None = None
    lateness: Millis = 0
    late: LateRule = "drop"
    jump: Millis = 0
    group_by: str | None = None
    refresh: RefreshSettings | None = None
    empty_windows: int = 1_000

    def __init__(
        self,
        *,
        key: str,
        window: Windows,
        score: str | Mapping[str, Any] | Score,
        k: int,
        time: str | None = None,
        take: Literal["each"] | Mapping[str, str] = "each",
        list: str | None = None,  # noqa: A002
        lateness: int | str | timedelta = 0,
        late: LateRule = "drop",
        jump: int | str | timedelta | None = None,
        group_by: str | None = None,
        refresh: str | Mapping[str, Any] | RefreshSettings | None = None,
        empty_windows: int = 1_000,
    ) -> None:
        put = functools.partial(object.__setattr__, self)
        put("key", column_of(key, "key"))
        put("window", _required_window(window))
        put("score", score_from(score))
        put("k", whole_of(k, "k", 1, fix="ask for one item or more"))
        put("time", None if time is None else column_of(time, "time"))
        put("take", _take(take))
        put("list", _list_of(list, self.take == "each"))
        put("lateness", millis(lateness, field="lateness"))
        put("late", choice_of(late, get_args(LateRule), "late"))
        put("jump", max(_HOUR, _width(window)) if jump is None else millis(jump, field="jump"))
        put("group_by", None if group_by is None else column_of(group_by, "group_by"))
        put("refresh", None if refresh is None else RefreshSettings.of(refresh))
        fix = "0 answers no empty window"
        put("empty_windows", whole_of(empty_windows, "empty_windows", 0, fix=fix))
        self._check()

    @property
    def aggregation(self) -> Aggregation | None:
        """The aggregates per key, or None when each event is an item."""
        if isinstance(self.take, str):
            return None
        return Aggregation(
            {name: Aggregate.parse(text, field=f"take.{name}") for name, text in self.take.items()}
        )

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
    def forgets_keys(self) -> bool:
        """Whether keys of an open window may be forgotten: a list keeps k + spare of each."""
        return self.list in changing

    @property
    def remote_in_words(self) -> str:
        """Whose remote value is looked up, how often, and who chooses; empty without one."""
        if self.refresh is None:
            return ""
        spent = self.refresh.budget.in_words
        each = "" if self.group_by is None else f" for each {self.group_by}"
        chosen = f"chosen by {self.refresh.policy}"
        return f"{self.refresh.remote} of each {self.key}: {spent}{each}, {chosen}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON, TOML and YAML."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
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
        best = f"the {self.k} best by {score_in_words(self.score)}{order}"
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
        except ValueError as error:
            raise QueryError(f"no JSON: {error}", field="query", fix="use to_json()") from None
        return cls.from_dict(mapping_of(settings, "query", "use to_json()"))

    def _check(self) -> None:
        self._check_time()
        self._check_list_name()
        self._check_aggregates()

    def _check_list_name(self) -> None:
        if self.list in [*approximate]:
            raise QueryError(
                f"{self.list!r} may lose what belongs in an answer, and can't tell when it did",
                field="list",
                fix="use 'auto' or 'rapf', which are exact, or topwater.standing",
            )
        if self.list is not None:
            choice_of(self.list, [*lists, *changing], "list")

    def _check_time(self) -> None:
        if self.window.by == "time" and self.time is None:
            raise QueryError(
                "time windows need the column with the event time",
                field="time",
                fix="name it, or count events with counting(…)",
            )
        whole_of(self.lateness, "lateness", 0, FARTHEST, 'give a duration, as "10 s"')
        whole_of(self.jump, "jump", 1, FARTHEST, 'give a duration, as "1 h", or leave it out')
        if self.window.by == "count" and self.group_by is not None:
            raise QueryError(
                "a position in the stream is no position in a group",
                field="group_by",
                fix="use time windows, or leave it out",
            )
        if self.window.by == "count" and self.lateness:
            raise QueryError(
                "count windows take events as they come: none is late",
                field="lateness",
                fix="leave it out, or use time windows",
            )

    def _check_aggregates(self) -> None:
        aggregation = self.aggregation
        if not self.score.columns:
            raise QueryError(
                "names no column: all items would be equal",
                field="score",
                fix="use a numeric column of the stream, or a name of take",
            )
        if aggregation is None:
            self._check_each()
            return
        if not aggregation.aggregates:
            raise QueryError("is empty", field="take", fix='name one, as {"n": "count"}')
        self._check_score_names([*aggregation.aggregates])
        if self.list in changing:
            self._check_changing(aggregation)
        elif self.list is not None:
            raise QueryError(
                f"{self.list!r} ranks single events; an aggregate falls as the window slides",
                field="list",
                fix="leave it out: per-pane aggregates are kept instead",
            )
        if self.score.running:
            raise QueryError(
                "running ranges have no meaning for aggregates",
                field="score.ranges",
                fix="declare the range as (low, high)",
            )

    def _check_changing(self, aggregation: Aggregation) -> None:
        """A list for changing scores keeps one object per key, whose stream part stays."""
        if self.refresh is None:
            raise QueryError(
                f"{self.list!r} is for scores that change with a remote value, and there is none",
                field="list",
                fix="leave it out, or name the remote value in refresh",
            )
        functions = {name: each.function for name, each in aggregation.aggregates.items()}
        if list(functions.values()) != ["last"]:
            raise QueryError(
                f"{self.list!r} keeps one number per key, and {_fallen(functions)}",
                field="take",
                fix='take one value, as {"amount": "last(amount)"}, or leave list out: '
                "per-pane aggregates are kept instead",
            )
        (name,) = functions
        if self.score.monotone(name) is None:
            raise QueryError(
                f"whether it rises or falls with {name!r} can't be told, and what {self.list!r} "
                "forgets is bounded by that",
                field="score",
                fix=f"use {name!r} in one direction, with a factor whose sign is clear, as "
                f"{name} * max({self.refresh.remote}, 0); or leave list out",
            )
        if self.list == "mintopk+" and self.refresh.spare:
            raise QueryError(
                f"'mintopk+' keeps none to spare, and {self.refresh.spare} are asked for",
                field="refresh.spare",
                fix='set it to 0, or use list="topk+n"',
            )

    def _check_each(self) -> None:
        if self.list in changing:
            raise QueryError(
                f"{self.list!r} keeps one object per key, and each event is an item here",
                field="list",
                fix='say what a key contributes, as take={"amount": "last(amount)"}',
            )
        if self.refresh is not None:
            raise QueryError(
                "remote values belong to keys, and each event is an item of its own here",
                field="take",
                fix='say what a key contributes, as {"amount": "last(amount)"}',
            )

    def _check_score_names(self, names: Sequence[str]) -> None:
        if self.refresh is not None:
            self.refresh.refuse_truth()
            if self.refresh.remote in names:
                raise QueryError(
                    f"{self.refresh.remote!r} names both a remote and a stream value",
                    field="refresh.remote",
                    fix="give one of them another name",
                )
            names = [*names, self.refresh.remote]
        for name in self.score.columns:
            if name not in names:
                raise QueryError(
                    f"{name!r} is not among what the stream contributes",
                    field="score",
                    fix=f"{suggestion(name, names)}; or add it to take",
                )
        if self.refresh is not None and self.refresh.remote not in self.score.columns:
            raise QueryError(
                f"the remote value {self.refresh.remote!r} is not used",
                field="score",
                fix="use it in the score, or leave refresh out",
            )


def _list_of(given: str | None, each: bool) -> str | None:
    """The list that is named, or the usual one where there is one."""
    if given is None or isinstance(given, _Usual):
        return _USUAL if each else None
    return given


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


def _fallen(functions: Mapping[str, str]) -> str:
    """Why these aggregates can't be one number per key."""
    for name, function in functions.items():
        if function != "last":
            return f"{name!r}, a {function}, may fall as the window slides"
    return f"there are {len(functions)} values"


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
    if take == "each":
        return "each"
    if not isinstance(take, Mapping):
        raise QueryError(
            f"{take!r} is unknown", field="take", fix='use "each", or names as {"n": "count"}'
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
