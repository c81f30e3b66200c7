"""Objects one at a time: their order, the time tree, the top-k tree and the result stream."""

from __future__ import annotations

import pytest

from topwater.candidates.published.object_trees import Ages, ResultStream, Seen, Trees, by_rank
from topwater.candidates.published.skyband import Relaxed


class Hoarding(Trees):
    """It drops what left the top-k, and never tidies up."""

    def _drop(self) -> None:
        for each in [each for each in self._top if each.stamp <= self.until]:
            self._top.remove(each)

    def _tidy(self) -> None:
        pass


def trees(*scores: float, k: int = 2) -> Hoarding:
    """The scores, with stamps from 1."""
    found = Hoarding(k)
    for stamp, score in enumerate(scores, 1):
        found.add(Seen(score, stamp, stamp))
        found.fill_top()
    return found


def keys(objects: list[Seen]) -> list[int]:
    return [each.key for each in objects]


def test_rank_is_score_then_youth_then_key_then_arrival() -> None:
    right = [
        Seen(2.0, "z", stamp=1),
        Seen(1.0, "z", stamp=1, time=9),
        Seen(1.0, "a", stamp=5),
        Seen(1.0, "b", stamp=5),
        Seen(1.0, "b", stamp=5),
    ]
    assert list(by_rank(reversed(right))) == right
    assert (right[1].score, right[1].time, right[1].key) == (1.0, 9, "z")


def test_what_left_comes_out_oldest_first() -> None:
    ages, objects = Ages(), [Seen(1.0, key, stamp) for key, stamp in enumerate([5, 2, 9, 2])]
    for each in objects:
        ages.add(each)
    ages.remove(objects[0])
    assert ages.pop_until(1) == []
    assert ages.pop_until(5) == [objects[1], objects[3]]
    assert (len(ages), list(ages)) == (1, [objects[2]])


def test_a_better_arrival_makes_the_last_of_the_top_a_candidate() -> None:
    found = trees(5, 3, 4)
    assert (keys(found.top()), keys(found.candidates())) == ([1, 3], [2])
    assert keys(list(found.kept())) == [1, 3, 2]


def test_what_left_is_replaced_by_the_best_candidate_that_is_still_there() -> None:
    found = trees(9, 7, 8, 5, 6, k=2)
    found.expire(3)
    assert found.top() == []
    assert keys(found.fill_top()) == [5, 4]
    found.check()
    assert len(found) == 2


def test_what_came_too_late_is_not_taken_and_time_does_not_go_back() -> None:
    found = trees(1)
    found.expire(4)
    found.expire(2)
    found.add(Seen(9.0, "late", stamp=4))
    assert found.fill_top() == []
    assert len(found) == 0


def test_what_was_overtaken_before_settling_never_entered() -> None:
    found = trees(1, 2)
    for key, score in (("a", 3.0), ("b", 4.0), ("c", 5.0)):
        found.add(Seen(score, key, stamp=3))
    assert [each.key for each in found.fill_top()] == ["b", "c"]


def test_each_object_is_told_once() -> None:
    """The second comes late and leaves first: then the first is the best again."""
    results = ResultStream(Relaxed(1), width=3)
    told = [results.add(score, stamp) for score, stamp in ((5.0, 3), (9.0, 2), (1.0, 5))]
    assert [keys(each) for each in told] == [[3], [2], []]
    assert keys(results.structure.top()) == [3]


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (lambda found: found._top.add(Seen(0.0, 9, stamp=9)), "too many"),
        (lambda found: setattr(found, "until", 3), "has left"),
        (lambda found: found._top.pop(), "not filled"),
        (lambda found: found._candidates.add(Seen(99.0, 9, stamp=9)), "a candidate is better"),
    ],
)
def test_check_says_what_is_broken(broken: object, told: str) -> None:
    found = trees(5, 3, 4)
    found.check()
    assert callable(broken)
    broken(found)
    with pytest.raises(AssertionError, match=told):
        found.check()
