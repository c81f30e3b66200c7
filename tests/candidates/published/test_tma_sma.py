"""TMA and SMA: the published steps, and how often each searches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.figures import PRIPUZIC, arrivals, pripuzic
from topwater.candidates.published.tma_sma import Indexed, sma, tma
from topwater.model import Items
from topwater.windows import Windows, counting

Maker = Callable[[Windows, int], Indexed]

TOP = {1: [1], 2: [2], 3: [2], 4: [2], 5: [2], 6: [2], 7: [2], 8: [3], 9: [7], 10: [7], 11: [7]}
SKYBAND = {1: [1], 2: [2], 8: [3], 9: [7], 10: [7], 11: [7]} | {n: [2, 3] for n in range(3, 8)}


def play(lst: Indexed) -> dict[int, tuple[list[int], int]]:
    """What is remembered after each step of the example, and how many searches there were."""
    told = {}
    for step in range(1, 12):
        window = max(0, step - PRIPUZIC.width)
        lst.expire(window - 1)
        lst.add(pripuzic(step))
        assert lst.top(window).key.tolist() == TOP[step]
        lst.check()
        told[step] = (lst.remembered().key.tolist(), lst.recomputations)
    return told


def test_tma_step_by_step() -> None:
    told = play(tma(PRIPUZIC, 1))
    assert {step: keys for step, (keys, _) in told.items()} == TOP
    assert [told[step][1] for step in (1, 7, 8, 9, 11)] == [1, 1, 2, 3, 3]


def test_sma_step_by_step() -> None:
    told = play(sma(PRIPUZIC, 1))
    assert {step: keys for step, (keys, _) in told.items()} == SKYBAND
    assert [told[step][1] for step in (1, 8, 9, 11)] == [1, 1, 2, 2]


def test_sma_searches_less_often_than_tma() -> None:
    rng = np.random.default_rng(3)
    windows = counting(100, 10)
    lists = tma(windows, 5), sma(windows, 5)
    for window in range(400):
        times = np.arange(1, 101) if window == 0 else np.arange(91, 101) + 10 * window
        batch = windows.group(Items(rng.random(len(times)), times, times))
        for lst in lists:
            lst.add(batch)
            lst.top(window)
            lst.expire(window)
    often, seldom = (lst.recomputations for lst in lists)
    assert 1 < seldom < often / 3


@pytest.mark.parametrize("make", [tma, sma])
def test_nothing_is_searched_while_arrivals_fill_the_answer(
    make: Maker,
) -> None:
    windows = counting(4, 2)
    lst = make(windows, 2)
    for window in range(20):
        first = 1 if window == 0 else 2 * window + 3
        times = range(first, 2 * window + 5)
        lst.add(arrivals(windows, *[(float(time), time, time) for time in times]))
        assert lst.top(window).key.tolist() == [2 * window + 4, 2 * window + 3]
        lst.expire(window)
    assert lst.recomputations == 1


@pytest.mark.parametrize("make", [tma, sma])
def test_a_tie_with_the_threshold_is_decided_by_time_and_key(
    make: Maker,
) -> None:
    windows = Windows(10, 5)
    lst = make(windows, 1)
    lst.add(arrivals(windows, (5, 6, 30)))
    lst.top(0)
    lst.add(arrivals(windows, (5, 6, 40), (5, 5, 10)))
    assert lst.top(0).key.tolist() == [30]
    lst.add(arrivals(windows, (5, 6, 20)))
    lst.check()
    assert lst.top(0).key.tolist() == [20]
    assert lst.recomputations == 1


def test_check_notices_a_lost_candidate() -> None:
    for lst in (tma(PRIPUZIC, 2), sma(PRIPUZIC, 2)):
        for step in range(1, 5):
            lst.add(pripuzic(step))
        lst.top(0)
        lst.check()
        lst._memory.expire(1)
        with pytest.raises(AssertionError, match=r"not the (best|k-skyband)"):
            lst.check()
