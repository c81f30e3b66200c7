"""What a query does and what its answers are worth, for people who wrote one, or found one.

There is one explanation of a query, as plain values. What knows more of it, a job or a query in
RSP-QL, adds its own steps and promises to that explanation.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from topwater.monitor.exactness import Exactness, exactness
from topwater.query import TopKQuery
from topwater.redaction import redacted_addresses
from topwater.replica import RefreshSettings
from topwater.replica.election import EXPLORED
from topwater.scoring import score_in_words
from topwater.show.join_words import join_lines, memory_line, uncertain
from topwater.validation import size_text
from topwater.views import html_view
from topwater.windows import Windows, span

ORDER = (
    *("stream", "window", "match", "take", "groups", "remote", "where"),
    *("source", "score", "list", "late", "answer", "sink"),
)
"""The steps, in the order in which they happen."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happens to events on their way to an answer.

    Attributes
    ----------
    title
        One of :data:`ORDER`.
    lines
        What happens, the main line first.
    """

    title: str
    lines: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", tuple(map(redacted_addresses, self.lines)))


@dataclass(frozen=True, slots=True)
class Promise:
    """What holds for answers: what is exact, what is approximate, and why."""

    title: str
    reasons: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "reasons", tuple(map(redacted_addresses, self.reasons)))


@dataclass(frozen=True, slots=True)
class Wording:
    """What things are called where the query was written.

    Attributes
    ----------
    key, value
        The ranked key, and its remote value.
    no_limit
        How one asks for look-ups without a limit.
    """

    key: str
    value: str = ""
    no_limit: str = "budget=None"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What runs, step by step, and what is promised of its answers.

    Attributes
    ----------
    title
        In a few words, what is answered.
    exact
        Which answers are exact.
    steps, promises
        What happens to events, and what holds for answers.
    """

    title: str
    exact: Exactness
    steps: tuple[Step, ...]
    promises: tuple[Promise, ...]

    def with_steps(self, *steps: Step) -> Explanation:
        """The same with more steps; one whose title is there already takes its place."""
        merged = {step.title: step for step in (*self.steps, *steps)}
        ordered = sorted(merged.values(), key=lambda step: ORDER.index(step.title))
        return replace(self, steps=tuple(ordered))

    def with_reasons(self, title: str, reasons: Iterable[str]) -> Explanation:
        """The same with more promises, after those of the same title."""
        merged = {promise.title: promise.reasons for promise in self.promises}
        merged[title] = (*merged.get(title, ()), *reasons)
        promises = (Promise(*entry) for entry in merged.items() if entry[1])
        return replace(self, promises=tuple(promises))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        """As a person would draw it."""
        lines = [self.title, "", *_drawing(self.steps)]
        for promise in self.promises:
            lines += ["", f"{promise.title}:", *map(_bullet, promise.reasons)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html_view(self)


def _drawing(steps: tuple[Step, ...]) -> Iterator[str]:
    for step in steps:
        first, *others = step.lines
        yield f"  {step.title:<8} {first}"
        last = step is steps[-1]
        for line in others or ([] if last else [""]):
            yield f"     {' ' if last else '│'}     {line}".rstrip()


def _bullet(reason: str) -> str:
    return textwrap.fill(
        reason, 96, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False
    )


def explain(query: TopKQuery) -> str:
    """What runs, step by step; what is exact, and what is not.

    Examples
    --------
    >>> from topwater import sliding
    >>> print(explain(TopKQuery(key="user", time="at", window=sliding("100s", "60s"), k=5,
    ...                         take={"n": "count"}, score="n + followers", refresh="followers")))
    ... # doctest: +ELLIPSIS
    the 5 best of each window
    <BLANKLINE>
      window   the last 100 s, every 1 min: 5 panes of 20 s
         │
      take     n = count, for each user of a window
         │
      remote   followers of each user: 7 look-ups a window, chosen by worth
         │
      score    n + followers, the largest first
         │
      list     one row for each user in each of 5 panes: it grows with the keys
               and a replica, at most 64 MB: beyond it the keys longest unseen are forgotten
    <BLANKLINE>
    exact:
      - what the stream says of every key: none is forgotten while it is in a window
      - an answer for which every user of its window was looked up: its field exact is then true
    <BLANKLINE>
    approximate:
      - followers: a window may have more keys than are looked up for it; the others keep the last
    ...
    """
    return str(explanation(query))


def explanation(query: TopKQuery, wording: Wording | None = None) -> Explanation:
    """What a query does and promises, as plain values."""
    if wording is None:
        wording = Wording(query.key_in_words, _values_of(query))
    exact = exactness(query)
    whole = Explanation(
        f"the {query.k} best of each window", exact, tuple(_steps(query, wording)), promises=()
    )
    whole = whole.with_reasons("exact", _certain(query, exact, wording))
    if query.joins is not None:
        return whole.with_reasons("approximate", uncertain(query.joins))
    if query.single is None:
        return whole
    return whole.with_reasons("approximate", _uncertain(query, query.single, wording))


def _values_of(query: TopKQuery) -> str:
    """What is looked up."""
    if query.joins is not None:
        return " or ".join(query.joins.names)
    return "" if query.single is None else query.single.remote


def _steps(query: TopKQuery, wording: Wording) -> Iterator[Step]:
    yield Step("window", (window_line(query.window),))
    if not isinstance(query.take, str):
        taken = ", ".join(f"{name} = {_unquoted(text)}" for name, text in query.take.items())
        yield Step("take", (f"{taken}, for each {wording.key} of a window",))
    if query.group_by is not None:
        yield Step("groups", (f"one ranking for each {query.group_in_words}",))
    if query.single is not None:
        yield Step("remote", (query.remote_in_words, *_in_all(query, query.single)))
    if query.joins is not None:
        yield Step("remote", tuple(join_lines(query.joins, query.key_in_words)))
    if query.where is not None:
        yield Step("where", (query.where,))
    yield Step("score", (f"{score_in_words(query.score)}, the {query.score.order} first",))
    yield Step("list", tuple(_memory(query, wording)))
    if query.lateness:
        yield Step("late", (f"events may come {span(query.lateness)} out of order",))


def _in_all(query: TopKQuery, refresh: RefreshSettings) -> Iterator[str]:
    """How many look-ups all groups of a window have together."""
    limit = refresh.budget.limit
    if query.group_by is not None and limit:
        most = "has" if refresh.budget.set_point is None else "may have"
        yield f"a window with 10 values of {query.group_in_words} {most} {10 * limit:,} in all"


def window_line(windows: Windows) -> str:
    """How far windows reach back, how often there is one, and what they are cut into."""
    panes = windows.panes_per_window
    if windows.by == "count":
        return windows.in_words
    cut = f"{panes} panes of {span(windows.pane)}" if panes > 1 else "one pane"
    return f"{windows.in_words}: {cut}"


def _unquoted(aggregate: str) -> str:
    """An aggregate as people write it: with quotes only where the column needs them.

    Examples
    --------
    >>> _unquoted("sum(`amount`)"), _unquoted("sum(`amount paid`)")
    ('sum(amount)', 'sum(`amount paid`)')
    """
    return re.sub(r"`(\w+)`", r"\1", aggregate)


def _memory(query: TopKQuery, wording: Wording) -> Iterator[str]:
    """What is remembered between answers."""
    panes, k = query.window.panes_per_window, query.k
    each = "" if query.group_by is None else f", for each {query.group_in_words}"
    if query.take == "each" and query.list == "recompute":
        yield f"recompute: every event of every open window{each}"
    elif query.take == "each":
        most = f"{k} × {panes} = {k * panes:,} items, however many events come"
        yield f"{query.list}: at most k of each pane{each}: {most}"
    elif query.forgets_keys and query.single is not None:
        spare, overlap = query.single.spare, query.window.overlap
        most = f"({k} + {spare}) × {overlap} = {(k + spare) * overlap:,} keys"
        yield f"{query.list}: at most k + spare of each open window{each}: {most}"
    else:
        rows = f"one row for each {wording.key} in each of {panes} panes{each}"
        yield f"{rows}: it grows with the keys"
    if query.single is not None:
        yield _replica(query.single, each)
    if query.joins is not None:
        yield memory_line(query.joins)


def _replica(refresh: RefreshSettings, each: str) -> str:
    limits = [] if refresh.memory is None else [size_text(refresh.memory)]
    limits += [] if refresh.limit is None else [f"{refresh.limit:,} keys{each}"]
    if not limits:
        return "and a replica of every key that was looked up, without a limit"
    most = " or ".join(limits)
    return f"and a replica, at most {most}: beyond it the keys longest unseen are forgotten"


def _certain(query: TopKQuery, exact: Exactness, wording: Wording) -> Iterator[str]:
    """What of an answer is certainly right."""
    if exact == "always":
        yield "every answer: what is forgotten can be in no answer any more"
        return
    if not query.forgets_keys:
        yield "what the stream says of every key: none is forgotten while it is in a window"
    if exact == "if-read":
        yield (
            "every answer, as of the moment of its look-ups, if the source gave a number for every "
            f"{wording.key} of the window"
        )
    elif exact == "sometimes" and query.forgets_keys:
        yield (
            "an answer for which every key that the list knows was looked up, and in which none "
            "that was forgotten could be, whatever its value is now: its field exact is then true"
        )
    elif exact == "sometimes":
        yield (
            f"an answer for which every {wording.key} of its window was looked up: its field exact "
            "is then true"
        )


def _uncertain(query: TopKQuery, refresh: RefreshSettings, wording: Wording) -> Iterator[str]:
    """What of an answer may be wrong."""
    value, policy = wording.value, refresh.policy
    yield _staleness(refresh, value)
    if policy.endswith("worth") and not refresh.reads_every_key:
        yield (
            f"however many look-ups there are, {policy} makes none that it expects to leave the "
            f"answer as it is; {wording.no_limit} looks up every key of the window"
        )
    yield f"a key whose {value} was never looked up is ranked with the median of the known values"
    if policy.endswith("worth") and not refresh.reads_every_key:
        yield (
            f"of the look-ups, {EXPLORED:.0%} go to keys drawn at random from those never looked "
            "up, where there are more of these than look-ups"
        )
    if query.forgets_keys:
        yield (
            f"a key that is not among the k + {refresh.spare} best of any window is forgotten, and "
            f"missed if its {value} rises later"
        )
    if refresh.noise is not None:
        yield f"{value}: what differs by no more than three times {refresh.noise} is noise"
    yield "each answer carries an estimate of how accurate it is"
    if refresh.budget.set_point is not None:
        yield _set_point(refresh)


def _set_point(refresh: RefreshSettings) -> str:
    measure = "precision" if refresh.measure == "accuracy" else "nDCG"
    return (
        f"the accuracy of {refresh.budget.set_point:g} is the mean {measure} over windows, by "
        "these estimates: single answers are less or more right. Where "
        f"{refresh.budget.at_most} look-ups don't suffice, out_of_reach says so"
    )


def _staleness(refresh: RefreshSettings, value: str) -> str:
    if refresh.reads_nothing:
        return f"{value}: {refresh.policy} never looks one up"
    if refresh.reads_every_key:
        return (
            f"{value}: every key that is remembered of a window is looked up for its answer; one "
            "for which the source has no answer keeps the last value that came, and its row says "
            "how old that is"
        )
    if refresh.reads_all_candidates:
        return f"{value}: {refresh.policy} looks up all candidates, but no other key of the window"
    return (
        f"{value}: a window may have more keys than are looked up for it; the others keep the last "
        "value that came, and their rows say how old it is"
    )
