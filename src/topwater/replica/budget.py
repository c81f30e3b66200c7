"""How much may be spent on a window: fetches, or what a deadline or an accuracy makes of them."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from topwater.errors import QueryError
from topwater.model import FloatArray, IntArray, Millis, Shard
from topwater.validation import (
    checked_call,
    flag_of,
    made_from,
    millis,
    number_of,
    span,
    whole_of,
)

_WHOLE = Shard()
FETCHES = 7
"""How many keys may be fetched for each window, where nothing is said."""

UNLIMITED = "unlimited"
"""No limit, in files: they have no None."""

_KEPT = 0.95
"""What remains, one window later, of what was offered."""

_LOWEST, _DECADES, _PER_DECADE = -8, 10, 15
_BINS = _DECADES * _PER_DECADE
"""Worths are counted on a scale of powers of ten. What is below it is never worth a token."""


class _Omitted(int):
    """The usual number of fetches where none was given: a deadline may take its place."""


@checked_call("budget")
@dataclass(frozen=True, slots=True)
class Budget:
    """What refreshing may cost: fetches, time, as little as reaches an accuracy, or no limit.

    **An omitted number** means the same wherever a budget is written, in Python, in a mapping, in a
    job or in RSP-QL: 7 fetches for each window, unless a deadline is given. There is no limit only
    where that is said: ``budget=None``, ``fetches=None``, ``budget = "unlimited"`` in a job,
    ``WITH BUDGET UNLIMITED`` in RSP-QL.

    Without a limit there is nothing to keep for later. Every key of a window is then read for its
    answer, whichever policy refreshes and whatever it expects of the key; so the answer is exact,
    if the source answers and no list forgot keys. It costs as many fetches as windows have keys.

    Parameters
    ----------
    fetches
        The number of keys per window; None for no limit.
    deadline
        Or: how long after a window's close its answer must be out: milliseconds, or a duration such
        as ``"2 s"``. The number of fetches follows from what fetches have cost so far.
    carry_over
        Keep what a window did not need for later ones, up to three windows' worth. For quotas;
        a deadline has nothing to carry over, and neither has a budget without a limit.
    accuracy
        The precision@k that answers should have; one that is estimated to miss it is marked.
        With ``at_most`` it is a set-point, and decides how much is spent.
    at_most
        Fetch as few keys as make answers as right as ``accuracy`` says, on average over windows,
        and never more than this many for one. What is right follows from the aim of the policy:
        precision@k for ``"accuracy"``, nDCG@k for ``"relevance"``. There may be a deadline too.

    Examples
    --------
    >>> Budget()
    Budget(fetches=7, deadline=None, carry_over=False, accuracy=None, at_most=None)
    >>> Budget.of({"accuracy": 0.9}) == Budget(accuracy=0.9) == Budget(7, accuracy=0.9)
    True
    >>> Budget.of({"deadline": "2 s"}).deadline, Budget.of({"deadline": "2 s"}).fetches
    (2000, None)
    >>> Budget.of({"accuracy": 0.95, "at_most": 50}).in_words
    'as few look-ups as make answers 0.95 right, at most 50 a window'
    >>> Budget.of(None) == Budget(fetches=None), Budget(fetches=None).unlimited
    (True, True)
    """

    fetches: int | None = _Omitted(FETCHES)
    deadline: Millis | None = None
    carry_over: bool = False
    accuracy: float | None = None
    at_most: int | None = None

    def __post_init__(self) -> None:
        put = functools.partial(object.__setattr__, self)
        if self.at_most is not None:
            fix = "how many keys may be fetched for a window, if the accuracy needs them?"
            put("at_most", whole_of(self.at_most, "budget.at_most", 1, fix=fix))
        if self.deadline is not None:
            fix = "how long after its close may a window's answer come?"
            span = millis(self.deadline, field="budget.deadline")
            put("deadline", whole_of(span, "budget.deadline", 1, fix=fix))
        if isinstance(self.fetches, _Omitted):
            limited = self.deadline is not None or self.at_most is not None
            put("fetches", None if limited else int(self.fetches))
        if self.fetches is not None:
            fix = "how many keys may be fetched for each window?"
            put("fetches", whole_of(self.fetches, "budget.fetches", 0, fix=fix))
        if self.accuracy is not None:
            fix = "0.9 asks for nine of ten right"
            number_of(self.accuracy, "budget.accuracy", above=0, most=1, fix=fix)
        flag_of(self.carry_over, "budget.carry_over", "leave it out to keep nothing")
        self._check_together()

    def _check_together(self) -> None:
        if self.at_most is not None:
            self._check_set_point()
        elif self.accuracy is not None and self.unlimited:
            raise QueryError(
                "without a limit every key is looked up, whatever the accuracy is",
                field="budget.accuracy",
                fix='write budget={"accuracy": 0.95, "at_most": 50}, or leave it out',
            )
        if self.fetches is not None and self.deadline is not None:
            raise QueryError(
                "is either a number of fetches or a deadline",
                field="budget",
                fix='write budget=7, budget={"deadline": "2s"}, or budget=None for no limit',
            )
        if self.carry_over and (self.deadline is not None or self.limit is None):
            raise QueryError(
                "without a limit nothing is left over"
                if self.unlimited
                else "time that was not used is gone",
                field="budget.carry_over",
                fix="use it with a number of fetches",
            )

    def _check_set_point(self) -> None:
        if self.accuracy is None:
            raise QueryError(
                "goes with an accuracy, and none is asked for",
                field="budget.at_most",
                fix=f'write {{"accuracy": 0.95, "at_most": {self.at_most}}}, or '
                f"budget={self.at_most} to spend as many on every window",
            )
        if self.accuracy >= 1:
            raise QueryError(
                f"can't be reached for certain: {self.accuracy:g} asks for answers without a fault",
                field="budget.accuracy",
                fix="write a number below 1, such as 0.95; budget=None reads every key",
            )
        if self.fetches is not None:
            raise QueryError(
                "is given twice: as fetches for every window, and as an accuracy to reach",
                field="budget",
                fix="leave out fetches, or at_most",
            )

    @property
    def limit(self) -> int | None:
        """The most fetches for a window, if it is a number."""
        return self.at_most if self.fetches is None else self.fetches

    @property
    def set_point(self) -> float | None:
        """The accuracy that decides what is spent; None if something else does."""
        return None if self.at_most is None else self.accuracy

    @property
    def unlimited(self) -> bool:
        """Whether there is neither a number of fetches nor a deadline."""
        return self.limit is None and self.deadline is None

    @property
    def in_words(self) -> str:
        """What may be spent.

        Examples
        --------
        >>> Budget.of(1).in_words, Budget.of(None).in_words
        ('1 look-up a window', 'no limit on look-ups')
        """
        if self.at_most is not None:
            within = "" if self.deadline is None else f", and within {span(self.deadline)}"
            return (
                f"as few look-ups as make answers {self.accuracy:g} right, "
                f"at most {self.at_most} a window{within}"
            )
        if self.deadline is not None:
            return f"what can be looked up within {span(self.deadline)}"
        if self.fetches is None:
            return "no limit on look-ups"
        return f"{self.fetches} look-up{'s' * (self.fetches != 1)} a window"

    @property
    def seconds(self) -> float | None:
        """The deadline in seconds, if there is one."""
        return None if self.deadline is None else self.deadline / 1_000

    @staticmethod
    def of(spec: int | str | Mapping[str, Any] | Budget | None) -> Budget:
        """A budget from a number of fetches, from named settings, or from None for no limit.

        Files have no None: there ``"unlimited"`` is written, for all of it or for ``fetches``.
        """
        if isinstance(spec, Budget):
            return spec
        if not isinstance(spec, Mapping):
            return Budget(fetches=_fetches(spec))
        given = {n: _fetches(value) if n == "fetches" else value for n, value in spec.items()}
        return made_from(Budget, given, "budget")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


class Purse:
    """What is left to spend. The loop asks it before every election, and reports to it after.

    With carry-over it is a bucket of three windows' fetches, refilled by one window's at each
    window, so no run of windows costs more than as many budgets. Fetches that promise too little
    are put off: see :meth:`worthwhile`. One of several shards has its share of all that.
    """

    bucket = 3
    _start_cost = 0.02

    def __init__(self, budget: Budget, shard: Shard = _WHOLE) -> None:
        self.budget = budget
        self.shard = shard
        self.tokens = self._share(0)
        self.seconds_per_fetch = self._start_cost
        self._offers = np.zeros(_BINS)
        self._windows = 0.0
        self._window = 0

    def begin(self, window: int) -> None:
        """Make ready for a window."""
        self._window = window
        if not self.budget.carry_over:
            self.tokens = self._share(window)

    def _share(self, window: int) -> float:
        return float(self.shard.share(self.budget.limit or 0, window))

    def allowance(self, in_time: int | None = None) -> int:
        """How many keys may be fetched now; without a limit, more than any window has.

        ``in_time`` is how many the deadline leaves time for, where somebody else has found that.
        """
        if self.budget.unlimited:
            return sys.maxsize
        if self.budget.deadline is None:
            return int(self.tokens)
        if in_time is None:
            # One at least: a source that was slow once is found fast again only by asking.
            in_time = max(1, self.fetches_within(self.budget.deadline / 1_000))
        return in_time if self.budget.limit is None else min(in_time, int(self.tokens))

    def fetches_within(self, seconds: float) -> int:
        """For how many fetches so much time is enough, by what they cost so far."""
        return max(0, int(seconds / self.seconds_per_fetch))

    def worthwhile(self, worths: FloatArray) -> int:
        """Take note of what a window offers, best first, and say how many to fetch.

        In windows like the last twenty or so, just as many fetches are worth it as the purse can
        bear: the budget, if the bucket is half full; more if it is fuller, fewer if it is
        emptier. What the bucket can't take when it is refilled costs nothing, and is spent.
        """
        self._offers = _KEPT * self._offers + np.bincount(_bins(worths), minlength=_BINS)
        self._windows = _KEPT * self._windows + 1.0
        per_window = (self.budget.limit or 0) / self.shard.of
        free = int(self.tokens - (self.bucket - 1) * per_window)
        least = self._offered((per_window / 4 + self.tokens / 2) * self._windows)
        return min(len(worths), max(free, int(np.count_nonzero(worths >= least))))

    def spend(self, fetches: int, answered: int, seconds: float) -> None:
        """Take note of what one window cost, and prepare for the next."""
        self._learn_cost(fetches, answered, seconds)
        if self.budget.limit is None:
            return
        self._window += 1
        left = self.tokens - fetches if self.budget.carry_over else 0.0
        most = self.bucket * self.budget.limit / self.shard.of
        self.tokens = min(most, left + self._share(self._window))

    def spend_more(self, fetches: int, answered: int, seconds: float) -> None:
        """Take note of what the same window cost beside that."""
        self._learn_cost(fetches, answered, seconds)
        if self.budget.carry_over:
            self.tokens -= fetches

    def _learn_cost(self, fetches: int, answered: int, seconds: float) -> None:
        if fetches and 0 < seconds < math.inf:
            # Those that the deadline cut off took no time: what counts is how many came.
            cost = seconds / max(1, answered)
            self.seconds_per_fetch += 0.3 * (cost - self.seconds_per_fetch)

    def _offered(self, count: float) -> float:
        """The worth that this many offers reached; a bin's are taken for evenly spread."""
        above = np.cumsum(self._offers[::-1])[::-1]
        enough = np.flatnonzero(above >= count)
        if not len(enough):
            return float(10.0**_LOWEST)
        at = enough[-1]
        share = (above[at] - count) / max(self._offers[at], 1e-9)
        return float(10.0 ** (_LOWEST + (at + share) / _PER_DECADE))

    def snapshot(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "tokens": self.tokens,
            "seconds_per_fetch": self.seconds_per_fetch,
            "offers": self._offers.tolist() if self.budget.carry_over else [],
            "windows": self._windows,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """What :meth:`snapshot` gave."""
        self.tokens = state["tokens"]
        self.seconds_per_fetch = state["seconds_per_fetch"]
        self._offers = np.array(state["offers"] or np.zeros(_BINS), np.float64)
        self._windows = state["windows"]


def _fetches(given: Any) -> Any:
    return None if isinstance(given, str) and given == UNLIMITED else given


def _bins(worths: FloatArray) -> IntArray:
    """The bin of each worth, on a scale of powers of ten."""
    places = (np.log10(np.maximum(worths, 10.0**_LOWEST)) - _LOWEST) * _PER_DECADE
    return np.asarray(np.minimum(places, _BINS - 1).astype(np.int64))
