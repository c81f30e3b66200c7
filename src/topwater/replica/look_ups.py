"""What is looked up: ask the source, write the replica, and let everybody learn.

A ranking that looks something up is a generator: it gives a :class:`Demand`, and goes on with what
came. So it does not matter who asks: the ranking itself (:func:`alone`), or somebody who asks for
several rankings at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from topwater.model import (
    LOOK_UPS,
    BoolArray,
    Fetched,
    FloatArray,
    IntArray,
    KeyArray,
    LookUp,
    Millis,
)
from topwater.problems import STATED
from topwater.protocols import Seeks, Source
from topwater.replica.likeness import said

if TYPE_CHECKING:
    from topwater.replica.budget import Purse
    from topwater.replica.learners import Learners
    from topwater.replica.noise import Noise
    from topwater.replica.proposals import Proposal
    from topwater.replica.store import Replica

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Demand:
    """What a ranking would like to look up for a window.

    Attributes
    ----------
    keys
        The most worthwhile first.
    worth
        What knowing each is worth by the policy: infinite for a key never asked for, as these come
        before all others; not a number if the policy does not say.
    now
        When the window closes.
    """

    keys: KeyArray
    worth: FloatArray
    now: Millis


LookingUp: TypeAlias = Generator[Any, Any, T]
"""Gives what it would like to look up, and is sent what came for the first of the keys; or None,
if it should ask by itself. That is a :class:`Demand`, and what was fetched; with several remote
values a :class:`~topwater.replica.joins.wish.Wish`, and what was granted of it."""


def alone(ranking: LookingUp[T]) -> T:
    """Let a ranking ask by itself."""
    try:
        while True:
            next(ranking)
    except StopIteration as done:
        found: T = done.value
        return found


@dataclass(frozen=True, slots=True)
class Polls:
    """What one evaluation fetched: how long after the last fetch, and what came.

    Only keys that were fetched before are in it: the first value of a key says nothing of how it
    changes.
    """

    now: Millis
    slots: IntArray
    seconds: FloatArray
    changed: BoolArray
    before: FloatArray
    after: FloatArray
    hinted: IntArray

    def at(self, rows: BoolArray) -> Polls:
        """Some of them."""
        columns = ("slots", "seconds", "changed", "before", "after", "hinted")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})


@dataclass(frozen=True, slots=True)
class LookUps:
    """What was asked for one window, and what came of it.

    Attributes
    ----------
    keys
        The keys asked for, the most worthwhile first.
    bad
        How many of them the source answered with something that is not a number.
    seconds
        How long the source took.
    problems
        What went wrong with the keys that failed, and how often.
    first
        What came of the first of them.
    lacks
        Why keys that were answered have no usable value, and how often.
    """

    keys: KeyArray
    bad: int = 0
    seconds: float = 0.0
    problems: tuple[tuple[str, int], ...] = ()
    first: tuple[LookUp, ...] = ()
    lacks: tuple[tuple[str, int], ...] = ()

    def and_more(self, more: LookUps) -> LookUps:
        """These and others, of the same window."""
        return LookUps(
            np.concatenate([self.keys, more.keys]),
            self.bad + more.bad,
            self.seconds + more.seconds,
            _tallied(self.problems, more.problems),
            (*self.first, *more.first)[:LOOK_UPS],
            _tallied(self.lacks, more.lacks),
        )

    @property
    def failed(self) -> int:
        """How many keys the source did not answer."""
        return sum(count for _, count in self.problems)

    @property
    def in_vain(self) -> bool:
        """Whether keys were asked for, and none has a usable value."""
        return 0 < len(self.keys) <= self.failed + self.bad

    @property
    def unknown(self) -> bool:
        """Whether all that was said is that the source has no values of these keys."""
        return not self.problems and all(reason in STATED for reason, _ in self.lacks)


class Fetcher:
    """Looks up what was elected. Whatever comes, the replica, the learners and the purse know it.

    Parameters
    ----------
    source
        Where values are fetched.
    replica, learners, purse
        What is told of every look-up.
    noise
        How far looks at the same value may lie apart.
    """

    def __init__(
        self,
        source: Source,
        replica: Replica,
        learners: Learners,
        purse: Purse,
        noise: Noise | None = None,
    ) -> None:
        self._noise = noise
        self._source = source
        self._replica = replica
        self._learners = learners
        self._purse = purse

    def look_up(
        self, proposal: Proposal, rows: IntArray, deadline: float | None, *, more: bool = False
    ) -> LookUps:
        """Fetch these rows of a proposal, within ``deadline`` seconds."""
        got = ask(self._source, proposal.at("keys", rows), proposal.now, deadline)
        return self.take_in(proposal, rows, got, more=more)

    def take_in(
        self, proposal: Proposal, rows: IntArray, got: Fetched, *, more: bool = False
    ) -> LookUps:
        """Remember what came for these rows of a proposal, learn from it, and pay for it.

        ``more`` says that something was looked up for the same window before.
        """
        keys, before = proposal.at("keys", rows), self._replica.value[proposal.slots[rows]]
        finite = got.ok & np.isfinite(got.values)
        why = _reasons(got, finite)
        # Where the remote side has no value and had none before, that is what is known now;
        # unless nothing usable came at all: then a path or a column may be wrong.
        believed = True if finite.any() else np.isin(why, STATED)
        good = got.ok & (finite | (np.isnan(before) & believed))
        self._remember(proposal, rows, np.where(finite, got.values, np.nan), good, why)
        pay(self._purse, got, more=more)
        bad = int(np.count_nonzero(got.ok & ~finite))
        problems, lacks = tuple(got.problems().items()), tuple(got.lacks().items())
        return LookUps(keys, bad, got.seconds, problems, _first(keys, before, got), lacks)

    def _remember(
        self,
        proposal: Proposal,
        rows: IntArray,
        values: FloatArray,
        good: BoolArray,
        why: KeyArray,
    ) -> None:
        """Write the replica, and learn from the keys that were fetched before."""
        slots, replica = proposal.slots[rows], self._replica
        replica.enter(slots, proposal.window, proposal.now, proposal.last_event[rows])
        again = replica.known(slots)[good]
        before, fetched, hinted = replica.value[slots], replica.fetched[slots], replica.hints[slots]
        if self._noise is not None:
            # It stays as it is remembered: a value that goes far enough in small steps has changed.
            values = np.where(self._noise.hides(before, values), before, values)
        replica.miss(slots[~good], proposal.now, why[~good])
        changed = replica.put(slots[good], values[good], proposal.now, why[good])
        polls = Polls(
            now=proposal.now,
            slots=slots[good][again],
            seconds=(proposal.now - fetched[good][again]) / 1_000,
            changed=changed[again],
            before=before[good][again],
            after=values[good][again],
            hinted=hinted[good][again],
        )
        self._learners.observe(polls)
        if not again.all():
            first = np.flatnonzero(good)[~again]
            # Only rows of the window have a score.
            spoke = proposal.at("last_event", rows[first])
            first = first[spoke > proposal.now - proposal.width]
            self._learners.hear(slots[first], said(proposal.score_at, rows[first]))
            self._learners.meet(replica.numbers())


def _tallied(*parts: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    """How many of each there were, in all."""
    found: Counter[str] = Counter()
    for part in parts:
        found.update(dict(part))
    return tuple(sorted(found.items()))


def ask(source: Source, keys: KeyArray, now: Millis, deadline: float | None) -> Fetched:
    """The values of keys at a time, within ``deadline`` seconds."""
    if not len(keys):
        return Fetched(np.empty(0), np.empty(0, bool))
    if isinstance(source, Seeks):
        source.seek(now)
    return source.fetch(keys, deadline)


def pay(purse: Purse, got: Fetched, *, more: bool = False) -> None:
    """Tell a purse what look-ups cost; or what more of them did, for the same window."""
    answered = int(np.count_nonzero(got.ok))
    # A source that fails at once is not a cheap one: then only a long time tells something.
    telling = answered > 0 or got.seconds > purse.seconds_per_fetch
    spend = purse.spend_more if more else purse.spend
    spend(len(got.ok), answered, got.seconds if telling else 0.0)


def _reasons(got: Fetched, finite: BoolArray) -> KeyArray:
    """Why each key has no usable value; nothing where it has one."""
    told = np.full(len(finite), "", object) if got.why is None else got.why
    if finite.all():
        return np.full(len(finite), "", object)
    told = np.where(got.ok & (told == ""), "not_found", told)
    return np.where(finite, "", told)


def _first(keys: KeyArray, before: FloatArray, got: Fetched) -> tuple[LookUp, ...]:
    """The first of the keys, with what was remembered of each and what came."""
    columns = (keys, before, np.where(got.ok, got.values, np.nan), got.ok)
    rows = zip(*(column[:LOOK_UPS].tolist() for column in columns), strict=True)
    return tuple(LookUp(key, _number(old), _number(new), ok) for key, old, new, ok in rows)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
