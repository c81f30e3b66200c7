"""Compiled: feed a block of the stream to the queries, step by step where something happens.

Most objects cost a query more than its bound, and are passed over 64 at a time (``coarse_scan``).
What is left is taken in the order of arrival together with what leaves the window, so that every
answer is that of its step. A query takes the block in *pieces*, each with a bound of its own.

A *filter* spares the query most of the rest: see ``recent_filter``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from topwater.model import FloatArray
from topwater.standing import candidate_bags as bags
from topwater.standing.auto_switch import (
    DOUBTED,
    UNWATCHED,
    WATCHED,
    begin_portion,
    seems_ordered,
    turn_exact,
    turn_watched,
)
from topwater.standing.block_cells import gather
from topwater.standing.kernel_records import (
    CRAMPED,
    FED,
    FULL,
    PASSED,
    PROBABILISTIC,
    Arrival,
    Block,
    CostRule,
    Member,
    Queries,
    Workspace,
)
from topwater.standing.numba_options import compiled, inlined
from topwater.standing.query_step import move_up, raise_bound, take_step, take_waiting
from topwater.standing.recent_filter import enter_portion, first_from, trim

_PIECES: Final = 8
_REFUSED: Final = 0
_LET_IN: Final = 1
_NO_ROOM: Final = 2


class Piece(NamedTuple):
    """Rows that a query takes with one bound; ``slot`` is where refused costs are noted, or -1."""

    first: int
    stop: int
    slot: int
    bound: float


@compiled
def _turns(member: Member, block: Block, row: int, work: Workspace) -> bool:
    """When a portion begins: does ``auto`` turn, or begin to doubt, by the order of the costs?"""
    query, stamp = member.record, block.stamps[row]
    if stamp // query["portion"] == query["current"]:
        return False
    watched = query["watch"] == WATCHED
    if seems_ordered(member, block, row, work.hits.scratch):
        if watched:
            query["watch"] = DOUBTED
        else:
            query["alarm"] = stamp
        return bool(watched)
    if watched or stamp - query["alarm"] < query["width"]:
        return False
    return turn_watched(member, block, row, work)


@inlined
def _bounded_piece(member: Member, block: Block, row: int) -> tuple[int, float]:
    """The end of the piece that begins at a row, and its bound, in a probabilistic bag."""
    query, band, stamps, end = member.record, member.band, block.stamps, block.end
    width = query["width"]
    stop = first_from(stamps, row, end, stamps[row] + max(1, width // _PIECES))
    if query["watch"] == WATCHED:
        current = stamps[row] // query["portion"]
        stop = first_from(stamps, row, end, (current + 1) * query["portion"])
        if current != query["current"]:
            begin_portion(query, member.minima, current)
    raise_bound(band, member.pool, query["need"], stamps[row] - width, stamps[stop - 1] - width)
    bound = band["bound"]
    if bound == np.inf:
        missing = band["limit"] + band["spare"] + 1 - (band["tail"] - band["head"])
        stop = min(stop, row + max(1, missing))
    return stop, bound


@inlined
def _next_piece(member: Member, block: Block, row: int, work: Workspace) -> Piece:
    """The piece that begins at a row. It ends before it begins if the bag has no room."""
    query, minima = member.record, member.minima
    stop, slot, bound, current = block.end, -1, np.inf, 0
    filtered = query["buffer"] > 0
    if filtered or query["watch"] == WATCHED:
        current = block.stamps[row] // query["portion"]
        slot = query["ring"] + current % query["slots"]
    if filtered:
        if current != query["current"] and not enter_portion(member, block, current, work):
            return Piece(row, row - 1, slot, bound)
        stop = first_from(block.stamps, row, block.end, (current + 1) * query["portion"])
        bound = member.filter["bound"]
    elif member.band["rule"] == PROBABILISTIC:
        stop, bound = _bounded_piece(member, block, row)
    if slot >= 0:
        minima[slot] = min(minima[slot], bound)
    return Piece(row, min(stop, row + len(work.hits.rows) - 1), slot, bound)


@inlined
def _filter(member: Member, arrival: Arrival, work: Workspace) -> int:
    """Show an object to the filter, which remembers it: is it let in to the query?"""
    bag, pool, cost = member.filter, member.pool, arrival.cost
    if not bags.has_room(bag, pool):
        return _NO_ROOM
    new = bags.insert(bag, pool, cost, arrival.seq, arrival.stamp, 0)
    enters = 0 <= bags.place_in_top(bag, pool, cost, arrival.seq, arrival.stamp) < member.band["k"]
    if enters:
        pool[new]["mark"] = PASSED
    if bag["rule"] != PROBABILISTIC:
        bags.tidy(bag, pool, new, member.gamma, work.heap)
    elif bag["tail"] - bag["head"] > bag["limit"] + bag["spare"]:
        trim(bag, member, member.record["slots"], work.hits.scratch)
    return _LET_IN if enters else _REFUSED


@inlined
def _judge(member: Member, arrival: Arrival, slot: int, work: Workspace) -> int:
    """Is an object let in? One that is refused outright is noted in ``slot``, if there is one."""
    filtered = member.record["buffer"] > 0
    bound = member.filter["bound"] if filtered else member.band["bound"]
    if arrival.cost > bound:
        if slot >= 0:
            member.minima[slot] = min(member.minima[slot], arrival.cost)
        return _REFUSED
    if not bags.has_room(member.band, member.pool):
        return _NO_ROOM
    return _filter(member, arrival, work) if filtered else _LET_IN


@inlined
def _tidy_band(member: Member, new: int, heap: FloatArray, scratch: FloatArray) -> None:
    """After one has come: forget the dominated, or the poor."""
    band, query = member.band, member.record
    if band["rule"] != PROBABILISTIC:
        bags.tidy(band, member.pool, new, member.gamma, heap)
    elif band["tail"] - band["head"] > band["limit"] + band["spare"]:
        slots = query["slots"] if query["watch"] == WATCHED else 0
        trim(band, member, slots, scratch)


@inlined
def _take_piece(
    member: Member, block: Block, piece: Piece, n: int, work: Workspace, size: int
) -> tuple[int, int]:
    """Take the n hits of a piece, and what leaves meanwhile. How it ended; how many results."""
    query, band, hits, stop = member.record, member.band, work.hits, piece.stop
    filtered, width, stamps = query["buffer"] > 0, query["width"], block.stamps
    waiting = member.filter if filtered else band
    waits = waiting["rule"] == PROBABILISTIC
    i, due = 0, first_from(stamps, piece.first, stop, band["oldest"] + width)
    while True:
        if waits:
            i = take_waiting(waiting, member, block, hits, piece.slot, due, i, n)
        arrives = i < n and hits.rows[i] <= due
        step = hits.rows[i] if arrives else due
        if step >= stop:
            query["done"] = block.origin + stop
            return FED, size
        seq = block.origin + step
        query["done"] = seq
        if size + band["k"] + 2 > len(work.results):
            return FULL, size
        arrival = Arrival(hits.costs[i] if arrives else 0.0, seq, stamps[step])
        verdict = _judge(member, arrival, piece.slot, work) if arrives else _REFUSED
        if verdict == _NO_ROOM:
            return CRAMPED, size
        i += int(arrives)
        enters = verdict == _LET_IN
        if not enters and step < due:
            continue
        new, doubt, size = take_step(member, enters, arrival, work.results, size)
        if doubt:
            query["watch"] = DOUBTED
            query["done"] = seq + 1
            return FED, size
        due = first_from(stamps, step + 1, stop, band["oldest"] + width)
        if enters:
            _tidy_band(member, new, work.heap, hits.scratch)


@compiled
def feed_query(member: Member, block: Block, work: Workspace, size: int) -> tuple[int, int]:
    """Bring a query up to the end of a block. How it ended, and how many results there are now."""
    query, ended = member.record, FED
    while ended == FED:
        row = query["done"] - block.origin
        if query["watch"] == DOUBTED:
            if size + member.band["k"] + 2 > len(work.results):
                return FULL, size
            if not turn_exact(member, block, row, work):
                return CRAMPED, size
            _, size = move_up(member, block.origin + row - 1, np.inf, work.results, size)
            continue
        if row >= block.end:
            break
        if query["watch"] != UNWATCHED and _turns(member, block, row, work):
            continue
        piece = _next_piece(member, block, row, work)
        if piece.stop < row:
            return CRAMPED, size
        n = gather(member.rule, block, row, piece.stop, piece.bound, work)
        ended, size = _take_piece(member, block, piece, n, work, size)
    return ended, size


@compiled
def feed_queries(
    first: int, queries: Queries, block: Block, work: Workspace, size: int
) -> tuple[int, int, int]:
    """Bring all queries from number ``first`` on up to the end of a block.

    Returns
    -------
    ended, q, size
        How it ended, at which query, and how many results there are.
    """
    records, pairs = queries.records, queries.bags
    for q in range(first, len(records)):
        query = records[q]
        if query["active"] == 0:
            continue
        d = query["dimensions"]
        rule = CostRule(
            query["kind"], query["column"], queries.points[q, :d], queries.weights[q, :d]
        )
        band, filter_ = pairs[2 * q], pairs[2 * q + 1]
        member = Member(q, query, band, filter_, queries.pool, queries.minima, rule, queries.gamma)
        ended, size = feed_query(member, block, work, size)
        if ended != FED:
            return ended, q, size
    return FED, len(records), size
