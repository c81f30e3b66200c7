"""The engine of the skyband family: queries come and go, bags grow, and a snapshot goes on."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.standing_steps import results_of, streams, top
from topwater.model import FloatArray
from topwater.standing.block_index import BlockIndex
from topwater.standing.composition import Composition
from topwater.standing.costs import LINEAR
from topwater.standing.engines import NumericQuery
from topwater.standing.kernel_records import Records
from topwater.standing.skybands import Skybands

SIZE = 300
STAMPS = np.arange(1, SIZE + 1)


def engine(filter_: bool = False) -> Skybands:
    made = Composition("relaxed", "probabilistic" if filter_ else None)
    return Skybands(made, BlockIndex(1, False))


def query(k: int, width: int, born: int = 1) -> NumericQuery:
    return NumericQuery(LINEAR, 0, np.zeros(1), np.ones(1), k, width, born)


def pairs(results: Records, slot: int) -> set[tuple[int, int]]:
    own = results[results["query"] == slot]
    return set(zip(own["seq"].tolist(), own["step"].tolist(), strict=True))


@pytest.fixture(params=["random", "rising"])
def values(request: pytest.FixtureRequest) -> FloatArray:
    return streams(request.param, np.random.default_rng(3), SIZE, 1)


@pytest.mark.parametrize("filter_", [False, True])
def test_each_query_has_its_own_k_and_window(values: FloatArray, filter_: bool) -> None:
    given = {0: query(1, 20), 1: query(4, 150), 2: query(2, 33)}
    skybands = engine(filter_)
    for slot, one in given.items():
        skybands.admit(slot, one)
    found = skybands.feed(values, STAMPS, 1, SIZE)
    for slot, one in given.items():
        assert pairs(found, slot) == results_of(values[0], STAMPS, one.k, one.width)
        best = top(values[0], STAMPS, one.k, one.width)
        assert skybands.top(slot)["seq"].tolist() == [row + 1 for row in best]
        assert {row + 1 for row in best} <= set(skybands.held().tolist())


def test_a_dismissed_query_leaves_its_slot_to_another(values: FloatArray) -> None:
    skybands = engine()
    skybands.admit(0, query(5, 200))
    skybands.admit(1, query(2, 40))
    skybands.feed(values, STAMPS, 1, 100)
    skybands.dismiss(0)
    skybands.admit(0, query(1, 30, born=101))
    found = skybands.feed(values, STAMPS, 1, SIZE)
    assert pairs(found, 0) == results_of(values[0], STAMPS, 1, 30, born=101)


@pytest.mark.parametrize("filter_", [False, True])
def test_a_restored_engine_goes_on_as_if_nothing_had_happened(
    values: FloatArray, filter_: bool
) -> None:
    before, after = engine(filter_), engine(filter_)
    before.admit(0, query(3, 60))
    before.feed(values, STAMPS, 1, 170)
    after.restore(before.snapshot())
    assert np.array_equal(before.feed(values, STAMPS, 1, SIZE), after.feed(values, STAMPS, 1, SIZE))
    assert after.reach == before.reach


def test_without_queries_nothing_is_reported() -> None:
    assert len(engine().feed(np.zeros((1, SIZE)), STAMPS, 1, SIZE)) == 0
    assert engine().reach == 0
