"""The states of a query's shards, for another number of shards.

::

    journals of 4 shards ──► snapshots ──► one, as a single shard ──► snapshots ──► journals of 16
                                           would remember it

Every key belongs to one shard, and so does what is kept of it: partial aggregates, items,
candidates, rows of the replica. All shards are at the same time. What happened to events is counted
by the first, and what belongs to no key is joined and divided; see
:mod:`topwater.replica.common_numbers`. Where shards rank together, the ranking has all of that, and
goes on as it is; one shard alone is monitor and ranking in one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from topwater.errors import AFRESH, StateError
from topwater.model import Counts, Shard
from topwater.monitor.candidate_keys import divided_memory, joined_memory
from topwater.monitor.grouped import build_monitor
from topwater.monitor.joint_ranking import JointRanking, has_joint_ranking
from topwater.monitor.journal import Changes, Get, Head, Journal, snapshot_from, unasked_source
from topwater.monitor.protocol import Recorded
from topwater.monitor.ranking_state import RankingState
from topwater.monitor.shard_monitors import shard_monitor
from topwater.monitor.shards import require_buckets, shard_of
from topwater.monitor.tuned_state import tuned_ranking, tuned_state
from topwater.query import TopKQuery
from topwater.replica.common_numbers import divided_numbers, joined_numbers
from topwater.replica.nominations import Nominations
from topwater.replica.terms import Terms
from topwater.tables import known_form, pack, unpack


class Written(NamedTuple):
    """The journal of one shard: its head, and what gives its chunks."""

    head: Head
    get: Get


def rescale(
    journals: Mapping[int, Written],
    before: int,
    shards: int,
    nonce: str,
    now: TopKQuery | None = None,
) -> dict[int, Changes]:
    """The journals of ``shards`` shards that know what ``before`` shards wrote.

    Parameters
    ----------
    journals
        By shard; where shards rank together, that of the ranking follows the last. None if no
        event has come yet.
    before, shards
        How many shards there were, and how many there are to be.
    nonce
        A text for the new records that no other has.
    now
        The query, if it is to have other settings from now on.

    Returns
    -------
    dict
        By shard, its first record: all that it has to remember.

    Raises
    ------
    StateError
        If a shard's state is missing or damaged.
    QueryError
        If there are more shards than buckets of keys.
    """
    require_buckets(shards)
    if not journals:
        return {}
    query = TopKQuery.from_dict(next(iter(journals.values())).head.query)
    states = {shard: snapshot_from(*written) for shard, written in journals.items()}
    now = now or query
    made = rescaled(query, states, before, shards, now)
    return {
        shard: Journal(_built(now, shard, shards, state)).record(nonce, whole=True)
        for shard, state in made.items()
    }


def rescaled(
    query: TopKQuery,
    states: Mapping[int, bytes],
    before: int,
    shards: int,
    now: TopKQuery | None = None,
) -> dict[int, bytes]:
    """The same with snapshots in place of journals."""
    now = now or query
    missing = [shard for shard in range(before) if shard not in states]
    if missing:
        raise StateError(
            f"the state of shard {missing[0]} of {before} is missing",
            fix=f"restore the checkpoint from a copy, or {AFRESH}",
        )
    same = has_joint_ranking(query, before) == has_joint_ranking(now, shards)
    if before == shards and same:
        return {shard: tuned_state(state, now) for shard, state in states.items()}
    with known_form("the snapshot"):
        if query.group_by is not None:
            divided = _groups_divided(states, before, shards)
            return {shard: tuned_state(state, now) for shard, state in divided.items()}
        whole = _joined(query, states, before)
        if now != query:
            whole = whole._replace(ranking=tuned_ranking(whole.ranking, query, now))
        return _divided(now, whole, shards)


def _built(query: TopKQuery, shard: int, shards: int, state: bytes) -> Recorded:
    source = unasked_source(query)
    if shard == shards:
        return JointRanking.build(query, state, source=source)
    joint = has_joint_ranking(query, shards)
    build = shard_monitor if joint else build_monitor
    return build(query, state, shard=Shard(shard, shards), source=None if joint else source)


class _Whole(NamedTuple):
    """What one shard alone would remember; and the keys that shards have nominated, if they did."""

    ranking: RankingState
    nominated: pa.Table | None = None
    credit: int = 0


def _joined(query: TopKQuery, states: Mapping[int, bytes], before: int) -> _Whole:
    shards = [RankingState.unpack(states[shard]) for shard in range(before)]
    if before == 1:
        return _Whole(shards[0])
    facts = _joined_facts([shard.facts for shard in shards])
    held = _joined_held([shard.held for shard in shards])
    replicas = [shard.replica for shard in shards if shard.replica is not None]
    if not replicas:
        return _Whole(RankingState(facts, held))
    remote = [shard.facts["remote"] for shard in shards]
    if not has_joint_ranking(query, before):
        rows = _numbered(_concatenated(replicas))
        facts["remote"] = joined_numbers(remote, rows.num_rows)
        return _Whole(RankingState(facts, held, rows))
    joint = RankingState.unpack(states.get(before) or _new_ranking(query))
    facts["remote"] = joint.facts["remote"]
    credit = sum(each["credit"] for each in remote)
    return _Whole(RankingState(facts, held, joint.replica), _concatenated(replicas), credit)


def _divided(query: TopKQuery, whole: _Whole, shards: int) -> dict[int, bytes]:
    ranking = whole.ranking
    if shards == 1:
        return {0: ranking.pack(query)}
    joint = has_joint_ranking(query, shards)
    rows = _nominated(query, whole) if joint else ranking.replica
    owners = np.empty(0, np.int64) if rows is None else _owners(rows, shards)
    held = _divided_held(ranking.held, shards)
    found: dict[int, bytes] = {}
    for index in range(shards):
        shard = Shard(index, shards)
        facts, own = _facts_of_shard(ranking.facts, index), None
        if rows is not None:
            own = _numbered(rows.filter(pa.array(owners == index)))
            if joint:
                facts["remote"] = _credited(whole.credit, shard, own.num_rows)
            else:
                facts["remote"] = divided_numbers(ranking.facts["remote"], shard, own.num_rows)
        found[index] = RankingState(facts, held[index], own).pack(query)
    if joint:
        found[shards] = _of_joint(query, ranking)
    return found


def _new_ranking(query: TopKQuery) -> bytes:
    """Before the first window was answered, no ranking has been written."""
    return JointRanking.build(query, source=unasked_source(query)).snapshot()


def _of_joint(query: TopKQuery, whole: RankingState) -> bytes:
    """The ranking of all shards, with the replica and the purse of one."""
    new = RankingState.unpack(_new_ranking(query))
    facts = {**new.facts, **{name: whole.facts[name] for name in ("current", "remote", "tuned")}}
    return RankingState(facts, new.held, whole.replica).pack(query)


def _nominated(query: TopKQuery, whole: _Whole) -> pa.Table:
    """The rows of what shards nominated; of one shard, all keys of which something is known."""
    if whole.nominated is not None:
        return whole.nominated
    replica = whole.ranking.replica
    assert query.single is not None  # noqa: S101  for the type checker
    assert replica is not None  # noqa: S101
    terms = Terms(query.single, query.score, query.window, query.k)
    rows = Nominations(terms, Shard()).replica
    slots = rows.slots(replica.column("key").combine_chunks())
    rows.arrival[slots] = np.asarray(replica.column("arrival"))
    rows.seen[slots] = np.asarray(replica.column("seen"))
    return rows.snapshot()


def _credited(credit: int, shard: Shard, rows: int) -> dict[str, Any]:
    each, rest = divmod(credit, shard.of)
    return {"arrivals": rows, "credit": each + (shard.index < rest)}


def _joined_facts(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All shards are at the same time; only the first counts what came."""
    kinds = [part["keys"] for part in parts if part["keys"] is not None]
    return {
        **parts[0],
        "counts": _joined_counts([part["counts"] for part in parts]),
        "position": sum(part["position"] for part in parts),
        "keys": kinds[0] if kinds else None,
    }


def _joined_counts(parts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    counts = [Counts(**part) for part in parts]
    # They skip windows together.
    skipped = max(each.skipped_windows for each in counts)
    return asdict(replace(reduce(Counts.__add__, counts), skipped_windows=skipped))


def _facts_of_shard(whole: Mapping[str, Any], shard: int) -> dict[str, Any]:
    if shard == 0:
        return dict(whole)
    counts = Counts(skipped_windows=whole["counts"]["skipped_windows"])
    return {**whole, "counts": asdict(counts), "position": 0}


def _joined_held(parts: Sequence[pa.Table]) -> pa.Table:
    return joined_memory(parts) if "part" in parts[0].column_names else _concatenated(parts)


def _divided_held(held: pa.Table, shards: int) -> list[pa.Table]:
    if "part" in held.column_names:
        return divided_memory(held, shards)
    owners = _owners(held, shards)
    return [held.filter(pa.array(owners == shard)) for shard in range(shards)]


def _groups_divided(states: Mapping[int, bytes], before: int, shards: int) -> dict[int, bytes]:
    """A group goes to its shard as it is."""
    opened = [unpack(states[shard]) for shard in range(before)]
    groups = _concatenated([table for table, _ in opened])
    owners = shard_of(groups.column("group").combine_chunks(), shards)
    meta = opened[0][1]
    parts = [each["facts"] for _, each in opened]
    counts = _joined_counts([each["counts"] for each in parts])
    # How long a look-up takes: the same for all groups.
    looked_up = [each["look_ups"] for each in parts if each["look_ups"] is not None]
    paces = [each["seconds_per_fetch"] for each in looked_up]
    look_ups = {"seconds_per_fetch": float(np.mean(paces))} if paces else None
    found: dict[int, bytes] = {}
    for shard in range(shards):
        facts = {
            **meta["facts"],
            "counts": asdict(Counts()) if shard else counts,
            "look_ups": look_ups,
        }
        found[shard] = pack(
            groups.filter(pa.array(owners == shard)), {"query": meta["query"], "facts": facts}
        )
    return found


def _concatenated(tables: Sequence[pa.Table]) -> pa.Table:
    """Empty ones do not know of what type keys are."""
    full = [table for table in tables if table.num_rows]
    return pa.concat_tables(full).combine_chunks() if full else tables[0]


def _owners(table: pa.Table, shards: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    if not table.num_rows:
        return np.empty(0, np.int64)
    return shard_of(table.column("key").combine_chunks(), shards)


def _numbered(rows: pa.Table) -> pa.Table:
    """Rows of a replica in the order in which they came, as far as shards know it."""
    order = np.argsort(np.asarray(rows.column("arrival")), kind="stable")
    rows = rows.take(pa.array(order))
    at = rows.column_names.index("arrival")
    return rows.set_column(at, "arrival", pa.array(np.arange(rows.num_rows)))
