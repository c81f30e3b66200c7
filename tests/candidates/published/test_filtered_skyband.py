"""Filters: how large their buffer may be, and why; what is rejected comes back."""

from __future__ import annotations

import pytest

from tests.support.score_streams import Stream, played, tops
from topwater.candidates.published.filtered_skyband import Filtered
from topwater.candidates.published.object_trees import Seen
from topwater.candidates.published.skyband import Probabilistic, Relaxed, Strict
from topwater.errors import QueryError


@pytest.mark.parametrize(("width", "most"), [(1, 1), (6, 3), (7, 4), (40_000, 20_000)])
def test_a_buffer_too_large_is_refused_with_the_largest_allowed(width: int, most: int) -> None:
    assert Filtered(Strict(2), Strict(2), width).buffer == most
    assert Filtered(Strict(2), Strict(2), width, most).buffer == most
    with pytest.raises(QueryError, match=rf"^buffer: {most + 1} is too large.*\n.*at most {most}"):
        Filtered(Strict(2), Strict(2), width, most + 1)


def test_one_stamp_more_in_the_buffer_is_wrong() -> None:
    """b = 4 for n = 6: at step 8 o2 has left the window, and o5 still waits behind it."""
    scores = [0.0, 9.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 0.0]
    stream = Stream(scores, list(range(1, 10)), 6, 1)
    filtered = Filtered(Strict(1), Strict(1), 6)
    filtered.buffer = 4
    wrong, _ = played(filtered, stream)
    assert wrong[7] != [4]
    assert list(tops(stream))[7] == [4]
    right, _ = played(Filtered(Strict(1), Strict(1), 6), stream)
    assert right == list(tops(stream))


@pytest.mark.parametrize("buffer", [0, -3])
def test_a_buffer_of_nothing_is_refused(buffer: int) -> None:
    with pytest.raises(QueryError, match=r"^buffer: must be at least 1"):
        Filtered(Strict(2), Strict(2), 10, buffer)


def test_one_k_for_skyband_and_filter() -> None:
    with pytest.raises(QueryError, match=r"^k: the filter's is 3"):
        Filtered(Strict(2), Strict(3), 10)


def test_what_a_probabilistic_filter_rejects_has_its_second_chance() -> None:
    """The filter keeps next to nothing, and what it rejects is still found when it is due."""
    scores = [9.0, 8.0, 7.0, 6.0, 5.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    stream = Stream(scores, list(range(1, 13)), 6, 1)
    rejected: list[Seen] = []
    pf = Probabilistic(1, 1, additional=0, resets=False, rejected=rejected.append)
    answers, _ = played(Filtered(Relaxed(1), pf, 6), stream)
    assert answers == list(tops(stream))
    assert 2 in [each.key for each in rejected]
    assert answers[7] == [2]
