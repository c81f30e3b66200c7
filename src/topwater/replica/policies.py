"""Which keys are worth refreshing? Each policy ranks what was proposed; it never fetches.

A policy's registry name may carry where its keys come from: ``at-`` the candidates (the K+N best
of the window), ``wsj-`` or nothing all keys of the window, ``gnr-`` the whole replica.

======================  ==========================================================================
``worth``               the default: what knowing the value is worth to this answer and the next
``lru``, ``rnd``        the least recently fetched; at random
``wbm``                 possibly stale, and needed and fresh for long (ACQUA); then as ``lru``
``tsm``, ``bsm``        from the top of the ranking; around the border of the top k (AcquaTop)
``ttl``, ``ttl:2 min``  what is older than that, as a cache does: in the order of the stream
``asm``                 all candidates, whatever the budget: a bound, not a contender
``wst``                 none: the other bound
``bst``, ``wbm*``       know the truth, and are refused outside an evaluation
======================  ==========================================================================

Where a policy does not say which of two keys comes first, they are drawn: a function of the seed
and the window. To prefer the higher ranked would make each of them a little of ``tsm``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from topwater.errors import QueryError
from topwater.model import FloatArray, IntArray, Millis
from topwater.protocols import Registry
from topwater.replica.look_ups import Polls
from topwater.replica.places import first_by
from topwater.replica.proposals import Proposal, Proposer
from topwater.replica.slot_columns import SlotTable
from topwater.replica.store import NEVER
from topwater.replica.ttl import TimeToLive
from topwater.validation import nearest, shown


class Policy(Protocol):
    """Ranks keys, most worthwhile first.

    Contract
    --------
    P1. ``rank`` returns distinct rows of the proposal; it may leave some out.
    P2. It is a function of the seed, the proposal and what was observed: a repeated evaluation
        elects the same keys.
    P3. It never fetches and never writes the replica.

    One that does not learn anything by ranking says so: ``learns_by_ranking = False``. It is then
    not asked where nothing is left for its choice.
    """

    def rank(self, proposal: Proposal) -> IntArray:
        """Rows of the proposal, most worthwhile first."""

    def observe(self, polls: Polls) -> None:
        """Learn from what was fetched."""

    def reset(self, slots: IntArray) -> None:
        """The slots belong to other keys now."""

    def snapshot(self, slots: IntArray) -> dict[str, pa.Array]:
        """What was learnt, as columns for the replica's table."""

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Take over such columns."""


class _Stateless:
    learns_by_ranking = False

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def observe(self, polls: Polls) -> None:
        """Nothing to learn."""

    def reset(self, slots: IntArray) -> None:
        """Nothing to forget."""

    def snapshot(self, slots: IntArray) -> dict[str, pa.Array]:  # noqa: ARG002
        """Nothing to keep."""
        return {}

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Nothing was kept."""


class Nothing(_Stateless):
    """WST: the replica stays as it is."""

    def rank(self, proposal: Proposal) -> IntArray:  # noqa: ARG002
        """None."""
        return np.empty(0, np.int64)


class AtRandom(_Stateless):
    """RND: without replacement, a function of seed and window."""

    def rank(self, proposal: Proposal) -> IntArray:
        """All, shuffled."""
        return shuffled(proposal, self.seed)


class LeastRecent(_Stateless):
    """LRU: the least recently fetched first.

    A fetch that failed counts too, or keys that always fail would take the whole budget.
    """

    def rank(self, proposal: Proposal) -> IntArray:
        """All, by age."""
        return first_by(proposal.asked, shuffled(proposal, self.seed), proposal.most)


class FromTheTop(_Stateless):
    """TSM: from the top of the ranking down. ASM is the same without a limit."""

    def rank(self, proposal: Proposal) -> IntArray:
        """All, best first."""
        most = len(proposal) if proposal.most is None else proposal.most
        return proposal.places.best_of(np.arange(len(proposal)), most)


class Borderline(_Stateless):
    """BSM: around the border of the top k: ranks k+1, k, k+2, k−1, …"""

    def rank(self, proposal: Proposal) -> IntArray:
        """All, nearest to the border first."""
        most = len(proposal) if proposal.most is None else proposal.k + proposal.most
        rows = proposal.places.best_of(np.arange(len(proposal)), most)
        place = proposal.places.at(rows)
        below = place >= proposal.k
        distance = np.where(below, place - proposal.k, proposal.k - 1 - place)
        # Stable: of those without a place, the first rows come first.
        return np.asarray(rows[np.lexsort((~below, distance))])


class BestBefore:
    """WBM: what is possibly stale, by how long it will be needed and stay fresh.

    A value has a best-before time; past it, it is possibly stale. Its worth is the smaller of
    two numbers of evaluations: in how many its key will still be in the window, and for how many
    a fresh value would last.

    ACQUA stops where nothing else is possibly stale. Here every policy gets the same budget, so
    the least recently fetched of the other keys follow, but none that is known never to change.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        # Per slot the best-before time and the interval between changes, in milliseconds.
        self._times = SlotTable("best_before", 2, empty=np.nan)

    @property
    def bytes_per_key(self) -> int:
        """What a key takes."""
        return self._times.bytes_per_key

    def rank(self, proposal: Proposal) -> IntArray:
        """The possibly stale ones, most worthwhile first; then the others, by age."""
        with np.errstate(divide="ignore"):
            interval = 1_000.0 / proposal.rates
        before = self._times.at(proposal.slots)[:, 0]
        before = np.where(np.isnan(before), _first(proposal), before)
        # The first fetch of a key is not a poll, and moves the time as well.
        before = np.where(
            proposal.fetched >= before, _past(before, interval, proposal.fetched), before
        )
        self._times.put(proposal.slots, np.column_stack([before, interval]))
        rows = shuffled(proposal, self.seed)
        rows = rows[np.isfinite(interval[rows])]
        stale = before[rows] <= proposal.now
        fresh_until = _past(before, interval, proposal.now)
        first = by_worth(proposal, rows[stale], fresh_until)
        return np.concatenate([first, by_age(proposal, rows[~stale])])

    def observe(self, polls: Polls) -> None:
        """Move the best-before times of what was fetched past now."""
        before, interval = self._times.at(polls.slots).T
        moved = _past(before, interval, polls.now)
        self._times.put(polls.slots, np.column_stack([moved, interval]))

    def reset(self, slots: IntArray) -> None:
        """Forget these slots."""
        self._times.reset(slots)

    def snapshot(self, slots: IntArray) -> dict[str, pa.Array]:
        """Columns for the replica's table."""
        return self._times.snapshot(slots)

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Take over such columns."""
        self._times.restore(table, slots)


class TrueBestBefore(_Stateless):
    """WBM*: the same, knowing what is stale and when it changes next. Evaluation only."""

    def rank(self, proposal: Proposal) -> IntArray:
        """The stale ones, most worthwhile first."""
        truth, until = _truth(proposal, "wbm*")
        return by_worth(proposal, _stale(proposal, truth, self.seed), until)


class Stale(_Stateless):
    """BST: what is certainly stale, in any order. Evaluation only."""

    def rank(self, proposal: Proposal) -> IntArray:
        """The stale ones."""
        truth, _ = _truth(proposal, "bst")
        return _stale(proposal, truth, self.seed)


def shuffled(proposal: Proposal, seed: int) -> IntArray:
    """All rows in an order that is a function of seed and window."""
    return np.random.default_rng([seed, proposal.window]).permutation(len(proposal))


def by_age(proposal: Proposal, rows: IntArray) -> IntArray:
    """These rows, the least recently asked for first; equals keep their order."""
    return first_by(proposal.asked, rows, proposal.most)


def by_worth(proposal: Proposal, rows: IntArray, fresh_until: FloatArray) -> IntArray:
    """These rows by min(L, V), largest first; by V alone when windows do not overlap.

    Equals keep their order.
    """
    needed, fresh = evaluations_left(proposal, fresh_until)
    worth = fresh if proposal.width == proposal.step else np.minimum(needed, fresh)
    return first_by(-worth, rows, proposal.most)


def evaluations_left(proposal: Proposal, fresh_until: FloatArray) -> tuple[FloatArray, FloatArray]:
    """L and V of each row: numbers of evaluations, this one included.

    In L of them the key is still in the window, and for V a value fetched now stays fresh.
    """
    needed = np.ceil((proposal.last_event + proposal.width - proposal.now) / proposal.step)
    return needed, np.ceil((fresh_until - proposal.now) / proposal.step)


def _first(proposal: Proposal) -> FloatArray:
    """When a best-before time starts: now, but with the first window for what was known then."""
    started = proposal.now - proposal.window * proposal.step
    return np.where(proposal.fetched == NEVER, float(proposal.now), float(started))


def _past(before: FloatArray, interval: FloatArray, now: Millis | IntArray) -> FloatArray:
    """The first ``before + n·interval`` after now; ``before`` itself if it is."""
    with np.errstate(invalid="ignore"):
        steps = np.maximum(0.0, np.floor((now - before) / interval) + 1.0)
        moved = before + steps * interval
    return np.where(np.isfinite(interval), moved, np.inf)


def _stale(proposal: Proposal, truth: FloatArray, seed: int) -> IntArray:
    """The rows whose value is not the true one, shuffled."""
    rows = shuffled(proposal, seed)
    value, truth = proposal.value[rows], truth[rows]
    same = (value == truth) | (np.isnan(value) & np.isnan(truth))
    return np.asarray(rows[~same])


def _truth(proposal: Proposal, name: str) -> tuple[FloatArray, FloatArray]:
    if proposal.truth is None:
        raise needs_truth(name)
    return proposal.truth(proposal.keys)


def needs_truth(name: str) -> QueryError:
    """The refusal of a policy that only an evaluation can run."""
    others = [ranker for ranker in rankers if not rankers[ranker].needs_truth]
    return QueryError(
        f"{name!r} knows the truth, which only an evaluation has",
        field="policy",
        fix=f"use one of: {', '.join(others)}",
    )


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """How a named policy is made, and what it needs.

    One that chooses ``by_rows`` gets a window's rows sorted by key: it draws rows, or leaves it to
    their order which of two comes first, and what it elects must not depend on how the stream was
    cut into batches. One that looks at places in the ranking alone is spared the sorting.

    One that ``weighs`` ranks by what look-ups are worth to the answer, so the first so many of its
    ranking can be those that an accuracy needs.
    """

    make: Callable[[int], Policy]
    by_rows: bool = True
    needs_rates: bool = False
    needs_truth: bool = False
    unbounded: bool = False
    refreshes: bool = True
    weighs: bool = False


rankers: Registry[PolicyEntry] = Registry("policy")
rankers.add("wst", PolicyEntry(Nothing, refreshes=False), "no refresh at all")
rankers.add("rnd", PolicyEntry(AtRandom), "at random")
rankers.add("lru", PolicyEntry(LeastRecent), "the least recently fetched")
rankers.add("wbm", PolicyEntry(BestBefore, needs_rates=True), "possibly stale, needed for long")
rankers.add("tsm", PolicyEntry(FromTheTop), "from the top of the ranking")
rankers.add("bsm", PolicyEntry(Borderline), "around the border of the top k")
rankers.add("ttl", PolicyEntry(lambda _: TimeToLive()), "what expired, as in a cache")
rankers.add("asm", PolicyEntry(FromTheTop, unbounded=True), "all candidates; ignores the budget")
rankers.add("wbm*", PolicyEntry(TrueBestBefore, needs_truth=True), "wbm with true change times")
rankers.add("bst", PolicyEntry(Stale, needs_truth=True), "what is certainly stale")

_PREFIXES: dict[str, Proposer] = {"at-": "candidates", "wsj-": "window", "gnr-": "replica"}
_TTL = "ttl:"


def _unknown(name: object, prefix: str) -> QueryError:
    """The refusal of a policy that is not there, with the nearest that anybody can run."""
    usable = [each for each in rankers if not rankers[each].needs_truth]
    near = nearest(str(name).removeprefix(prefix), usable)
    near = None if near is None else prefix + near
    all_of_them = f"use one of: {', '.join(usable)}; as it is, or after {', '.join(_PREFIXES)}"
    fix = all_of_them if near is None else f"did you mean {near}?"
    return QueryError(f"{shown(name)} is unknown", field="policy", fix=fix)


def resolve(name: str) -> tuple[PolicyEntry, Proposer]:
    """A policy by its name, and where its keys come from.

    Examples
    --------
    >>> resolve("at-bsm")[1], resolve("lru")[1], resolve("gnr-rnd")[1], resolve("ttl:90s")[1]
    ('candidates', 'window', 'replica', 'window')
    """
    prefix = next((each for each in _PREFIXES if str(name).startswith(each)), "")
    ranker = str(name).removeprefix(prefix)
    if ranker.startswith(_TTL):
        aged = TimeToLive.of(ranker.removeprefix(_TTL))
        return PolicyEntry(lambda _: aged), _PREFIXES.get(prefix, "window")
    if type(name) is not str or ranker not in rankers:
        raise _unknown(name, prefix)
    usual: Proposer = "candidates" if name in ("tsm", "bsm", "asm") else "window"
    return rankers[ranker], _PREFIXES.get(prefix, usual)
