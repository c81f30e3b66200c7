"""CPM/w and SNN against every window sorted at every step."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.support.standing_steps import results_of, streams, top
from topwater.model import FloatArray, IntArray
from topwater.standing.costs import ABSOLUTE, EUCLIDEAN, LARGEST, LINEAR, SQUARES, costs_of
from topwater.standing.engines import NumericQuery
from topwater.standing.kernel_records import CostRule, Records
from topwater_lab.rivals.grid_engine import Gridded

KINDS = (EUCLIDEAN, LARGEST, ABSOLUTE, SQUARES, LINEAR)
BOTH = pytest.mark.parametrize("skyband", [False, True], ids=["cpm/w", "snn"])


def query(
    rng: np.random.Generator, kind: int, dimensions: int, k: int, width: int, born: int = 1
) -> NumericQuery:
    weight = np.ones(dimensions) if kind == EUCLIDEAN else rng.random(dimensions)
    if kind == LINEAR:
        weight -= 0.5
    return NumericQuery(kind, 0, rng.random(dimensions), weight, k, width, born)


def queries(rng: np.random.Generator, dimensions: int, born: int = 1) -> list[NumericQuery]:
    return [
        query(rng, kind, dimensions, k, width, born)
        for kind in KINDS
        for k, width in ((1, 40), (3, 25), (int(rng.integers(1, 12)), int(rng.integers(1, 90))))
    ]


def costs(one: NumericQuery, columns: FloatArray) -> FloatArray:
    out = np.empty(columns.shape[1])
    rule = CostRule(one.kind, one.column, one.point, one.weight)
    costs_of(rule, columns, 0, len(out), out)
    return out


@dataclass
class Course:
    """A stream, fed in batches; rows that need not be kept are dropped as they would be."""

    columns: FloatArray
    stamps: IntArray
    engine: Gridded
    done: int = 0
    results: list[Records] = field(default_factory=list)

    def feed(self, upto: int) -> None:
        newest = self.stamps[self.done - 1] if self.done else 0
        first = int(np.searchsorted(self.stamps[: self.done], newest - self.engine.reach, "right"))
        rows = slice(first, upto)
        self.results.append(
            self.engine.feed(
                np.ascontiguousarray(self.columns[:, rows]),
                self.stamps[rows].copy(),
                1 + first,
                upto - first,
            )
        )
        self.done = upto

    def results_of(self, slot: int) -> list[tuple[int, int]]:
        results = np.concatenate(self.results)
        mine = results[results["query"] == slot]
        return [(int(each["seq"]), int(each["step"])) for each in mine]

    def check_top(self, slot: int, one: NumericQuery) -> None:
        costs_ = costs(one, self.columns[:, : self.done])
        rows = top(costs_, self.stamps, one.k, one.width, one.born)
        found = self.engine.top(slot)
        assert (found["seq"] - 1).tolist() == rows
        assert found["cost"].tolist() == costs_[rows].tolist()

    def check_results(self, slot: int, one: NumericQuery) -> None:
        found = self.results_of(slot)
        assert len(set(found)) == len(found)
        assert set(found) == results_of(
            costs(one, self.columns[:, : self.done]), self.stamps, one.k, one.width, one.born
        )


def cuts(rng: np.random.Generator, size: int, pieces: int) -> list[int]:
    return [*np.sort(rng.integers(1, size, pieces)).tolist(), size]


@BOTH
@pytest.mark.parametrize("kind", ["random", "tied", "rising", "falling", "waves"])
@pytest.mark.parametrize("dimensions", [2, 3, 4])
def test_answers_and_results_are_those_of_sorting_every_window(
    skyband: bool, kind: str, dimensions: int
) -> None:
    rng = np.random.default_rng(dimensions)
    asked = queries(rng, dimensions)
    course = Course(
        streams(kind, rng, 400, dimensions), np.arange(1, 401), Gridded(skyband, cells=5)
    )
    for slot, one in enumerate(asked):
        course.engine.admit(slot, one)
    for upto in cuts(rng, 400, 20):
        course.feed(upto)
        for slot, one in enumerate(asked):
            course.check_top(slot, one)
    for slot, one in enumerate(asked):
        course.check_results(slot, one)


@BOTH
@pytest.mark.parametrize("kind", ["random", "tied", "waves"])
def test_every_step_one_by_one(skyband: bool, kind: str) -> None:
    rng = np.random.default_rng(5)
    asked = queries(rng, 2)
    course = Course(streams(kind, rng, 150, 2), np.arange(1, 151), Gridded(skyband))
    for slot, one in enumerate(asked):
        course.engine.admit(slot, one)
    for upto in range(1, 151):
        course.feed(upto)
        for slot, one in enumerate(asked):
            course.check_top(slot, one)


@BOTH
@pytest.mark.parametrize("kind", ["random", "tied", "rising", "falling"])
def test_times_with_gaps_and_equal_times(skyband: bool, kind: str) -> None:
    rng = np.random.default_rng(6)
    steps = rng.choice([0, 0, 1, 2, 5, 200], 400, p=[0.3, 0.2, 0.3, 0.1, 0.09, 0.01])
    asked = queries(rng, 3)
    course = Course(streams(kind, rng, 400, 3), 1_000 + np.cumsum(steps), Gridded(skyband))
    for slot, one in enumerate(asked):
        course.engine.admit(slot, one)
    for upto in cuts(rng, 400, 40):
        course.feed(upto)
        for slot, one in enumerate(asked):
            course.check_top(slot, one)
    for slot, one in enumerate(asked):
        course.check_results(slot, one)


@BOTH
def test_queries_come_and_go(skyband: bool) -> None:
    rng = np.random.default_rng(7)
    course = Course(streams("tied", rng, 900, 2), np.arange(1, 901), Gridded(skyband))
    present: dict[int, NumericQuery] = {}
    for slot, upto in enumerate(cuts(rng, 900, 150)):
        for new in queries(rng, 2, born=course.done + 1)[:: rng.integers(4, 9)]:
            free = next(each for each in range(200) if each not in present)
            course.engine.admit(free, new)
            present[free] = new
        for gone in [each for each in present if rng.random() < 0.02 or len(present) > 120]:
            course.engine.dismiss(gone)
            del present[gone]
            course.results = [each[each["query"] != gone] for each in course.results]
        course.feed(upto)
        for each in [*present][slot % 3 :: 3]:
            course.check_top(each, present[each])
    for each, one in present.items():
        course.check_results(each, one)
    for each in present:
        course.engine.dismiss(each)
    assert len(course.engine.held()) == 0
    assert course.engine.reach == 0


@BOTH
def test_a_restored_engine_goes_on_alike(skyband: bool) -> None:
    rng = np.random.default_rng(8)
    asked = queries(rng, 2)
    course = Course(streams("waves", rng, 400, 2), np.arange(1, 401), Gridded(skyband))
    for slot, one in enumerate(asked):
        course.engine.admit(slot, one)
    course.feed(150)
    for upto in (160, 250, 400):
        again = Gridded(skyband)
        again.restore(course.engine.snapshot())
        course.engine = again
        for slot, one in enumerate(asked):
            course.check_top(slot, one)
        course.feed(upto)
    for slot, one in enumerate(asked):
        course.check_top(slot, one)
        course.check_results(slot, one)


@BOTH
def test_each_query_has_columns_of_its_own(skyband: bool) -> None:
    rng = np.random.default_rng(9)
    columns = np.vstack([streams("random", rng, 500, 3), rng.normal(size=(1, 500))])
    columns[3, 100:110] = np.inf, -np.inf, np.nan, 0, 1, np.nan, np.inf, np.inf, 2, -np.inf
    asked = [
        NumericQuery(EUCLIDEAN, 1, rng.random(2), np.ones(2), 4, 60, 1),
        NumericQuery(SQUARES, 0, rng.random(3), np.array([1.0, 0.0, 2.0]), 3, 90, 1),
        NumericQuery(LINEAR, 3, np.zeros(1), np.ones(1), 2, 80, 1),
        NumericQuery(LINEAR, 3, np.zeros(1), np.ones(1), 5, 6, 1),
    ]
    course = Course(columns, np.arange(1, 501), Gridded(skyband))
    for slot, one in enumerate(asked):
        course.engine.admit(slot, one)
    for upto in cuts(rng, 500, 60):
        course.feed(upto)
        for slot, one in enumerate(asked):
            course.check_top(slot, one)
    for slot, one in enumerate(asked):
        course.check_results(slot, one)


@BOTH
def test_many_columns_have_fewer_parts_and_outliers_do_no_harm(skyband: bool) -> None:
    rng = np.random.default_rng(10)
    columns = rng.standard_cauchy((16, 300))
    asked = [query(rng, kind, 16, 3, 50) for kind in KINDS]
    course = Course(columns, np.arange(1, 301), Gridded(skyband))
    for slot, one in enumerate(asked):
        course.engine.admit(slot, one)
    for upto in cuts(rng, 300, 10):
        course.feed(upto)
        for slot, one in enumerate(asked):
            course.check_top(slot, one)


def test_more_objects_than_places_and_more_results_than_fit() -> None:
    """A long course: cells move and are made anew, bags grow, results are handed out in parts."""
    rng = np.random.default_rng(11)
    n, width = 30_000, 9_000
    columns = np.hstack(
        [rng.normal(0.0, 0.01, (2, n // 2)), np.sort(rng.random((2, n // 2)))[:, ::-1]]
    )
    asked = [query(rng, EUCLIDEAN, 2, k, width) for k in (1, 20, 300)]
    for skyband in (False, True):
        course = Course(columns, np.arange(1, n + 1), Gridded(skyband))
        for slot, one in enumerate(asked):
            course.engine.admit(slot, one)
        for upto in (10_000, 10_001, n):
            course.feed(upto)
            for slot, one in enumerate(asked):
                course.check_top(slot, one)
        for slot in range(len(asked)):
            found = {seq for seq, _ in course.results_of(slot)}
            assert found >= set(course.engine.top(slot)["seq"].tolist())


@pytest.mark.parametrize("kind", ["random", "rising", "falling", "waves"])
def test_snn_holds_nothing_above_its_bound(kind: str) -> None:
    """Hence what it holds may move up unasked, and what was told is not forgotten too soon."""
    rng = np.random.default_rng(13)
    size = 1_500
    asked = [query(rng, EUCLIDEAN, 1, k, width) for k in (1, 2, 5) for width in (20, 60, 300)]
    columns = np.round(streams(kind, rng, size, 1), 2)  # many cost the same
    course = Course(columns, np.arange(1, size + 1), Gridded(True, cells=7))
    for slot, one in enumerate(asked):
        course.engine.admit(slot, one)
    lowered = 0
    for upto in range(10, size + 1, 10):
        course.feed(upto)
        state = course.engine.snapshot()
        for slot in range(len(asked)):
            bag, bound = state["bags"][slot], state["queries"][slot]["bound"]
            held = state["pool"][bag["base"] + bag["head"] : bag["base"] + bag["tail"]]
            assert (held["cost"] <= bound).all()
            lowered += bound < np.inf
    assert lowered > 100
    for slot, one in enumerate(asked):
        course.check_results(slot, one)


def test_who_was_told_is_not_told_again_after_the_bound_was_lowered() -> None:
    """Each object costs more than the one before: all are told, in the end, and all once.

    ::

        cost   1 2 3 4 5 6 7 8 9 …   the eighth makes the skyband too large for k = 1:
        known  1 2 3 4               the bound is lowered to 4, and what is above is forgotten;
        then           5, 6, …       a search finds each of these when its turn has come
    """
    one = NumericQuery(EUCLIDEAN, 0, np.zeros(1), np.ones(1), 1, 12, 1)
    columns = np.arange(1.0, 41.0)[None, :]
    course = Course(columns, np.arange(1, 41), Gridded(True))
    course.engine.admit(0, one)
    course.feed(8)
    assert course.engine.held().tolist() == [1, 2, 3, 4]
    for upto in range(9, 41):
        course.feed(upto)
        course.check_top(0, one)
    assert course.engine.searches > 0
    assert course.results_of(0) == [(1, 1), *((seq, seq + 11) for seq in range(2, 30))]


def test_cpm_refers_to_k_objects_and_snn_to_few_more() -> None:
    rng = np.random.default_rng(12)
    columns, k, width = rng.random((2, 20_000)), 20, 5_000
    asked = [query(rng, EUCLIDEAN, 2, k, width) for _ in range(10)]
    engines = [Gridded(False), Gridded(True)]
    for engine in engines:
        for slot, one in enumerate(asked):
            engine.admit(slot, one)
        engine.feed(columns, np.arange(1, 20_001), 1, 20_000)
    cpm, snn = engines
    assert len(cpm.held()) == 10 * k
    assert 10 * k < len(snn.held()) < 10 * 5 * k
    assert snn.searches < cpm.searches / 10
