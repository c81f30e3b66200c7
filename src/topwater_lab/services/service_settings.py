"""How an example service behaves, in one frozen value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from topwater.errors import QueryError

FAULTS = {
    "hangs": "takes the request and never answers",
    "slow": "answers after two seconds",
    "drips": "sends its answer byte by byte",
    "limited": "status 429",
    "limited-wait": "status 429, and asks to wait for a second",
    "500": "status 500",
    "503": "status 503, and asks to wait for a second",
    "invalid-json": "an answer that breaks off",
    "wrong-type": "text where values should be",
    "huge": "64 MiB of nothing",
    "missing": "every other key is left out",
    "extra": "keys that nobody asked for",
    "redirect": "sends the client to another host",
    "dropped": "ends the connection in the middle of its answer",
}
"""In what ways a service can misbehave that is there at all."""


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """A service that knows how many followers users have.

    Parameters
    ----------
    port
        On 127.0.0.1; 0 for any that is free.
    users
        How many users there are. Their keys are the whole numbers from 1000 on.
    seed
        Another seed, other users.
    latency
        Seconds before each answer.
    rate, burst
        How many requests a second are answered, and how many at once after a pause: by default
        a tenth of the rate. Others get status 429. None answers all.
    faults
        The share of requests that get a fault, a different one each time.
    fault
        One of :data:`FAULTS`, for every request.
    speed
        How fast followers come and go: 1 for the pace of the recorded evening, 0 for not at all.
    """

    port: int = 0
    users: int = 400
    seed: int = 0
    latency: float = 0.0
    rate: float | None = None
    burst: int | None = None
    faults: float = 0.0
    fault: str | None = None
    speed: float = 1.0

    def __post_init__(self) -> None:
        for name, least, top in (("port", 0, 65_535), ("users", 1, 100_000), ("seed", 0, None)):
            _require(name, getattr(self, name), least, top, whole=True)
        for name, most in (("latency", 3_600), ("faults", 1), ("speed", 1e6)):
            _require(name, getattr(self, name), 0, most)
        if self.rate is not None:
            _require("rate", self.rate, 1e-3, 1e6)
        if self.burst is not None:
            _require("burst", self.burst, 1, None, whole=True)
        if self.fault is not None and self.fault not in FAULTS:
            raise QueryError(
                f"{self.fault!r} is unknown", field="fault", fix=f"use one of: {', '.join(FAULTS)}"
            )

    @property
    def most_at_once(self) -> int:
        """The burst that is meant."""
        return self.burst or max(1, math.ceil((self.rate or 1) / 10))


def _require(
    name: str, value: Any, least: float, most: float | None, *, whole: bool = False
) -> None:
    kinds = int if whole else (int, float)
    fits = isinstance(value, kinds) and not isinstance(value, bool) and value >= least
    if not fits or (most is not None and value > most):
        until = "" if most is None else f" to {most}"
        raise QueryError(
            f"must be {'a whole' if whole else 'a'} number from {least}{until}, not {value!r}",
            field=name,
            fix="leave it out for the default",
        )
