"""What a query does, in words: for people who wrote one, or found one."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from topwater.candidates.rescorable import changing
from topwater.query import TopKQuery
from topwater.replica import Budget
from topwater.replica.policies import resolve
from topwater.scoring import Formula, Score
from topwater.windows import span


def explain(query: TopKQuery) -> str:
    """What runs, step by step; what is exact, and what is not.

    Examples
    --------
    >>> from topwater import sliding
    >>> print(explain(TopKQuery(key="user", time="at", window=sliding("100s", "60s"), k=5,
    ...                         take={"n": "count"}, score="n + followers", refresh="followers")))
    the 5 best of each window
      window   the last 100 s, every 1 min
      take     n = count, for each user of a window
      remote   followers of each user: 7 look-ups a window, chosen by worth
      score    n + followers, the largest first
      list     one row for each user in each of 5 panes
    approximate: a value that was not looked up for a window may have changed since; every answer
    tells how right it probably is, and each row how old its value is
    """
    lines = [f"the {query.k} best of each window"]
    lines += [f"  {title:<8} {text}" for title, text in steps(query)]
    return "\n".join([*lines, textwrap.fill(promise(query), 98)])


def steps(query: TopKQuery) -> Iterator[tuple[str, str]]:
    """Each step with its name."""
    yield "window", _window(query)
    if not isinstance(query.take, str):
        taken = ", ".join(f"{name} = {_unquoted(text)}" for name, text in query.take.items())
        yield "take", f"{taken}, for each {query.key} of a window"
    if query.group_by is not None:
        yield "groups", f"one ranking for each {query.group_by}"
    if query.refresh is not None:
        spent = _spent(query.refresh.budget)
        chosen = f"chosen by {query.refresh.policy}"
        yield "remote", f"{query.refresh.remote} of each {query.key}: {spent}, {chosen}"
    yield "score", f"{_score(query.score)}, the {query.score.order} first"
    yield "list", _kept(query)
    if query.lateness:
        yield "late", f"events may come {span(query.lateness)} out of order"


def _unquoted(aggregate: str) -> str:
    """An aggregate as people write it: with quotes only where the column needs them.

    Examples
    --------
    >>> _unquoted("sum(`amount`)"), _unquoted("sum(`amount paid`)")
    ('sum(amount)', 'sum(`amount paid`)')
    """
    return re.sub(r"`(\w+)`", r"\1", aggregate)


def promise(query: TopKQuery) -> str:
    """What of an answer is certain."""
    if query.refresh is None:
        return "exact: every answer"
    if not resolve(query.refresh.policy)[0].refreshes:
        return "approximate: no value is ever looked up"
    if query.refresh.budget.unlimited:
        return "exact: every answer, as of the moment when its values were looked up"
    return (
        "approximate: a value that was not looked up for a window may have changed since; every "
        "answer tells how right it probably is, and each row how old its value is"
    )


def _window(query: TopKQuery) -> str:
    window = query.window
    if window.by == "count":
        return f"the last {window.width:,} events, every {window.step:,}"
    return f"the last {span(window.width)}, every {span(window.step)}"


def _spent(budget: Budget) -> str:
    if budget.deadline is not None:
        return f"what can be looked up within {span(budget.deadline)}"
    if budget.unlimited:
        return "no limit on look-ups"
    return f"{budget.fetches} look-up{'s' * (budget.fetches != 1)} a window"


def _score(score: Score) -> str:
    if isinstance(score, Formula):
        return score.text
    weights = getattr(score, "weights", None)
    if weights:
        return " + ".join(f"{weight:g} × {name}" for name, weight in weights.items())
    return f"{type(score).__name__} of {', '.join(score.columns)}"


def _kept(query: TopKQuery) -> str:
    panes = query.window.panes_per_window
    if query.take == "each":
        return f"{query.list}: at most {query.k} of each of {panes} panes"
    if query.list in changing and query.refresh is not None:
        most = (query.k + query.refresh.spare) * query.window.overlap
        return f"{query.list}: at most {most:,} keys"
    return f"one row for each {query.key} in each of {panes} panes"
