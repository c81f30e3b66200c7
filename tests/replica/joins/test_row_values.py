"""Scores of rows with several remote values, and what makes an answer certain."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.joined_rows import K, scene


def test_what_fails_its_filter_has_no_score() -> None:
    read = {"price": {0: 2.0, 1: 3.0, 2: 4.0}, "trust": {0: 1.0, 1: 0.1, 2: 1.0}}
    values = scene("sold * price", "trust > 0.2", [1, 1, 1], read)
    assert np.nan_to_num(values.scores(), nan=-1).tolist() == [2.0, -1.0, 4.0]


def test_rows_that_fail_by_the_stream_alone_can_not_pass() -> None:
    values = scene("sold * price", "sold > 2 and trust > 0", [1, 3, 9], {})
    assert values.could_pass().tolist() == [False, True, True]


def test_a_bounded_value_need_not_be_read_to_be_certain() -> None:
    read = {"price": {0: 9.0, 1: 8.0, 2: 1.0}, "trust": {0: 1.0, 1: 1.0}}
    unread = scene("price * clip(trust, 0, 1)", None, [1, 1, 1], read)
    assert unread.all_settled(unread.scores(), K)
    open_ended = scene("price * trust", None, [1, 1, 1], read)
    assert not open_ended.all_settled(open_ended.scores(), K)
    barred = scene("price * trust", "price > 2", [1, 1, 1], read)
    assert barred.all_settled(barred.scores(), K)


numbers = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 3.0])
known = st.dictionaries(st.integers(0, 3), numbers, max_size=4)


@given(
    st.sampled_from(["price * trust", "sold + clip(trust, 0, 1) + price", "min(price, 2) + sold"]),
    st.sampled_from([None, "price > 0", "trust > 0 and price > 0", "trust > 0 or sold > 1"]),
    st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=4, max_size=4),
    known,
    known,
)
def test_a_certain_answer_is_right_whatever_was_not_read(
    score: str, where: str | None, sold: list[float], price: dict[int, float], trust: Any
) -> None:
    values = scene(score, where, sold, {"price": price, "trust": trust})
    scores = values.scores()
    if not values.all_settled(scores, K):
        return
    shown = values.view.best_first(scores, K)
    for others in itertools.product([-5.0, 0.0, 0.5, 5.0], repeat=2):
        full = {
            "sold": np.array(sold),
            "price": np.array([price.get(row, others[0]) for row in range(4)]),
            "trust": np.array([trust.get(row, others[1]) for row in range(4)]),
        }
        truth = values.judge.scores(full)
        assert values.view.best_first(truth, K).tolist() == shown.tolist()
        assert truth[shown].tolist() == scores[shown].tolist()
