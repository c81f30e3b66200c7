"""What a change of remote values makes of objects: new scores inside a list, bounds outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from topwater.candidates.objects import UNSCORED, UNSEEN, Candidates, Traces, places, stack

if TYPE_CHECKING:
    from topwater.candidates.rescorable import Score
    from topwater.model import FloatArray, IntArray, KeyArray
    from topwater.windows import Windows


def rescored(kept: Candidates, which: IntArray, score: Score) -> Candidates:
    """The same objects with the scores that their stream parts now give."""
    if not len(kept):
        return kept
    low = score(kept.stream, which)
    same = (kept.stream == kept.stream_most).reshape(len(kept), -1).all(axis=1)
    # Rounding must not make the upper bound the lower one.
    most = np.where(same, low, np.maximum(low, at_most(score(kept.stream_most, which))))
    return Candidates(low, kept.time, kept.key, kept.stream, most, kept.stream_most, kept.vague)


def at_most(scores: FloatArray) -> FloatArray:
    """Upper bounds, from the scores of the greatest stream parts.

    Where that has no score, a lesser one may have any: ``-log(5 - x)`` rises, and ends at 5.
    """
    return np.where(scores <= UNSCORED, np.inf, scores)


def changed(
    kept: Candidates,
    keys: KeyArray,
    score: Score,
    times: IntArray | None,
    traces: Traces,
    windows: Windows,
    current: int,
) -> tuple[Candidates, Traces]:
    """The objects of changed keys, to be inserted again; and the traces of those that can't be.

    Parameters
    ----------
    kept
        The objects of those keys that the list has.
    keys, score, times
        As handed to ``rescore``.
    traces
        What is known of the forgotten objects.
    windows, current
        The current window tells which times are alive.
    """
    again = rescored(kept, places(keys, kept.key), score)
    if traces.forgot_nothing:
        return again, traces
    time = np.full(len(keys), UNSEEN) if times is None else times
    pane = windows.pane_of(time)
    # A later event than any that the list has seen: of the ones before it nothing is known.
    nowhere = (time == UNSEEN) | (pane > windows.panes_in(current)[1])
    outside = places(kept.key, keys) < 0
    found = outside & ~nowhere & traces.forgot_some_of(pane)
    doubtful = outside & nowhere
    doubtful[places(keys, kept.key[kept.vague])] = True
    return (
        stack([again, supposed(keys, score, time, traces, pane, np.flatnonzero(found))]),
        doubted(keys, score, traces, np.flatnonzero(doubtful)),
    )


def supposed(
    keys: KeyArray,
    score: Score,
    times: IntArray,
    traces: Traces,
    panes: IntArray,
    which: IntArray,
) -> Candidates:
    """Objects that live outside the list, with the bounds of their scores.

    The lower bound is the published one, by the least stream part of all live objects. The upper
    one is ours, by the greatest of those that were forgotten in the object's own pane.
    """
    low = np.repeat(traces.least(), len(which), axis=0)
    high = traces.high[np.searchsorted(traces.pane, panes[which])]
    unscored, sure = np.zeros(len(which)), np.zeros(len(which), np.bool_)
    found = Candidates(unscored, times[which], keys[which], low, unscored, high, sure)
    return rescored(found, which, score)


def doubted(keys: KeyArray, score: Score, traces: Traces, which: IntArray) -> Traces:
    """The traces, after objects of which not even the window is known may have risen."""
    if not len(which):
        return traces
    high = np.repeat(traces.greatest_forgotten(), len(which), axis=0)
    return traces.doubt(keys[which], at_most(score(high, which)))
