"""How often a service lets itself be asked, and how often it was."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Gate:
    """Lets ``rate`` requests a second pass, and ``burst`` at once after a pause.

    Examples
    --------
    >>> gate = Gate(rate=2, burst=1)
    >>> [gate.wait(at) for at in (0.0, 0.25, 0.5)]
    [0.0, 0.25, 0.0]
    >>> gate.figures(1.0)["peak"], gate.figures(1.0)["refused"]
    (2, 1)
    """

    rate: float | None = None
    burst: int = 1
    accepted: int = 0
    refused: int = 0
    keys: int = 0
    elsewhere: int = 0
    peak: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    _free_at: float = float("-inf")
    _last_second: deque[float] = field(default_factory=deque)

    def wait(self, now: float) -> float:
        """0 for a request that may pass; otherwise how many seconds it came too early."""
        if self.rate is not None:
            # The time at which the bucket would be full again.
            due = max(self._free_at, now) + 1 / self.rate
            early = due - now - self.burst / self.rate
            if early > 1e-9:
                self.refused += 1
                return early
            self._free_at = due
        self.accepted += 1
        self._last_second.append(now)
        while self._last_second[0] <= now - 1:
            self._last_second.popleft()
        self.peak = max(self.peak, len(self._last_second))
        return 0.0

    def figures(self, seconds: float) -> dict[str, Any]:
        """What happened so far: ``peak`` is the most that passed within one second."""
        return {
            "seconds": seconds,
            "rate": self.rate,
            "burst": self.burst,
            "accepted": self.accepted,
            "refused": self.refused,
            "peak": self.peak,
            "keys": self.keys,
            "elsewhere": self.elsewhere,
            "faults": dict(self.faults),
        }
