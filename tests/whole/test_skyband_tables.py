"""The step tables II, III, VI and VII of the paper on top-k/w queries, object by object."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from tests.support.figures import PRIPUZIC, pripuzic
from topwater.candidates.published.cpm_snn import cpm_w, snn
from topwater.candidates.published.filtered_skyband import Filtered
from topwater.candidates.published.object_trees import ResultStream, Seen, Structure
from topwater.candidates.published.skyband import Probabilistic, Relaxed, Strict

SCORES = {step: float(pripuzic(step).items.score[0]) for step in range(1, 12)}
TOP = {1: 1, 8: 3, 9: 7, 10: 7, 11: 7} | dict.fromkeys(range(2, 8), 2)
REPORTED = {1: [1], 2: [2], 8: [3], 9: [7]}


def play(structure: Structure) -> Iterator[int]:
    """Steps 1 to 11; top-1 and result stream are the same whatever the structure."""
    results = ResultStream(structure, PRIPUZIC.width)
    for step, score in SCORES.items():
        assert keys(results.add(score, step)) == REPORTED.get(step, [])
        assert keys(structure.top()) == [TOP[step]]
        structure.check()
        yield step


def keys(objects: list[Seen]) -> list[int]:
    return [each.key for each in objects]


def test_cpm_w_table_ii() -> None:
    """The threshold is that of the last search; the cells watched change only to grow."""
    threshold = dict.fromkeys(range(1, 8), SCORES[1]) | {8: SCORES[3]}
    threshold |= dict.fromkeys(range(9, 12), SCORES[7])
    query = cpm_w(1)
    for step in play(query):
        assert keys(list(query.memory.kept())) == [TOP[step]]
        assert query.threshold == threshold[step]
        assert query.indexed == SCORES[1 if step < 9 else 7]
    assert (query.searches, query.reindexed) == (2, 2)


def test_snn_table_ii() -> None:
    skyband = {1: [1], 2: [2], 8: [3]} | {step: [2, 3] for step in range(3, 8)}
    query = snn(1)
    for step in play(query):
        assert keys(list(query.memory.kept())) == skyband.get(step, [7])
        assert query.threshold == query.indexed == SCORES[1 if step < 9 else 7]
    assert (query.searches, query.reindexed) == (1, 2)


def test_sasf_table_iii() -> None:
    printed = {1: [1], 6: [2, 3], 7: [2, 3, 7], 8: [3, 7]}
    printed |= {step: [2] for step in range(2, 6)} | {step: [7] for step in range(9, 12)}
    sasf = Filtered(Strict(1), Strict(1), PRIPUZIC.width, buffer=3)
    for step in play(sasf):
        assert keys(list(sasf.skyband.kept())) == printed[step]
        assert keys(sasf.recent()) == list(range(max(1, step - 2), step + 1))


def test_sasf_filter_is_the_skyband_of_the_buffer() -> None:
    """The printed column has only what lies in the query's cells of the grid; this has all."""
    full = {1: [1], 2: [2], 3: [2, 3], 4: [2, 3, 4], 5: [3, 5], 6: [5, 6], 7: [7], 8: [7, 8]}
    full |= {9: [7, 9], 10: [9, 10], 11: [9, 11]}
    sasf = Filtered(Strict(1), Strict(1), PRIPUZIC.width, buffer=3)
    for step in play(sasf):
        assert keys(list(sasf.filter.kept())) == full[step]


def test_pa_table_vi() -> None:
    candidates = {
        1: [],
        2: [1],
        3: [3, 1],
        4: [3, 1, 4],
        5: [3, 1, 5, 4],
        6: [3, 1, 5, 4],
        7: [3, 7, 5, 4],
        8: [7, 5, 4, 8],
        9: [5, 9, 4, 8],
        10: [5, 9, 8],
        11: [9, 8, 11],
    }
    threshold = dict.fromkeys(range(5, 8), SCORES[4]) | dict.fromkeys((8, 9), SCORES[8])
    threshold[10] = SCORES[8] + (SCORES[8] - SCORES[9]) / 2
    pa = Probabilistic(1, limit=3, additional=1)
    for step in play(pa):
        assert keys(pa.candidates()) == candidates[step]
        assert pa.threshold == threshold.get(step, -math.inf)


def test_ra_table_vii() -> None:
    """Step 11 as in Algorithm 3, which prunes at size ≥ limit; the print shows o10 still there."""
    candidates = {
        1: [],
        2: [1],
        3: [3, 1],
        4: [3, 1, 4],
        5: [3, 5],
        6: [3, 5, 6],
        7: [3, 7, 5, 6],
        8: [7, 5, 8, 6],
        9: [5, 9, 8, 6],
        10: [9, 10],
        11: [9, 11],
    }
    limits = dict.fromkeys(range(1, 5), 4) | {5: 3} | dict.fromkeys(range(6, 10), 5)
    limits |= {10: 3, 11: 3}
    ra = Relaxed(1, gamma=0.5, first_limit=4)
    for step in play(ra):
        assert keys(ra.candidates()) == candidates[step]
        assert ra.limit == limits[step]


def test_sa_keeps_the_skyband() -> None:
    skyband = {
        1: [1],
        2: [2],
        3: [2, 3],
        4: [2, 3, 4],
        5: [2, 3, 5],
        6: [2, 3, 5, 6],
        7: [2, 3, 7],
        8: [3, 7, 8],
        9: [7, 9],
        10: [7, 9, 10],
        11: [7, 9, 11],
    }
    sa = Strict(1)
    for step in play(sa):
        assert keys(list(sa.kept())) == skyband[step]


@pytest.mark.parametrize("buffer", [1, 2, 3])
def test_rapf_on_the_example(buffer: int) -> None:
    pf = Probabilistic(1, limit=1, additional=0, resets=False)
    for _ in play(Filtered(Relaxed(1), pf, PRIPUZIC.width, buffer)):
        pass
