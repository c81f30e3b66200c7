"""One window before and after its values were refreshed: what goes in, and what comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from topwater.model import FloatArray, Freshness, IntArray, KeyArray, Millis
from topwater.replica.look_ups import LookUps


@dataclass(frozen=True, slots=True)
class WindowView:
    """What the stream says of one window: its keys, and what each contributes."""

    index: int
    end: Millis
    keys: KeyArray
    values: Mapping[str, FloatArray]
    last_event: IntArray

    def best_first(self, scores: FloatArray) -> IntArray:
        """Rows with a score, best first: score, then the younger, then the smaller key."""
        order = np.lexsort((self.keys, -self.last_event, -scores))
        return order[np.isfinite(scores[order])]


@dataclass(frozen=True, slots=True)
class Ranking:
    """One window's best keys, and what is known of how right they are.

    Attributes
    ----------
    rows
        Rows of the view, best first, at most k.
    scores, remote, age, confidence
        Per row: the score (larger is better), the remote value, how long ago it was fetched (in
        milliseconds; -1 for never), and the probability that it is still right. A remote value
        that is not a number is not known at all.
    assumed
        Per row: None if the source gave the remote value, or else why it did not.
    exact
        Whether every key of the window was read for this answer.
    look_ups
        What was asked for it, and what came.
    freshness
        How many look-ups that were, and how right the answer is estimated to be.
    unscored
        How many keys have no score, although a remote value is known or taken for them.
    forgotten
        How many keys were forgotten after it, to stay within the replica's limits.
    """

    rows: IntArray
    scores: FloatArray
    remote: FloatArray
    age: IntArray
    confidence: FloatArray
    assumed: Sequence[str | None]
    exact: bool
    look_ups: LookUps
    freshness: Freshness
    unscored: int = 0
    forgotten: int = 0
