"""Attempts: what may be spent on asking a source again, and what of it was."""

from __future__ import annotations

import math
import threading
from typing import NamedTuple


class Repeated(NamedTuple):
    """What was asked for again: how many look-ups, in how many requests, and what that cost."""

    look_ups: int = 0
    requests: int = 0
    cost: float = 0.0


class Attempts:
    """An allowance for asking one source again within one fetch, from several threads.

    Once it is closed nothing more can be taken: a thread that was given up asks no further.

    Parameters
    ----------
    look_ups, cost
        How many look-ups there may be, and what they may cost.
    price, request_price
        What a look-up costs, and what a request costs beside that.

    Examples
    --------
    >>> attempts = Attempts(cost=7.0, price=2.0, request_price=1.0)
    >>> attempts.take(3), attempts.take(1), attempts.close()
    (True, False, Repeated(look_ups=3, requests=1, cost=7.0))
    """

    def __init__(
        self,
        look_ups: float = math.inf,
        cost: float = math.inf,
        *,
        price: float = 1.0,
        request_price: float = 0.0,
    ) -> None:
        self.look_ups = look_ups
        self.cost = cost
        self._price = price
        self._request_price = request_price
        self._taken = Repeated()
        self._open = True
        self._lock = threading.Lock()

    def take(self, look_ups: int) -> bool:
        """Whether one more request with so many look-ups is allowed; then it is paid for."""
        with self._lock:
            before, price = self._taken, look_ups * self._price + self._request_price
            taken = Repeated(before.look_ups + look_ups, before.requests + 1, before.cost + price)
            # Amounts that are sums of prices are rounded.
            enough = taken.look_ups <= self.look_ups and taken.cost <= self.cost + 1e-9
            if self._open and enough:
                self._taken = taken
                return True
            return False

    def close(self) -> Repeated:
        """Allow no more; what was taken."""
        with self._lock:
            self._open = False
            return self._taken
