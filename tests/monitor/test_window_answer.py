"""A window's result as an answer: ranks, signs, and what is told of the remote side."""

from __future__ import annotations

from typing import Any

import numpy as np

from topwater.model import Counts, Freshness, Items, LookUp, Window
from topwater.monitor.open_windows import WindowResult
from topwater.monitor.window_answer import make_answer
from topwater.query import TopKQuery
from topwater.replica import Ranking
from topwater.replica.look_ups import LookUps
from topwater.scoring import Formula
from topwater.windows import tumbling

ITEMS = Items(np.array([5.0, 3.0]), np.array([12, 14]), np.array(["b", "a"], object))


def query_of(**changes: Any) -> TopKQuery:
    plain: dict[str, Any] = {
        "key": "who",
        "time": "at",
        "window": tumbling(10),
        "score": "value",
        "k": 2,
    }
    return TopKQuery(**(plain | changes))


def remote_query() -> TopKQuery:
    return query_of(take={"n": "count"}, score="n + remote", refresh="remote")


def test_ranks_count_from_one_and_counts_are_added() -> None:
    result = WindowResult(ITEMS, 7, Counts(bad_score=1))
    answer = make_answer(query_of(), 1, result, Counts(events=4, bad_score=2))
    assert answer.window == Window(1, 10, 20)
    assert [(row.rank, row.key, row.score, row.time) for row in answer.rows] == [
        (1, "b", 5.0, 12),
        (2, "a", 3.0, 14),
    ]
    assert (answer.exact, answer.candidates, answer.freshness) == (True, 7, None)
    assert answer.counts == Counts(events=4, bad_score=3)


def test_where_the_smallest_are_best_scores_get_their_sign_back() -> None:
    query = query_of(score=Formula("value", order="smallest"))
    assert make_answer(query, 0, WindowResult(ITEMS, 2), Counts()).scores == [-5.0, -3.0]


def test_what_the_stream_contributed_is_in_the_order_of_take() -> None:
    values = {"n": np.array([2.0, 1.0]), "v": np.array([9.0, 8.0])}
    answer = make_answer(query_of(), 0, WindowResult(ITEMS, 2, values=values), Counts())
    assert [row.values for row in answer.rows] == [(2.0, 9.0), (1.0, 8.0)]


def test_an_empty_window_of_a_query_with_a_remote_part_is_right() -> None:
    answer = make_answer(remote_query(), 0, WindowResult(Items.empty(), 0), Counts())
    assert answer.exact
    assert (len(answer.rows), len(answer.problems), len(answer.looked_up)) == (0, 0, 0)
    assert answer.freshness == Freshness(0, 0, 0, 1.0, 1.0, missed=False)


def test_the_remote_side_is_told_row_by_row_and_for_the_window() -> None:
    looked_up = (LookUp("b", None, 4.0, ok=True),)
    fresh = Freshness(fetched=2, failed=1, bad=0, precision=0.5, ndcg=0.75, missed=True)
    ranking = Ranking(
        rows=np.array([1, 0]),
        scores=ITEMS.score,
        remote=np.array([4.0, 2.5]),
        age=np.array([0, -1]),
        confidence=np.array([1.0, 0.0]),
        assumed=[None, "server"],
        exact=False,
        look_ups=LookUps(
            np.array(["b", "a", "c"], object), 1, 0.1, (("server", 1),), looked_up, (("null", 1),)
        ),
        freshness=fresh,
    )
    answer = make_answer(remote_query(), 0, WindowResult(ITEMS, 2, ranking=ranking), Counts())
    assert [(row.remote, row.age, row.confidence, row.assumed) for row in answer.rows] == [
        (4.0, 0, 1.0, None),
        (2.5, None, 0.0, "server"),
    ]
    assert (answer.exact, answer.freshness) == (False, fresh)
    assert (answer.problems, answer.looked_up) == ((("null", 1), ("server", 1)), looked_up)


def test_a_remote_value_that_is_not_known_is_none() -> None:
    ranking = Ranking(
        rows=np.array([1, 0]),
        scores=ITEMS.score,
        remote=np.array([np.nan, np.nan]),
        age=np.array([-1, -1]),
        confidence=np.array([0.0, 0.0]),
        assumed=["no_value", "never"],
        exact=False,
        look_ups=LookUps(np.array(["b"], object), 1, lacks=(("no_value", 1),)),
        freshness=Freshness(1, 0, 1, 0.0, 0.0, missed=False, nothing_usable=True),
    )
    answer = make_answer(remote_query(), 0, WindowResult(ITEMS, 2, ranking=ranking), Counts())
    assert [(row.remote, row.assumed) for row in answer.rows] == [
        (None, "no_value"),
        (None, "never"),
    ]
    assert "nothing usable came from the source" in repr(answer)
    assert "1 × nothing where the value should be" in repr(answer)
    assert "%" not in repr(answer)
