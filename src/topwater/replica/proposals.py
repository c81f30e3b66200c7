"""Which keys may be refreshed for a window, with all that a policy may look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from topwater.model import BoolArray, FloatArray, IntArray, KeyArray, Millis

if TYPE_CHECKING:
    from topwater.replica.rate_estimators import RateEstimator
    from topwater.replica.remote_values import RemoteValues
    from topwater.replica.store import Replica
    from topwater.replica.terms import Terms
    from topwater.replica.window_view import WindowView

_LONG_AGO: Millis = -(2**53)
Proposer = Literal["candidates", "window", "replica"]
Truth = Callable[[KeyArray], tuple[FloatArray, FloatArray]]
"""For an evaluation: the true value of each key, and when it will change next (in ms)."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The keys that may be refreshed at one evaluation, as columns.

    Attributes
    ----------
    window, now
        The window's number, and the time of the evaluation.
    width, step
        Of the windows, in milliseconds.
    k
        How many items the answer has.
    keys, slots
        The keys, and where the replica holds them.
    position
        The place of each key in the present ranking, from 0; the number of ranked keys if it is
        not in the window.
    value, fetched, asked, vain
        What the replica remembers, since when, when it was last asked for, and how often in a
        row in vain.
    last_event
        The time of the key's last event in the window, or a time long ago.
    hinted
        In how many windows the key had an event after it was fetched.
    rates
        Estimated changes per second; 0 if none was seen.
    presence
        In what share of the windows the key was lately.
    ranking
        The scores of all keys of the window, best first.
    score_at
        The scores that rows of the proposal would have with other remote values.
    """

    window: int
    now: Millis
    width: Millis
    step: Millis
    k: int
    keys: KeyArray
    slots: IntArray
    position: IntArray
    value: FloatArray
    fetched: IntArray
    asked: IntArray
    vain: IntArray
    last_event: IntArray
    hinted: IntArray
    rates: FloatArray
    presence: FloatArray
    ranking: FloatArray
    score_at: Callable[[IntArray, FloatArray], FloatArray]
    truth: Truth | None = None

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def inside(self) -> BoolArray:
        """Which keys are in the window."""
        return np.asarray(self.last_event > self.now - self.width)


class Proposals:
    """Proposes the keys of a window, of its candidates alone, or of the whole replica.

    Parameters
    ----------
    terms, replica, values
        What is ranked, what is remembered, and what is taken for the remote values.
    rates
        Estimates change rates, for the policies that need them.
    proposer
        Where keys are proposed from.
    truth
        For an evaluation: the true values.
    """

    def __init__(
        self,
        terms: Terms,
        replica: Replica,
        values: RemoteValues,
        rates: RateEstimator | None,
        proposer: Proposer,
        truth: Truth | None = None,
    ) -> None:
        self._terms = terms
        self._replica = replica
        self._values = values
        self._rates = rates
        self._proposer = proposer
        self._truth = truth

    def propose(self, view: WindowView, slots: IntArray, scores: FloatArray) -> Proposal:
        """The keys that may be refreshed.

        Parameters
        ----------
        view, slots
            The window, and where the replica holds each of its keys.
        scores
            Of its keys, with what is remembered.
        """
        terms, replica = self._terms, self._replica
        order = view.best_first(scores)
        rows = self._rows(view, slots, order)
        here = np.concatenate([slots[rows], self._outside(slots)])
        return Proposal(
            window=view.index,
            now=view.end,
            width=terms.windows.width,
            step=terms.windows.step,
            k=terms.k,
            keys=replica.keys(here),
            slots=here,
            position=_placed(_positions(order, len(slots))[rows], len(here), len(order)),
            value=self._values.of_slots(here),
            fetched=replica.fetched[here],
            asked=replica.asked[here],
            vain=replica.vain[here],
            last_event=_placed(view.last_event[rows], len(here), _LONG_AGO),
            hinted=replica.hints[here],
            rates=np.zeros(len(here)) if self._rates is None else self._rates.rates(here),
            presence=replica.presence_at(here, view.index),
            ranking=scores[order],
            score_at=self._score_at(view, rows),
            truth=self._truth,
        )

    def _rows(self, view: WindowView, slots: IntArray, order: IntArray) -> IntArray:
        """The rows of the window that are proposed: all of them, or candidates alone."""
        if self._proposer != "candidates" or self._terms.settings.reads_every_key:
            return np.arange(len(slots))
        wanted = self._candidates(view, order)
        return np.flatnonzero(wanted | ~self._replica.known(slots))

    def _outside(self, slots: IntArray) -> IntArray:
        """The slots that are proposed besides those of the window."""
        if self._proposer != "replica":
            return np.empty(0, np.int64)
        return self._replica.others(slots)

    def _candidates(self, view: WindowView, order: IntArray) -> BoolArray:
        """The k + spare best of this window, and of each later one that some of its keys reach."""
        terms, wanted = self._terms, np.zeros(len(view), bool)
        for ahead in range(terms.windows.overlap):
            opens = view.end - terms.windows.width + ahead * terms.windows.step
            alive = order[view.last_event[order] > opens]
            wanted[alive[: terms.k + terms.settings.spare]] = True
        return wanted

    def _score_at(
        self, view: WindowView, rows: IntArray
    ) -> Callable[[IntArray, FloatArray], FloatArray]:
        def score_at(proposed: IntArray, remote: FloatArray) -> FloatArray:
            """Only rows of the window have a score."""
            at = rows[proposed]
            values = {name: column[at] for name, column in view.values.items()}
            return self._terms.scores(values, remote)

        return score_at


def _positions(order: IntArray, count: int) -> IntArray:
    """The place of each of ``count`` rows in a ranking; after the last for those not in it."""
    position = np.full(count, len(order))
    position[order] = np.arange(len(order))
    return position


def _placed(inside: IntArray, count: int, outside: int) -> IntArray:
    """A column of the rows inside the window, and the same number for those that follow."""
    column = np.full(count, outside)
    column[: len(inside)] = inside
    return column
