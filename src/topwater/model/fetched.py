"""What a source gave."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from topwater.model.array_types import BoolArray, FloatArray, KeyArray


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a source gave for some keys, in their order.

    Attributes
    ----------
    values
        One number a key; NaN where there is none.
    ok
        Whether the key was answered. An answered key with NaN has no value on the remote side.
    seconds
        How long it took.
    why
        For keys that were not answered, what went wrong: one of
        :data:`~topwater.problems.Problem`, or ``""`` where the source can't tell. For keys that
        were answered without a number, why: one of :data:`~topwater.problems.Lack`; ``""`` is
        taken as ``"not_found"``. None if nothing is told of any key.
    wait
        After how many seconds the source asks to be asked again, if it said so.
    """

    values: FloatArray
    ok: BoolArray
    seconds: float = 0.0
    why: KeyArray | None = None
    wait: float | None = None

    def problems(self) -> dict[str, int]:
        """How many keys failed, by what went wrong."""
        if self.why is None:
            lost = int(np.count_nonzero(~self.ok))
            return {"": lost} if lost else {}
        return dict(sorted(Counter(self.why[~self.ok].tolist()).items()))

    def lacks(self) -> dict[str, int]:
        """How many keys were answered without a number, by why."""
        without = self.ok & ~np.isfinite(self.values)
        lost = int(np.count_nonzero(without))
        if self.why is None:
            return {"not_found": lost} if lost else {}
        told = (each or "not_found" for each in self.why[without].tolist())
        return dict(sorted(Counter(told).items()))
