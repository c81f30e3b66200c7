"""What is to be expected of a key's value: is it stale, how long will a fresh one be used?"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from topwater.model import FloatArray, IntArray
from topwater.replica.key_slots import KeySlots
from topwater.replica.rate_beliefs import seconds_since
from topwater.replica.store import TOLD

if TYPE_CHECKING:
    from topwater.replica.proposals import Proposal
    from topwater.replica.worth import Worth

_HORIZON = 6
_DECAY = 0.8
MOST_LATER = float((_DECAY ** np.arange(1, _HORIZON + 1)).sum())
"""In how many later answers a fresh value is used at most."""

_FEW = 64
_SMALL = 2_048
"""So many keys are asked for more than once, in parts that overlap."""


class Outlook(NamedTuple):
    """Of each of some rows.

    Attributes
    ----------
    stale
        The probability that its value is.
    uses
        In how many answers, this one included, a value fetched now will be used and right.
    answers
        Whether the source will answer.
    changes
        How often its value has changed by now, if it has.
    """

    stale: FloatArray
    uses: FloatArray
    answers: FloatArray
    changes: FloatArray


class _Aged(NamedTuple):
    """Of each of some rows what is believed of its rates; see :class:`Outlook` for the rest."""

    beliefs: FloatArray
    stale: FloatArray
    changes: FloatArray


class Prospects:
    """What is to be expected of the keys that are proposed for one window.

    Keys that were never polled twice are believed to change alike, and most keys of a large
    window are such: what is believed is found once for all that were fetched at the same time.

    Parameters
    ----------
    beliefs
        How often values change.
    proposal
        The keys.
    """

    def __init__(self, beliefs: Worth, proposal: Proposal) -> None:
        self._rates = beliefs.rates
        self._proposal = proposal
        ahead = np.arange(1, _HORIZON + 1)
        self._ahead = ahead
        self._opens = proposal.now - proposal.width + ahead * proposal.step
        self._weight = _DECAY**ahead

    def of(self, rows: IntArray) -> Outlook:
        """What is to be expected of these rows.  O(rows), each by itself."""
        if len(self._proposal) > _SMALL:
            return self._of(rows)
        return Outlook(*(column[rows] for column in self._of_all))

    def aged(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """How likely each value is stale, and how often it has changed by now, if it has.

        As in :meth:`of`, for less.
        """
        if len(self._proposal) <= _SMALL:
            return self._of_all.stale[rows], self._of_all.changes[rows]
        fetched = self._proposal.at("fetched", rows)
        spokesmen, of_row = self._alike(rows, fetched)
        aged = self._aged(rows[spokesmen], fetched[spokesmen])
        return self._stale(rows, aged.stale[of_row]), aged.changes[of_row]

    @cached_property
    def _of_all(self) -> Outlook:
        return self._of(np.arange(len(self._proposal)))

    def _of(self, rows: IntArray) -> Outlook:
        proposal = self._proposal
        presence = proposal.at("presence", rows)
        fetched = proposal.at("fetched", rows)
        spokesmen, of_row = self._alike(rows, fetched)
        aged = self._aged(rows[spokesmen], fetched[spokesmen])
        right = self._right_later(aged.beliefs, presence[spokesmen])
        # A source that failed will rather fail again.
        answers = np.ldexp(1.0, -proposal.at("vain", rows))
        uses = self._uses(rows, presence, right[of_row])
        stale = self._stale(rows, aged.stale[of_row])
        return Outlook(stale, uses, answers, aged.changes[of_row])

    def _alike(
        self, rows: IntArray, fetched: IntArray
    ) -> tuple[IntArray | slice, IntArray | slice]:
        """Some rows that stand for all, and by which of them each is represented."""
        every = slice(None)
        if len(rows) < _FEW or self._rates.hints:
            return every, every
        learnt = self._rates.learnt(self._proposal.slots[rows])
        own, others = np.flatnonzero(learnt), np.flatnonzero(~learnt)
        if len(others) < _FEW:
            return every, every
        which = _numbered(fetched[others])
        first = np.empty(which.max() + 1, np.int64)
        first[which[::-1]] = others[::-1]
        of_row = np.empty(len(rows), np.int64)
        of_row[own], of_row[others] = np.arange(len(own)), len(own) + which
        return np.concatenate([own, first]), of_row

    def _aged(self, rows: IntArray, fetched: IntArray) -> _Aged:
        """What has become of values by now."""
        proposal = self._proposal
        seconds, hinted = seconds_since(fetched, proposal.now), proposal.at("hinted", rows)
        beliefs = self._rates.of(proposal.slots[rows], seconds)
        stale = self._rates.stale(beliefs, seconds, hinted)
        return _Aged(beliefs, stale, self._rates.changes(beliefs, seconds, hinted, stale))

    def _stale(self, rows: IntArray, by_age: FloatArray) -> FloatArray:
        if not self._rates.told:
            return by_age
        # Rows that are alike otherwise differ in this.
        return np.where(self._proposal.at("hinted", rows) >= TOLD, 1.0, by_age)

    def _right_later(self, beliefs: FloatArray, presence: FloatArray) -> FloatArray:
        """The probability that a value fetched now is right in each of the next answers."""
        proposal = self._proposal
        # A key in so many windows has events in so many steps, of which each window spans some.
        overlap = max(1.0, proposal.width / proposal.step)
        spoken = 1.0 - (1.0 - presence) ** (1.0 / overlap)
        later = self._ahead * proposal.step / 1_000
        return self._rates.survives(beliefs, later, np.outer(spoken, self._ahead))

    def _uses(self, rows: IntArray, presence: FloatArray, right: FloatArray) -> FloatArray:
        """In how many answers, this one included, a value fetched now will be used and right."""
        spoke = self._proposal.at("last_event", rows)
        later = np.zeros(len(rows))
        # Column by column, as rows of six are slow to add up.
        for ahead, (opens, weight) in enumerate(zip(self._opens, self._weight, strict=True)):
            later += weight * np.where(spoke > opens, 1.0, presence) * right[:, ahead]
        return 1.0 + later


def _numbered(times: IntArray) -> IntArray:
    """Equal times by the same number, in the order in which they come."""
    if times.min() == times.max():
        return np.zeros(len(times), np.int64)
    return KeySlots().slots_of(times, add=True)
