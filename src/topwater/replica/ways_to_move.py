"""How a value moves when it changes: a few ways, weighed for each key by how well they predicted.

============  =================================================  =====================
way           a changed value lies around                        and spreads
============  =================================================  =====================
``back``      μ + ρ(x − μ): on its way to what values are alike  by the residuals seen
``level``     a level of its own, the mean of what was seen      by those around levels
``walk``      x, where it was                                    more with more changes
``trend``     x + vt, for keys whose pace v is significant       more with a longer gap
============  =================================================  =====================

Each key has a scale of its own for each way, drawn towards that of all keys; what it is multiplied
with comes from the residuals seen; around levels, from those of values that were as near to theirs,
or as far: a spike comes back, and a calm value does not. A prior over ways is shared by all keys.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from typing import Any

import numpy as np
import pyarrow as pa

from topwater.model import FloatArray, IntArray
from topwater.replica.key_moves import (
    LOG,
    MEAN,
    PACED,
    PACES,
    RESIDUALS,
    SEEN,
    SIZE,
    KeyMoves,
)
from topwater.replica.look_ups import Polls
from topwater.replica.number_order import quantiles
from topwater.replica.possible_values import COUNT, FAR, LEVEL, MIDDLES, TREND, Moved
from topwater.replica.proportions import Proportions, log_likelihood, values_of
from topwater.replica.value_pairs import ValuePairs

RING = 256
_GREATEST = 1e140
LEVEL_PRIOR = 0.5
_MOST_SEEN = 20.0
_TRUST = (2.0, 50.0)
"""With how many residuals a key's own scale counts as much as that of all keys: what is tried."""

NEAR = 1.0
"""Up to how many times its scale a value is near its level."""

_MOST_WEIGHT = 3.0
_FEWEST_GAPS = 8.0
SIGNIFICANT = 2.0
_FADES = 0.9
_PACE_FADES = 0.85
_SCALE_FADES = 0.95
_SHARED_FADES = 0.999
_FIRST_PRIOR = np.array([0.4, 0.3, 0.25, 0.05])
_PRIOR_WEIGHT = 4.0
TINY_WEIGHT = 0.02
_PARTS = 2.0**30


class WaysToMove:
    """Learns how values move, and says where those of some keys could be."""

    def __init__(self) -> None:
        self._keys = KeyMoves()
        self._powers = Proportions()
        self._pairs = ValuePairs(self._powers)
        self.prior: FloatArray = _FIRST_PRIOR
        self._sizes = np.zeros((2, COUNT))
        self._scores = np.zeros((len(_TRUST), COUNT))
        self._rings = [np.empty(0)] * (COUNT + 1)
        # Of gaps between polls: their weight, sum and sum of squares.
        self._gaps = np.zeros(3)
        self._nodes: FloatArray | None = None

    @property
    def bytes_per_key(self) -> int:
        """What a key that was polled takes."""
        return self._keys.bytes_per_key

    @property
    def learnt(self) -> bool:
        """Whether a change was observed."""
        return self._pairs.learnt

    @property
    def moves(self) -> bool:
        """Whether values are known to differ, from each other or from what they were."""
        return any(np.any(ring != 0) for ring in self._rings)

    @property
    def mean(self) -> float:
        """What values come back to."""
        return self._pairs.mean

    @property
    def memory(self) -> float:
        """ρ: how much of its distance to the mean a value keeps when it changes."""
        return self._pairs.memory

    def start(self, values: FloatArray) -> None:
        """Begin with the values that the replica holds."""
        # Sorted, because sums depend on the order, and a restart changes it.
        values = np.sort(_moderate(values[np.isfinite(values)]))
        if not len(values):
            return
        self._powers.start(values)
        self._pairs.start(values)
        self._keys.take(powers=self._powers.on)
        apart = self._powers.taken(values) - self._pairs.middle
        apart = np.quantile(apart, (np.arange(32) + 0.5) / 32)
        size = float(np.abs(apart).mean())
        share = np.array([1.0, 0.5, 0.5, 0.5])
        self._sizes = np.array([np.full(COUNT, 4.0), 4.0 * size * share])
        self._rings = [_rounded(apart / size) if size > 0 else np.zeros(1)] * (COUNT + 1)
        self._nodes = None

    def at(
        self, slots: IntArray, values: FloatArray, changes: FloatArray, seconds: FloatArray
    ) -> Moved:
        """What these values could be, after a number of changes in a number of seconds."""
        keys, values = self._keys.read(slots), self._powers.taken(values)
        seconds = np.where(np.isfinite(seconds), seconds, 0.0)
        center, scale, ring = self._predicted(keys, values, changes, seconds)
        weight = self._weights(keys)
        unlikely = weight < TINY_WEIGHT
        center, scale = np.where(unlikely, values[:, None], center), np.where(unlikely, 0.0, scale)
        return Moved(center, scale, weight, ring, self._draws(), self._quantiles(), self._powers.on)

    def reaches(
        self, slots: IntArray, values: FloatArray, changes: FloatArray, seconds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Between which numbers these values could lie by now, whether they have changed or not.

        As wide as :meth:`Moved.range`, or wider.  O(slots), in one pass.
        """
        # Imported late: the compiler takes half a second to load.
        from topwater.replica.reach_kernels import Asked, Shared, reaches

        nodes = self._quantiles()
        trust = np.array(_TRUST)[np.argmax(self._scores, axis=0)]
        shared = Shared(
            self._powers.on,
            self._pairs.middle,
            self.memory,
            self._usual_square,
            self.prior,
            self._usual_size,
            trust,
            nodes.min(axis=1),
            nodes.max(axis=1),
        )
        rows, keys = self._keys.rows(slots)
        seconds = np.where(np.isfinite(seconds), seconds, 0.0)
        low, high = reaches(Asked(keys, rows, self._powers.taken(values), changes, seconds), shared)
        if not self._powers.on:
            return low, high
        return np.minimum(values, values_of(low)), np.maximum(values, values_of(high))

    def observe(self, polls: Polls, changes: FloatArray) -> None:
        """Learn from the values that changed, after as many changes as are to be expected."""
        finite = np.isfinite(polls.before) & np.isfinite(polls.after)
        moved, stayed = polls.changed & finite, ~polls.changed & finite
        if not finite.any():
            return
        before, after = _moderate(polls.before), _moderate(polls.after)
        if not self._pairs.begun:
            self.start(after[finite])
            return
        self._choose_scale(after[finite], before[moved], after[moved])
        pairs = before[moved], after[moved]
        before, after = self._powers.taken(before), self._powers.taken(after)
        gaps = polls.seconds[finite]
        self._gaps = self._gaps * _SHARED_FADES ** len(gaps) + np.array(
            [len(gaps), gaps.sum(), (gaps**2).sum()]
        )
        if moved.any():
            self._learn(
                polls.slots[moved],
                before[moved],
                after[moved],
                changes[moved],
                np.maximum(polls.seconds[moved], 1e-3),
            )
            self._pairs.observe(*pairs)
        if stayed.any():
            self._stay(polls.slots[stayed], after[stayed], polls.seconds[stayed])

    def pool(self, slots: IntArray) -> None:
        """Find the prior anew, from what is believed of these slots: an EM step."""
        slots = slots[self._keys.holds(slots)]
        weights = self._weights(self._keys.read(slots))
        shares = np.rint(weights * _PARTS).astype(np.int64).sum(axis=0) / _PARTS
        pooled = _PRIOR_WEIGHT * _FIRST_PRIOR + shares
        self.prior = np.asarray(pooled / pooled.sum())

    def reset(self, slots: IntArray) -> None:
        """Forget these slots."""
        self._keys.reset(slots)

    def snapshot(self, slots: IntArray) -> dict[str, pa.Array]:
        """Columns for the replica's table."""
        return self._keys.snapshot(slots)

    def restore(self, table: pa.Table, slots: IntArray) -> None:
        """Take over such columns."""
        self._keys.restore(table, slots)

    def facts(self) -> dict[str, Any]:
        """What was learnt of all keys together, for JSON."""
        return {
            "sums": self._pairs.facts(),
            "powers": self._powers.facts(),
            "prior": self.prior.tolist(),
            "sizes": self._sizes.tolist(),
            "scores": self._scores.tolist(),
            "gaps": self._gaps.tolist(),
            "rings": [_packed(ring) for ring in self._rings],
        }

    def restore_facts(self, facts: dict[str, Any]) -> None:
        """What :meth:`facts` gave."""
        self._pairs.restore_facts(facts["sums"])
        self._powers.restore_facts(facts["powers"])
        self._keys.take(powers=self._powers.on)
        self.prior, self._sizes = np.array(facts["prior"]), np.array(facts["sizes"])
        self._scores, self._gaps = np.array(facts["scores"]), np.array(facts["gaps"])
        self._rings = [
            np.frombuffer(b64decode(ring), np.float16).astype(np.float64) for ring in facts["rings"]
        ]
        self._nodes = None

    def admit(self, values: FloatArray) -> None:
        """Take note of values that are met: once one has no logarithm, none is taken any more."""
        self._choose_scale(values, values[:0], values[:0])

    def _choose_scale(self, met: FloatArray, before: FloatArray, after: FloatArray) -> None:
        """See which scale predicts better; what was learnt on one holds on the other."""
        was = self._powers.on
        if self._powers.admits(met) and len(before):
            self._powers.observe(before, after)
        if self._powers.on != was:
            by = self._powers.size
            self._sizes[1] *= by[int(self._powers.on)] / by[int(was)]
            self._keys.take(powers=self._powers.on)

    def _predicted(
        self, keys: FloatArray, values: FloatArray, changes: FloatArray, seconds: FloatArray
    ) -> tuple[FloatArray, FloatArray, IntArray]:
        """Around what each value lies if it changed, how far, and by which ring; by each way."""
        seen = np.maximum(keys[:, SEEN], 1.0)
        mean = np.where(keys[:, SEEN] > 0, keys[:, MEAN], values)
        level = (LEVEL_PRIOR * self._pairs.middle + seen * mean) / (LEVEL_PRIOR + seen)
        back = self._pairs.middle + self.memory * (values - self._pairs.middle)
        trend = values + self._pace(keys) * seconds
        center = np.stack([back, level, values, trend], axis=1)
        scale = self._scale(keys)
        ring = np.tile(np.arange(COUNT), (len(keys), 1))
        ring[:, LEVEL] = np.where(np.abs(values - level) > NEAR * scale[:, LEVEL], FAR, LEVEL)
        return center, self._factors(keys, seen, changes, seconds) * scale, ring

    def _factors(
        self, keys: FloatArray, seen: FloatArray, changes: FloatArray, seconds: FloatArray
    ) -> FloatArray:
        """How much farther than usual each value may lie."""
        level = np.sqrt(1.0 + 1.0 / (seen + LEVEL_PRIOR))
        trend = np.sqrt(1.0 + seconds**2 / (keys[:, PACED] + self._usual_square))
        return np.stack([np.ones(len(seen)), level, np.sqrt(changes), trend], axis=1)

    @property
    def _usual_square(self) -> float:
        """The mean square of gaps between polls; before the first, none is long."""
        if self._gaps[0] < _FEWEST_GAPS:
            return math.inf
        return max(float(self._gaps[2] / self._gaps[0]), 1e-6)

    @property
    def _usual_gap(self) -> float:
        return max(float(self._gaps[1] / max(self._gaps[0], 1e-9)), 1e-3)

    @property
    def _usual_size(self) -> FloatArray:
        """The mean residual of each way."""
        return np.asarray(self._sizes[1] / np.maximum(self._sizes[0], 1e-9))

    def _scale(self, keys: FloatArray, trust: int | None = None) -> FloatArray:
        """Of each key and way: its own residuals, and those of all keys."""
        counted = self._usual_size
        chosen = np.argmax(self._scores, axis=0) if trust is None else trust
        prior = np.array(_TRUST)[chosen]
        own, count = keys[:, SIZE : SIZE + COUNT], keys[:, RESIDUALS, None]
        return np.asarray((prior * counted + own) / (prior + count))

    def _weights(self, keys: FloatArray) -> FloatArray:
        """How likely each way is for each key."""
        log = keys[:, LOG : LOG + COUNT]
        weights = self.prior * np.exp(log - log.max(axis=1, keepdims=True, initial=-np.inf))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def _pace(self, keys: FloatArray) -> FloatArray:
        """The pace of each key, in units a second, where it is significant."""
        size = 1.25 * self._scale(keys)[:, TREND]
        pace = np.abs(keys[:, PACES]) / np.sqrt(np.maximum(keys[:, PACED], 1e-9))
        sure = (pace > SIGNIFICANT * size) & (keys[:, RESIDUALS] > 1.5)
        return np.where(sure, keys[:, PACES] / (keys[:, PACED] + self._usual_square), 0.0)

    def _stay(self, slots: IntArray, values: FloatArray, seconds: FloatArray) -> None:
        """Values that did not change have been at their level for the longer."""
        keys = self._keys.read(slots)
        first = keys[:, SEEN] == 0
        keys[first, SEEN], keys[first, MEAN] = 1.0, values[first]
        self._add_level(keys, values, np.minimum(seconds / self._usual_gap, _MOST_WEIGHT))
        self._keys.write(slots, keys)

    def _add_level(self, keys: FloatArray, values: FloatArray, weight: FloatArray) -> None:
        keys[:, SEEN] = np.minimum(keys[:, SEEN] + weight, _MOST_SEEN)
        keys[:, MEAN] += (values - keys[:, MEAN]) * weight / keys[:, SEEN]

    def _learn(
        self,
        slots: IntArray,
        before: FloatArray,
        after: FloatArray,
        changes: FloatArray,
        seconds: FloatArray,
    ) -> None:
        keys = self._keys.read(slots)
        first = keys[:, SEEN] == 0
        keys[first, SEEN], keys[first, MEAN] = 1.0, before[first]
        center, scale, ring = self._predicted(keys, before, changes, seconds)
        off = after[:, None] - center
        likely = log_likelihood(off, scale)
        factor = self._factors(keys, np.maximum(keys[:, SEEN], 1.0), changes, seconds)
        for trust in range(len(_TRUST)):
            own = log_likelihood(off, factor * self._scale(keys, trust))
            # Sums over polls come in the order of the polls, which is that of the election.
            self._scores[trust] = self._scores[trust] * _SHARED_FADES ** len(off) + own.sum(axis=0)
        size = np.abs(off) / factor
        log = _FADES * keys[:, LOG : LOG + COUNT] + likely
        keys[:, LOG : LOG + COUNT] = np.maximum(log - log.max(axis=1, keepdims=True), -60.0)
        keys[:, SIZE : SIZE + COUNT] = _SCALE_FADES * keys[:, SIZE : SIZE + COUNT] + size
        keys[:, RESIDUALS] = _SCALE_FADES * keys[:, RESIDUALS] + 1.0
        keys[:, PACED] = _PACE_FADES * keys[:, PACED] + seconds**2
        keys[:, PACES] = _PACE_FADES * keys[:, PACES] + seconds * (after - before)
        self._add_level(keys, after, np.minimum(seconds / self._usual_gap, 1.0))
        self._keys.write(slots, keys)
        kept = _SHARED_FADES ** len(off)
        self._sizes = self._sizes * kept + np.stack([np.full(COUNT, len(off)), size.sum(axis=0)])
        standard = np.divide(off, scale, out=np.zeros_like(off), where=scale > 0)
        standard = _rounded(standard)
        self._rings = [
            np.append(each, standard[ring == at])[-RING:] for at, each in enumerate(self._rings)
        ]
        self._nodes = None

    def _draws(self) -> tuple[FloatArray, ...]:
        return tuple(ring if len(ring) else np.zeros(1) for ring in self._rings)

    def _quantiles(self) -> FloatArray:
        # Rings are never written, but replaced.
        if self._nodes is None:
            self._nodes = np.stack([quantiles(np.sort(ring), MIDDLES) for ring in self._draws()])
        return self._nodes


def _packed(numbers: FloatArray) -> str:
    return b64encode(numbers.astype(np.float16).tobytes()).decode()


def _rounded(numbers: FloatArray) -> FloatArray:
    """As they are kept in a state."""
    return np.clip(numbers, -6e4, 6e4).astype(np.float16).astype(np.float64)


def _moderate(values: FloatArray) -> FloatArray:
    """Values whose sums and squares are numbers."""
    return np.clip(values, -_GREATEST, _GREATEST)
