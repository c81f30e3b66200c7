"""Which answers of a query are exact: known from its settings, before any event has come.

The parts of the loop act on the same predicates: ``query.forgets_keys`` decides whether a list
drops keys of an open window, and ``refresh.reads_every_key`` and ``refresh.reads_nothing`` decide
what is looked up. So what is promised here and what an answer's ``exact`` says can't drift apart.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from topwater.query import TopKQuery
from topwater.replica.joins.join_settings import JoinSettings

Exactness: TypeAlias = Literal["always", "if-read", "sometimes", "never"]
"""``always``: every answer. ``if-read``: every answer for which the source gave a number for every
key that it was asked for. ``sometimes``: those whose ``exact`` is true. ``never``: none but those
of empty windows."""


def exactness(query: TopKQuery) -> Exactness:
    """What holds for every answer of a query.

    Examples
    --------
    >>> from topwater.windows import sliding
    >>> query = dict(key="user", time="at", window=sliding(4, 2), k=3, take={"n": "last(n)"})
    >>> exactness(TopKQuery(**query, score="n"))
    'always'
    >>> every = {"remote": "followers", "budget": None}
    >>> exactness(TopKQuery(**query, score="n + followers", refresh=every))
    'if-read'
    >>> exactness(TopKQuery(**query, score="n + followers", refresh=every, list="panes+n"))
    'sometimes'
    """
    if query.refresh is None:
        return "always"
    if isinstance(query.refresh, JoinSettings):
        free = query.refresh.budget.unlimited and not any(j.per for j in query.refresh.joins)
        return "if-read" if free else "sometimes"
    if query.refresh.reads_nothing:
        return "never"
    if query.refresh.reads_every_key and not query.forgets_keys:
        return "if-read"
    return "sometimes"
