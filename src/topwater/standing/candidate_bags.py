"""Compiled: what a query remembers, in the order of arrival, and its best k, in the order of rank.

The published structures keep candidates in trees ordered by score. Here they are in a *bag*, in
the order in which they came, because then

- a new one is written at the end, and what leaves the window is skipped at the front;
- pruning is one pass from the youngest back with a heap of the k best costs: who meets k costs
  that are not above its own is dominated (the dominator queue, seen from the side of time);
- the next best is looked for only when one of the top k has left, which is rare.

A bag and its *top* are two stretches of one pool that all queries share. The top holds the best of
the bag in the order of rank: the k best, and some more that wait to move up. Who ranks higher costs
less, or costs the same and is younger.
"""

from __future__ import annotations

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.standing.kernel_records import NEVER, STRICT, Record, Records
from topwater.standing.numba_options import compiled
from topwater.standing.order_statistics import undominated


def positions_in(pool: Records, first: IntArray, sizes: IntArray) -> IntArray:
    """The positions of the objects in stretches of the pool, one after the other."""
    before = np.cumsum(sizes) - sizes
    at = np.repeat(first - before, sizes) + np.arange(sizes.sum())
    seqs: IntArray = pool["seq"][at]
    return seqs


@compiled
def better(cost: float, seq: int, other_cost: float, other_seq: int) -> bool:
    """Does the first rank higher?"""
    return cost < other_cost or (cost == other_cost and seq > other_seq)


@compiled
def write_entry(entry: Record, cost: float, seq: int, stamp: int, mark: int) -> None:
    """Fill an entry of the pool."""
    entry["cost"] = cost
    entry["seq"] = seq
    entry["stamp"] = stamp
    entry["beaten"] = 0
    entry["mark"] = mark


@compiled
def kth_cost(bag: Record, pool: Records) -> float:
    """What the last of a full top costs; infinite while the top is not full."""
    if bag["size"] < bag["k"]:
        return np.inf
    cost: float = pool[bag["top"] + bag["k"] - 1]["cost"]
    return cost


@compiled
def top_insert(bag: Record, pool: Records, cost: float, seq: int, stamp: int) -> bool:
    """Put one into the top if it ranks there; the last one gives way if the top is full."""
    base, size = bag["top"], bag["size"]
    last = base + size - 1
    out = NEVER
    if size == bag["k"]:
        if not better(cost, seq, pool[last]["cost"], pool[last]["seq"]):
            return False
        out = pool[last]["stamp"]
        last -= 1
    else:
        bag["size"] = size + 1
    while last >= base and better(cost, seq, pool[last]["cost"], pool[last]["seq"]):
        pool[last + 1] = pool[last]
        last -= 1
    write_entry(pool[last + 1], cost, seq, stamp, 0)
    if stamp < bag["oldest"]:
        bag["oldest"] = stamp
    elif out == bag["oldest"]:
        find_oldest(bag, pool)
    return True


@compiled
def place_in_top(bag: Record, pool: Records, cost: float, seq: int, stamp: int) -> int:
    """Put a new one into the top if it ranks there: at which place, or -1."""
    base, size = bag["top"], bag["size"]
    last = base + size - 1
    behind = size == 0 or not better(cost, seq, pool[last]["cost"], pool[last]["seq"])
    if behind and (bag["covers"] == 0 or size == bag["wide"]):
        bag["covers"] = 0
        return -1
    at = squeeze_in(bag, pool, cost, seq, stamp, 0)
    if at < bag["k"]:
        find_oldest(bag, pool)
    return at


@compiled
def squeeze_in(bag: Record, pool: Records, cost: float, seq: int, stamp: int, mark: int) -> int:
    """Write one at its place in the top; the last gives way if the top is full."""
    base, size = bag["top"], bag["size"]
    last = base + size - 1
    if size == bag["wide"]:
        bag["covers"] = 0
        last -= 1
    else:
        bag["size"] = size + 1
    while last >= base and better(cost, seq, pool[last]["cost"], pool[last]["seq"]):
        pool[last + 1] = pool[last]
        last -= 1
    write_entry(pool[last + 1], cost, seq, stamp, mark)
    at: int = last + 1 - base
    return at


@compiled
def refill(bag: Record, pool: Records) -> None:
    """Fill the top with the next best of the bag, in one pass."""
    cost, seq = -np.inf, 0
    if bag["size"] > 0:
        end = pool[bag["top"] + bag["size"] - 1]
        cost, seq = end["cost"], end["seq"]
    bag["covers"] = 1
    for at in range(bag["base"] + bag["head"], bag["base"] + bag["tail"]):
        entry = pool[at]
        c, s = entry["cost"], entry["seq"]
        if not better(cost, seq, c, s):
            continue
        if bag["size"] == bag["wide"]:
            last = pool[bag["top"] + bag["wide"] - 1]
            if not better(c, s, last["cost"], last["seq"]):
                bag["covers"] = 0
                continue
        squeeze_in(bag, pool, c, s, entry["stamp"], entry["mark"])
    find_oldest(bag, pool)


@compiled
def find_oldest(bag: Record, pool: Records) -> None:
    """Note the oldest stamp of the k best."""
    oldest = NEVER
    for at in range(bag["top"], bag["top"] + min(bag["size"], bag["k"])):
        oldest = min(oldest, pool[at]["stamp"])
    bag["oldest"] = oldest


@compiled
def top_drop(bag: Record, pool: Records, cutoff: int) -> None:
    """Take out of the top what has a stamp of at most ``cutoff``."""
    to = bag["top"]
    for at in range(bag["top"], bag["top"] + bag["size"]):
        if pool[at]["stamp"] > cutoff:
            if to != at:
                pool[to] = pool[at]
            to += 1
    bag["size"] = to - bag["top"]
    find_oldest(bag, pool)


@compiled
def count_waiting(bag: Record) -> int:
    """How many the bag holds besides the k best."""
    count: int = bag["tail"] - bag["head"] - min(bag["size"], bag["k"])
    return count


@compiled
def skip_expired(bag: Record, pool: Records, cutoff: int) -> None:
    """Move the front past what has a stamp of at most ``cutoff``."""
    head, tail, base = bag["head"], bag["tail"], bag["base"]
    while head < tail and pool[base + head]["stamp"] <= cutoff:
        head += 1
    bag["head"] = head


@compiled
def has_room(bag: Record, pool: Records) -> bool:
    """Is there a free place at the end? Makes one by moving everything to the front."""
    if bag["tail"] < bag["room"]:
        return True
    head, base = bag["head"], bag["base"]
    if head == 0:
        return False
    for at in range(base + head, base + bag["tail"]):
        pool[at - head] = pool[at]
    bag["head"] = 0
    bag["tail"] -= head
    return True


@compiled
def insert(bag: Record, pool: Records, cost: float, seq: int, stamp: int, mark: int) -> int:
    """Write one at its place in the order of arrival, nearly always the end; where that is."""
    base = bag["base"]
    first = base + bag["head"]
    at: int = base + bag["tail"]
    while at > first and pool[at - 1]["seq"] > seq:
        pool[at] = pool[at - 1]
        at -= 1
    write_entry(pool[at], cost, seq, stamp, mark)
    bag["tail"] += 1
    return at


@compiled
def prune_strictly(bag: Record, pool: Records, new: int) -> None:
    """Count whom the one at ``new`` beats, and who beats it; forget those with k dominators."""
    base, k = bag["base"], bag["k"]
    first, end = base + bag["head"], base + bag["tail"]
    cost = pool[new]["cost"]
    over = 0
    for at in range(first, new):
        if pool[at]["cost"] >= cost:
            pool[at]["beaten"] += 1
            over += int(pool[at]["beaten"] >= k)
    for at in range(new + 1, end):
        pool[new]["beaten"] += np.int32(pool[at]["cost"] <= cost)
    if over == 0 and pool[new]["beaten"] < k:
        return
    to = first
    for at in range(first, end):
        if pool[at]["beaten"] < k:
            if to != at:
                pool[to] = pool[at]
            to += 1
    bag["tail"] = to - base


@compiled
def prune(bag: Record, pool: Records, heap: FloatArray) -> None:
    """Forget all that k younger ones beat.  O(s log k) for the s in the bag."""
    base, k = bag["base"], bag["k"]
    first, end = base + bag["head"], base + bag["tail"]
    size, to = 0, end
    for at in range(end - 1, first - 1, -1):
        if undominated(heap, size, k, pool[at]["cost"]):
            size = min(size + 1, k)
            to -= 1
            if to != at:
                pool[to] = pool[at]
    bag["head"] = to - base


@compiled
def tidy(bag: Record, pool: Records, new: int, gamma: float, heap: FloatArray) -> None:
    """Forget the dominated, if it is time: at once (strict), or when the limit is reached."""
    if bag["rule"] == STRICT:
        prune_strictly(bag, pool, new)
    elif count_waiting(bag) >= bag["limit"]:
        prune(bag, pool, heap)
        left = count_waiting(bag)
        bag["limit"] = left + max(int(np.ceil(gamma * left)), 2 * bag["k"])


@compiled
def next_best(bag: Record, pool: Records) -> int:
    """Where the best one after the top's last is; -1 if there is none."""
    base = bag["base"]
    cost, seq = -np.inf, 0
    if bag["size"] > 0:
        last = pool[bag["top"] + bag["size"] - 1]
        cost, seq = last["cost"], last["seq"]
    found = -1
    best_cost, best_seq = np.inf, 0
    for at in range(base + bag["head"], base + bag["tail"]):
        c, s = pool[at]["cost"], pool[at]["seq"]
        if better(c, s, best_cost, best_seq) and better(cost, seq, c, s):
            found, best_cost, best_seq = at, c, s
    return found


@compiled
def position_of(bag: Record, pool: Records, seq: int) -> int:
    """Where the object with this position is in the bag; -1 if it is not there."""
    low, high = bag["base"] + bag["head"], bag["base"] + bag["tail"]
    end = high
    while low < high:
        middle = (low + high) // 2
        if pool[middle]["seq"] < seq:
            low = middle + 1
        else:
            high = middle
    return low if low < end and pool[low]["seq"] == seq else -1


@compiled
def beaten_after(pool: Records, at: int, end: int) -> int:
    """How many of those after ``at`` and before ``end`` beat the one at ``at``."""
    count, cost = 0, pool[at]["cost"]
    for other in range(at + 1, end):
        count += int(pool[other]["cost"] <= cost)
    return count
