"""A query's memory, as that of the same query with other settings.

::

    snapshot ──► is it of this query? ──► what its settings ask for is added ──► snapshot
                 (identity)               and what they don't is left out

Panes, keys, remote values and what was learnt of them stay. Where less is kept than the new
settings need, answers are not exact until their windows hold only what came since.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from topwater.errors import AFRESH, StateError, TopwaterError
from topwater.monitor.ranking_state import RankingState
from topwater.query import TopKQuery
from topwater.query.identity import keeps_enough, require_same_identity, tuned
from topwater.replica.budget import Budget, Purse
from topwater.replica.learners import Learners
from topwater.replica.policies import resolve
from topwater.replica.store import Replica
from topwater.replica.terms import Terms
from topwater.tables import known_form, pack, unpack


def tuned_state(state: bytes, query: TopKQuery) -> bytes:
    """The snapshot of a monitor, for one whose query may have other settings.

    Raises
    ------
    StateError
        If it was written for a query that counts other things.
    """
    table, meta = unpack(state)
    before = query_of(meta)
    if before == query:
        return state
    require_same_identity(before, query)
    with known_form("the snapshot"):
        if query.group_by is not None:
            # Each group is told when something happens to it: see TopKMonitor.build().
            return pack(table, {**meta, "query": query.to_dict()})
        return tuned_ranking(RankingState.unpack(state), before, query).pack(query)


def query_of(meta: Mapping[str, Any]) -> TopKQuery:
    """The query that wrote a state."""
    try:
        return TopKQuery.from_dict(meta["query"])
    except (KeyError, TopwaterError) as error:
        raise StateError(
            "the state belongs to another query, which this program does not know",
            fix=f"run the version that wrote it, or {AFRESH}",
        ) from error


def tuned_ranking(state: RankingState, before: TopKQuery, query: TopKQuery) -> RankingState:
    """The same for one ranking, opened."""
    facts = {**state.facts, "tuned": [*state.facts["tuned"], *map(str, tuned(before, query))]}
    if not keeps_enough(before, query):
        facts["unsure"] = facts["filled"]
    if state.replica is None or "credit" in facts["remote"] or query.single is None:
        return state._replace(facts=facts)
    facts["remote"], replica = _tuned_replica(facts["remote"], state.replica, before, query)
    return RankingState(facts, state.held, replica)


def _tuned_replica(
    numbers: Mapping[str, Any], rows: pa.Table, before: TopKQuery, query: TopKQuery
) -> tuple[dict[str, Any], pa.Table]:
    """What is remembered of remote values and learnt of them, for another policy or purse."""
    then, now = before.single, query.single
    assert then is not None  # noqa: S101  they have the same remote value
    assert now is not None  # noqa: S101
    terms = Terms(now, query.score, query.window, query.k)
    learners = Learners(terms, Replica(now.limit, now.memory), resolve(now.policy)[0])
    numbers = {**numbers, "purse": _tuned_purse(numbers["purse"], then.budget, now.budget)}
    unknown = set[str]()
    if then.hint != now.hint:
        # Rates with and without hints are not comparable: they are learnt anew.
        numbers["rates"] = learners.facts()["rates"]
        unknown = set(learners.beliefs.rates.snapshot(np.empty(0, np.int64)))
    for name in learners.columns(np.empty(0, np.int64)):
        nothing = _nothing_learnt(rows.num_rows)
        if name not in rows.column_names:
            rows = rows.append_column(name, nothing)
        elif name in unknown:
            rows = rows.set_column(rows.column_names.index(name), name, nothing)
    return numbers, rows


def _nothing_learnt(rows: int) -> pa.Array:
    """A column of empty lists."""
    return pa.LargeListArray.from_arrays(np.zeros(rows + 1, np.int64), pa.array([], pa.float64()))


def _tuned_purse(kept: Mapping[str, Any], before: Budget, now: Budget) -> dict[str, Any]:
    """What a source took stays known; what was saved counts as far as the new purse holds it."""
    purse = Purse(now)
    found = {**purse.snapshot(), "seconds_per_fetch": kept["seconds_per_fetch"]}
    if before.carry_over and now.carry_over and now.fetches is not None:
        most = float(purse.bucket * now.fetches)
        found |= {"tokens": min(kept["tokens"], most)}
        found |= {name: kept[name] for name in ("offers", "windows")}
    return found
