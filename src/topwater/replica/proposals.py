"""Which keys may be refreshed for a window, with all that a policy may look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from topwater.model import BoolArray, FloatArray, IntArray, KeyArray, Millis
from topwater.replica.places import Places, WindowPlaces
from topwater.replica.population import NOBODY, Population

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

Rows = IntArray | slice
Column = Callable[[Rows], Any]
"""A column of a proposal, at some of its rows."""

ALL = slice(None)


@dataclass(frozen=True)
class Trials:
    """What scores rows of a proposal would have with other remote values.

    Attributes
    ----------
    score_at
        The scores of rows, each with a remote value, or with a row of them.
    bounds_at
        The least and the greatest score of rows, each with remote values between two; None if
        nothing is known of that.
    by_one
        Whether the stream says a single number of each key: then rows that score the same with one
        remote value do so with all.
    """

    score_at: Callable[[IntArray, FloatArray], FloatArray]
    bounds_at: Callable[[IntArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]] | None
    by_one: bool = False


@dataclass(frozen=True)
class Proposal:
    """The keys that may be refreshed at one evaluation, as columns that are read when asked for.

    Where a policy needs a column of few rows, :meth:`at` reads no more than these.

    Attributes
    ----------
    window, now
        The window's number, and the time of the evaluation.
    width, step
        Of the windows, in milliseconds.
    k
        How many items the answer has.
    slots
        Where the replica holds the keys.
    columns
        How each column is read; see the properties of these names.
    places
        The present ranking.
    trials
        The scores that rows would have with other remote values.
    truth
        For an evaluation: the true values.
    most
        How many rows of a policy's ranking can be used; None for all. It may give more.
    new_first
        Whether keys never asked for are elected apart, before all others: then a policy may leave
        them out.
    nominated
        Which of those never asked for may be looked up; None for all.
    population
        What the value of a key that was never read could be.
    """

    window: int
    now: Millis
    width: Millis
    step: Millis
    k: int
    slots: IntArray
    columns: Mapping[str, Column]
    places: Places
    trials: Trials
    truth: Truth | None = None
    most: int | None = None
    new_first: bool = False
    nominated: BoolArray | None = None
    population: Population = NOBODY

    def __len__(self) -> int:
        return len(self.slots)

    def at(self, name: str, rows: Rows) -> Any:
        """A column at some rows.  O(rows)."""
        return self.columns[name](rows)

    @cached_property
    def keys(self) -> KeyArray:
        """The keys."""
        return np.asarray(self.at("keys", ALL))

    @cached_property
    def position(self) -> IntArray:
        """The place of each key in the present ranking, from 0; behind the last if it has none."""
        return self.places.at(np.arange(len(self)))

    @cached_property
    def ranking(self) -> FloatArray:
        """The scores of all keys of the window, best first."""
        return self.places.scores(self.places.count)

    @cached_property
    def value(self) -> FloatArray:
        """What is taken for the remote values."""
        return np.asarray(self.at("value", ALL))

    @cached_property
    def fetched(self) -> IntArray:
        """Since when each value is remembered."""
        return np.asarray(self.at("fetched", ALL))

    @cached_property
    def asked(self) -> IntArray:
        """When each key was last asked for."""
        return np.asarray(self.at("asked", ALL))

    @cached_property
    def vain(self) -> IntArray:
        """How often in a row each key was asked for in vain."""
        return np.asarray(self.at("vain", ALL))

    @cached_property
    def last_event(self) -> IntArray:
        """The time of each key's last event in the window, or a time long ago."""
        return np.asarray(self.at("last_event", ALL))

    @cached_property
    def hinted(self) -> IntArray:
        """In how many windows each key had an event after it was fetched."""
        return np.asarray(self.at("hinted", ALL))

    @cached_property
    def rates(self) -> FloatArray:
        """Estimated changes per second; 0 if none was seen."""
        return np.asarray(self.at("rates", ALL))

    @cached_property
    def presence(self) -> FloatArray:
        """In what share of the windows each key was lately."""
        return np.asarray(self.at("presence", ALL))

    @cached_property
    def inside(self) -> BoolArray:
        """Which keys are in the window."""
        return np.asarray(self.last_event > self.now - self.width)

    def score_at(self, rows: IntArray, remote: FloatArray) -> FloatArray:
        """The scores that rows would have with other remote values, one or several for each."""
        return self.trials.score_at(rows, remote)


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
        terms = self._terms
        rows = self._rows(view, slots, scores)
        outside = self._outside(slots)
        here = slots if rows is None else slots[rows]
        here = np.concatenate([here, outside]) if len(outside) else here
        return Proposal(
            window=view.index,
            now=view.end,
            width=terms.windows.width,
            step=terms.windows.step,
            k=terms.k,
            slots=here,
            columns=self._columns(view, rows, here),
            places=WindowPlaces(view, scores, rows),
            trials=self._trials(view, rows),
            truth=self._truth,
            nominated=_nominated(view, rows, len(here)),
            population=self._values.population,
        )

    def _columns(
        self, view: WindowView, rows: IntArray | None, here: IntArray
    ) -> Mapping[str, Column]:
        replica, rates = self._replica, self._rates
        spoke = view.last_event if rows is None else view.last_event[rows]
        spoke = _padded(spoke, len(here))
        return {
            "keys": lambda at: replica.keys(here[at]),
            "value": lambda at: self._values.of_slots(_some(here, at)),
            "fetched": lambda at: replica.fetched.data[_some(replica.rows(here), at)],
            "asked": lambda at: replica.asked.data[_some(replica.rows(here), at)],
            "vain": lambda at: replica.vain.data[_some(replica.rows(here), at)],
            "last_event": lambda at: _some(spoke, at),
            "hinted": lambda at: replica.hints.data[_some(replica.rows(here), at)],
            "rates": lambda at: _rates(rates, here[at]),
            "presence": lambda at: replica.presence_at(here[at], view.index),
        }

    def _rows(self, view: WindowView, slots: IntArray, scores: FloatArray) -> IntArray | None:
        """The rows of the window that are proposed: None for all of them, or candidates alone."""
        if self._proposer != "candidates" or self._terms.settings.reads_every_key:
            return None
        wanted = ~self._replica.known(slots)
        wanted[self._candidates(view, WindowPlaces(view, scores))] = True
        return np.flatnonzero(wanted)

    def _outside(self, slots: IntArray) -> IntArray:
        """The slots that are proposed besides those of the window."""
        if self._proposer != "replica":
            return np.empty(0, np.int64)
        return self._replica.others(slots)

    def _candidates(self, view: WindowView, places: WindowPlaces) -> IntArray:
        """The k + spare best of this window, and of each later one that some of its keys reach."""
        terms = self._terms
        found, wanted = [np.empty(0, np.int64)], terms.k + terms.settings.spare
        for ahead in range(terms.windows.overlap):
            opens = view.end - terms.windows.width + ahead * terms.windows.step
            looked_at = alive = np.empty(0, np.int64)
            while len(alive) < wanted and len(looked_at) < places.count:
                looked_at = places.order(max(wanted, 4 * len(looked_at)))
                alive = looked_at[view.last_event[looked_at] > opens]
            found.append(alive[:wanted])
        return np.concatenate(found)

    def _trials(self, view: WindowView, rows: IntArray | None) -> Trials:
        terms = self._terms

        def values_at(proposed: IntArray, times: int = 1) -> dict[str, FloatArray]:
            """Only rows of the window have a score."""
            at = proposed if rows is None else rows[proposed]
            return {name: np.repeat(column[at], times) for name, column in view.values.items()}

        def score_at(proposed: IntArray, remote: FloatArray) -> FloatArray:
            times = 1 if remote.ndim == 1 else remote.shape[1]
            return terms.scores(values_at(proposed, times), remote.ravel()).reshape(remote.shape)

        return Trials(
            score_at,
            lambda proposed, low, high: terms.bounds(values_at(proposed), low, high),
            by_one=len(view.values) == 1,
        )


def _nominated(view: WindowView, rows: IntArray | None, count: int) -> BoolArray | None:
    """Of the rows proposed; those that follow the window's own were asked for before."""
    if view.nominated is None:
        return None
    found = np.zeros(count, bool)
    inside = view.nominated if rows is None else view.nominated[rows]
    found[: len(inside)] = inside
    return found


def _some(column: Any, at: Rows) -> Any:
    """A column at some rows; itself, where all are wanted."""
    return column if at is ALL else column[at]


def _padded(inside: IntArray, count: int) -> IntArray:
    """When keys of the window spoke last; those that follow did so long ago."""
    if len(inside) == count:
        return inside
    return np.concatenate([inside, np.full(count - len(inside), _LONG_AGO)])


def _rates(rates: RateEstimator | None, slots: IntArray) -> FloatArray:
    return np.zeros(len(slots)) if rates is None else rates.rates(slots)
