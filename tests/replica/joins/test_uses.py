"""How long a look-up is of use: the price at which it does not matter when a value is read."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.model import FloatArray
from topwater.replica.joins.uses import AHEAD, DECAY, Aged, uses
from topwater.replica.rate_beliefs import RateBeliefs
from topwater.windows import Windows, sliding, tumbling

STEP = 60_000
ALWAYS = np.ones(1)


def served(
    seconds: float, rate: int, windows: Windows, presence: FloatArray = ALWAYS, hinted: int = 0
) -> float:
    """Of a value of which it is known how often it changes."""
    rates = RateBeliefs(STEP)
    rates.prior = np.eye(len(rates.grid))[rate]
    aged = Aged(np.zeros(1, np.int64), np.array([seconds]), np.array([hinted]))
    return float(uses(rates, aged, presence, windows)[0])


def stays(rate: int) -> float:
    return float(np.exp(-RateBeliefs(STEP).grid[rate] * STEP / 1_000))


@pytest.mark.parametrize("rate", [2, 12, 18])
@pytest.mark.parametrize("past", [1, 3, 20])
def test_at_this_price_two_periods_are_worth_as_much(rate: int, past: int) -> None:
    same = stays(rate)
    index = served(60.0 * past, rate, tumbling(STEP)) * (1 - same**past)

    def worth(period: int) -> float:
        """What reading every so many windows brings for ever, less what it costs."""
        right = sum((DECAY * same) ** ahead for ahead in range(period))
        return (right - index) / (1 - DECAY**period)

    assert worth(past) == pytest.approx(worth(past + 1), rel=1e-9)


def test_what_was_never_read_is_of_use_until_it_changes() -> None:
    same = stays(14)
    expected = sum((DECAY * same) ** ahead for ahead in range(AHEAD))
    assert served(np.inf, 14, tumbling(STEP)) == pytest.approx(expected)


def test_the_longer_ago_the_more_and_slow_ones_more_than_fast_ones() -> None:
    found = [served(60.0 * past, 8, tumbling(STEP)) for past in (1, 4, 16, np.inf)]
    assert found == sorted(found)
    assert found[0] == pytest.approx(1.0)
    assert served(np.inf, 4, tumbling(STEP)) > 2 * served(np.inf, 20, tumbling(STEP))


def test_what_is_soon_out_of_all_windows_is_of_use_that_long() -> None:
    rarely = np.array([0.0])
    assert served(np.inf, 0, sliding(3 * STEP, STEP), rarely) < 3
    assert served(np.inf, 0, tumbling(STEP), rarely) == 1.0


def test_what_was_read_just_now_is_no_matter() -> None:
    assert served(0.0, 12, tumbling(STEP)) == 1.0
