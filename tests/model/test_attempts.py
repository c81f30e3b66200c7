"""What may be spent on asking again is not exceeded, and what was spent is known."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from topwater.model import Attempts, Repeated


def test_each_request_is_paid_with_its_look_ups() -> None:
    attempts = Attempts(look_ups=4, cost=20.0, price=3.0, request_price=1.0)
    assert [attempts.take(2), attempts.take(3), attempts.take(2)] == [True, False, True]
    assert not attempts.take(1)
    assert attempts.close() == Repeated(4, 2, 14.0)


def test_what_is_closed_allows_nothing() -> None:
    attempts = Attempts()
    assert attempts.take(1_000)
    assert attempts.close() == attempts.close() == Repeated(1_000, 1, 1_000.0)
    assert not attempts.take(1)


def test_threads_together_take_no_more_than_there_is() -> None:
    attempts = Attempts(cost=100.0)
    with ThreadPoolExecutor(8) as pool:
        taken = [*pool.map(lambda _: attempts.take(3), range(200))]
    assert sum(taken) == 33
    assert attempts.close().cost == 99.0
