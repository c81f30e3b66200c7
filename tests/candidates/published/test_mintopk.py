"""MinTopk: the published example number by number, its lemmas, and where we read it differently."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.figures import YANG, arrivals, yang
from topwater.candidates.published.mintopk import SuperTopK
from topwater.candidates.published.pretopk import Predicted
from topwater.model import Items
from topwater.windows import Windows, counting


def at_w0() -> SuperTopK:
    lst = SuperTopK(YANG, 3)
    lst.add(yang(1, 16))
    return lst


def at_w1() -> SuperTopK:
    lst = at_w0()
    lst.expire(0)
    lst.add(yang(17, 20))
    return lst


def test_figure_4_marks_and_pointers_at_w0() -> None:
    lst = at_w0()
    lst.check()
    assert lst.marks() == [(1, 0, 0), (6, 0, 1), (14, 0, 3), (7, 1, 1), (15, 2, 3), (16, 2, 3)]
    assert lst.lower_bounds() == {0: 14, 1: 7, 2: 16, 3: 16}


@pytest.mark.parametrize(
    ("window", "keys"), [(0, [1, 6, 14]), (1, [6, 14, 7]), (2, [14, 15, 16]), (3, [14, 15, 16])]
)
def test_figure_1_predicted_answers_at_w0(window: int, keys: list[int]) -> None:
    assert at_w0().top(window).key.tolist() == keys


def test_figure_5_after_the_slide() -> None:
    lst = at_w0()
    lst.expire(0)
    lst.check()
    assert lst.marks() == [(6, 1, 1), (14, 1, 3), (7, 1, 1), (15, 2, 3), (16, 2, 3)]
    assert lst.lower_bounds() == {1: 7, 2: 16, 3: 16}


def test_figure_5_after_four_new_objects() -> None:
    lst = at_w1()
    lst.check()
    assert lst.marks() == [(17, 1, 4), (6, 1, 1), (14, 1, 3), (15, 2, 3), (18, 4, 4), (20, 4, 4)]
    assert lst.lower_bounds() == {1: 14, 2: 15, 3: 15, 4: 20}
    assert lst.top(1).key.tolist() == [17, 6, 14]


def test_figure_5_one_object_at_a_time() -> None:
    """Object 17 pushes 7 and 16 out; 18 to 20 find only the newest window open."""
    lst = at_w0()
    lst.expire(0)
    lst.add(yang(17, 17))
    assert lst.marks() == [(17, 1, 4), (6, 1, 1), (14, 1, 3), (15, 2, 3)]
    assert lst.lower_bounds() == {1: 14, 2: 15, 3: 15}
    for number in (18, 19):
        lst.add(yang(number, number))
        lst.check()
    assert lst.lower_bounds()[4] == 19
    lst.add(yang(20, 20))
    assert lst.lower_bounds()[4] == 20
    assert 19 not in [key for key, _, _ in lst.marks()]


def test_candidates_that_end_earlier_may_stand_above_the_lowest() -> None:
    """Lemma 4.5 read literally fails here: directly above the lowest of W2 stands 2, then 1.

    ::

        score 9    key 0, lives until W2
        score 8    key 1, until W0: the lowest of W0
        score 7    key 2, until W1: the lowest of W1
        score 6    key 3, until W2: the lowest of W2
    """
    windows = Windows(3, 1)
    lst = SuperTopK(windows, 2)
    lst.add(arrivals(windows, (9, 3, 0), (8, 1, 1), (7, 2, 2), (6, 3, 3)))
    lst.check()
    assert lst.marks() == [(0, 0, 2), (1, 0, 0), (2, 1, 1), (3, 2, 2)]
    assert lst.lower_bounds() == {0: 1, 1: 2, 2: 3}
    lst.add(arrivals(windows, (7.5, 3, 4)))
    lst.check()
    assert lst.marks() == [(0, 0, 2), (1, 0, 0), (4, 1, 2)]
    assert lst.lower_bounds() == {0: 1, 1: 4, 2: 4}


@pytest.mark.parametrize("drift", [-1.0, 0.0, 1.0])
def test_it_keeps_exactly_what_some_window_predicts(drift: float) -> None:
    """Theorem 3.1: MinTopk and PreTopk hold the same minimal set."""
    rng = np.random.default_rng(5)
    windows = counting(100, 10)
    one, many = SuperTopK(windows, 4), Predicted(windows, 4)
    for window in range(30):
        times = np.arange(1, 101) if window == 0 else np.arange(1, 11) + 90 + 10 * window
        scores = rng.random(len(times)) * 20 + drift * times
        batch = windows.group(Items(scores, times, times))
        for lst in (one, many):
            lst.add(batch)
        one.check()
        assert list(one) == list(many)
        assert len(one) <= 4 * windows.overlap
        for lst in (one, many):
            lst.expire(window)


def test_monotone_streams_are_the_extremes() -> None:
    """Falling scores: k per window of the future. Rising scores: the last k will do."""
    windows = counting(40, 4)
    times = np.arange(1, 41)
    for scores, size in ((-times, 3 * 10), (times, 3)):
        lst = SuperTopK(windows, 3)
        lst.add(windows.group(Items(scores.astype(np.float64), times, times)))
        assert len(lst) == size


def test_the_average_size_is_k_times_a_harmonic_number() -> None:
    """In random order. Theorem 3.2 says 2k, but a later window loses a larger share each time.

    Of the k members of a window that n panes reach, k/n leave with the oldest of these panes, and
    as many others replace them: k (1 + 1/2 + ... + 1/n) candidates for n panes.
    """
    rng = np.random.default_rng(1)
    windows = counting(1000, 100)
    lst = SuperTopK(windows, 10)
    sizes = []
    for window in range(200):
        times = np.arange(1, 1001) if window == 0 else np.arange(901, 1001) + 100 * window
        lst.add(windows.group(Items(rng.random(len(times)), times, times)))
        sizes.append(len(lst))
        lst.expire(window)
    assert np.mean(sizes) == pytest.approx(10 * sum(1 / n for n in range(1, 11)), rel=0.03)


def test_a_far_jump_takes_no_time() -> None:
    lst = at_w0()
    lst.expire(10**15)
    lst.check()
    assert len(lst) == 0
    assert lst.lower_bounds() == {}


def test_equal_items_each_count() -> None:
    lst = SuperTopK(YANG, 3)
    lst.add(arrivals(YANG, *[(7, 2, 1)] * 5))
    lst.check()
    assert lst.top(0).key.tolist() == [1, 1, 1]
    assert len(lst) == 3


def test_check_notices_a_wrong_mark() -> None:
    lst = at_w1()
    next(iter(lst._list)).start += 1
    with pytest.raises(AssertionError, match="current window"):
        lst.check()


def test_check_notices_a_wrong_pointer() -> None:
    lst = at_w1()
    lst._lowest[2] = lst._lowest[1]
    with pytest.raises(AssertionError, match="pointer of window 2"):
        lst.check()
