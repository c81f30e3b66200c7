"""One ranking from several monitors, each with its own keys.

::

    keys ──► shard 0 ──► its k best ──┐
         ──► shard 1 ──► its k best ──┼──► the k best of all
         ──► shard 2 ──► its k best ──┘

Every key belongs to one shard, so each of the k best of all is among the k best of its shard: the
merge is exact.

Where shards do not rank together (:mod:`topwater.monitor.joint_ranking`), the budget is divided
evenly: none knows what the others would do with a fetch. Where it can't be divided evenly, the
remainder goes round from window to window, so that each window gets exactly what was asked for, and
each shard the same over time. A deadline is not divided: shards work at the same time.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topwater.errors import QueryError
from topwater.model import (
    LOOK_UPS,
    Answer,
    Counts,
    FloatArray,
    Freshness,
    IntArray,
    Items,
    LookUp,
    Row,
)
from topwater.query import TopKQuery
from topwater.replica.utility import Aim
from topwater.tables import keys_from_arrow

BUCKETS = 256
"""Into how many buckets keys are hashed: the most shards that there can be."""


def shard_of(keys: pa.Array, shards: int) -> IntArray:
    """The shard of each key: the same in every process, on every machine.

    Keys are hashed into buckets, and every shard has a range of buckets of its own.

    Examples
    --------
    >>> shard_of(pa.array([7, 8, 9, 7]), 2).tolist()
    [0, 1, 1, 0]
    """
    if shards == 1:
        return np.zeros(len(keys), np.int64)
    return np.asarray(_hashes(keys) % BUCKETS * shards // BUCKETS)


def bucket_in_shard(keys: pa.Array) -> IntArray:
    """A number below 256 for each key, which says nothing of its shard."""
    return np.asarray(_hashes(keys) // BUCKETS % BUCKETS)


def require_buckets(shards: int) -> None:
    """Raise if there are more shards than buckets: some would never see a key."""
    if shards > BUCKETS:
        raise QueryError(
            f"{shards} shards are more than there are buckets of keys",
            field="shards",
            fix=f"use at most {BUCKETS}",
        )


def divided_among(query: TopKQuery, shards: int, *, texts: bool = False) -> int:
    """Among how many monitors keys, or groups, are divided where so many shards are wanted.

    Several remote values that have one wallet are ranked in one place, and so are one with texts
    beside it: what shards offer each other are numbers. Where each group has its own budget, and
    no quota is for all, groups are divided.

    Examples
    --------
    >>> from topwater.windows import tumbling
    >>> joins = [{"remote": ["price", "stock"], "from": "shop"}]
    >>> query = TopKQuery(key="who", time="at", window=tumbling(10), take={"n": "count"},
    ...                   score="n * price", k=1, refresh=joins)
    >>> divided_among(query, 4), divided_among(replace(query, group_by="team"), 4)
    (1, 4)
    """
    if query.refresh is None or shards == 1:
        return shards
    if query.joins is None:
        return 1 if texts and query.group_by is None else shards
    budget = query.joins.budget
    quotas = bool(budget.per) or any(join.per for join in query.joins.joins)
    alone = query.group_by is None or budget.over == "all" or quotas
    return 1 if alone else shards


def _hashes(keys: pa.Array) -> IntArray:
    """Whole numbers from 0 to 2^31."""
    if pa.types.is_integer(keys.type):
        # The upper bits of Fibonacci hashing: neighbouring keys go to different buckets.
        bits = np.asarray(keys.cast(pa.int64())).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        return (bits >> np.uint64(33)).astype(np.int64)
    coded = pc.dictionary_encode(keys)
    names = coded.dictionary.to_pylist()
    each = np.array([zlib.crc32(name.encode()) for name in names], np.int64)
    return np.asarray(each[coded.indices.to_numpy(zero_copy_only=False)])


def merge_for(query: TopKQuery, answers: Sequence[Answer]) -> Answer:
    """The answer of a window to a query, from those that its shards gave."""
    refresh = query.refresh
    return merge(
        answers,
        query.k,
        smallest=query.score.order == "smallest",
        accuracy=None if refresh is None else refresh.budget.accuracy,
        measure="accuracy" if query.single is None else query.single.measure,
    )


def merge(
    answers: Sequence[Answer],
    k: int,
    *,
    smallest: bool,
    accuracy: float | None,
    measure: Aim = "accuracy",
) -> Answer:
    """The answer of a window, from those that its shards gave.

    Parameters
    ----------
    answers
        Of the same window, with disjoint keys.
    k
        How many items the answer has.
    smallest
        Whether the smallest scores are best.
    accuracy, measure
        How right answers are to be, if that was asked; by precision for ``"accuracy"``, else by
        nDCG.
    """
    first = answers[0]
    if len(answers) == 1:
        in_vain = first.freshness is not None and first.freshness.nothing_usable
        return replace(first, exact=False) if in_vain else first
    rows = [(row, at) for at, answer in enumerate(answers) for row in answer.rows]
    best = _order([row for row, _ in rows], smallest=smallest)[:k]
    freshness = _freshness(answers, [rows[at][1] for at in best])
    freshness = _compared(freshness, accuracy, measure)
    in_vain = freshness is not None and freshness.nothing_usable
    return Answer(
        first.window,
        tuple(replace(rows[at][0], rank=rank) for rank, at in enumerate(best, 1)),
        exact=all(answer.exact for answer in answers) and not in_vain,
        candidates=sum(answer.candidates for answer in answers),
        counts=counts_of(answers),
        freshness=freshness,
        problems=_problems(answers),
        looked_up=_looked_up(answers),
        tuned=first.tuned,
        notices=notices_of(answers),
    )


def notices_of(answers: Sequence[Answer]) -> tuple[tuple[str, int], ...]:
    """What became of the notices of all shards of a window."""
    found: Counter[str] = Counter()
    for answer in answers:
        found.update(dict(answer.notices))
    return tuple(sorted(found.items()))


def counts_of(answers: Sequence[Answer]) -> Counts:
    """What happened to the events of all shards of a window. They skip windows together."""
    counts = reduce(Counts.__add__, (answer.counts for answer in answers))
    return replace(counts, skipped_windows=answers[0].counts.skipped_windows)


def _order(rows: list[Row], *, smallest: bool) -> list[int]:
    score = np.array([row.score for row in rows])
    time = np.array([row.time for row in rows], np.int64)
    kind = pa.int64() if rows and isinstance(rows[0].key, int) else pa.string()
    keys = keys_from_arrow(pa.array([row.key for row in rows], kind))
    items = Items(-score if smallest else score, time, keys)
    return [int(at) for at in np.lexsort((items.key, -items.time, -items.score))]


def _freshness(answers: Sequence[Answer], shown: list[int]) -> Freshness | None:
    """What the shards did, together. Each estimate counts by the rows that its shard has."""
    found = [answer.freshness for answer in answers]
    known = [fresh for fresh in found if fresh is not None]
    if len(known) < len(found):
        return None
    weights = np.bincount(shown, minlength=len(known)) if shown else np.ones(len(known))
    return Freshness(
        fetched=sum(fresh.fetched for fresh in known),
        failed=sum(fresh.failed for fresh in known),
        bad=sum(fresh.bad for fresh in known),
        precision=_average([fresh.precision for fresh in known], weights),
        ndcg=_average([fresh.ndcg for fresh in known], weights),
        missed=False,
        without_value=sum(fresh.without_value for fresh in known),
        nothing_usable=_nothing_usable(known),
        out_of_reach=any(fresh.out_of_reach for fresh in known),
        noisy=any(fresh.noisy for fresh in known),
    )


def _compared(
    freshness: Freshness | None, accuracy: float | None, measure: Aim
) -> Freshness | None:
    """With what is to be said of it where so much accuracy was asked."""
    if freshness is None or accuracy is None:
        return freshness
    found = freshness.precision if measure == "accuracy" else freshness.ndcg
    missed = found < accuracy
    return replace(freshness, missed=missed, out_of_reach=missed and freshness.out_of_reach)


def _nothing_usable(shards: Sequence[Freshness]) -> bool:
    """Whether no shard got a usable value, and one of them sees a problem in that."""
    usable = sum(fresh.fetched - fresh.failed - fresh.bad for fresh in shards)
    return usable <= 0 and any(fresh.nothing_usable for fresh in shards)


def _problems(answers: Sequence[Answer]) -> tuple[tuple[str, int], ...]:
    found: Counter[str] = Counter()
    for answer in answers:
        found.update(dict(answer.problems))
    return tuple(sorted(found.items()))


def _looked_up(answers: Sequence[Answer]) -> tuple[LookUp, ...]:
    """By turns: first of each shard what it found most worthwhile. Shards come in any order."""
    placed = [each for answer in answers for each in enumerate(answer.looked_up)]
    placed.sort(key=lambda each: (each[0], each[1].key))
    return tuple(look_up for _, look_up in placed[:LOOK_UPS])


def _average(values: list[float], weights: IntArray | FloatArray) -> float:
    """Rounded once: shards finish in any order, and a plain sum would depend on it."""
    return math.fsum(np.multiply(values, weights)) / math.fsum(weights)
