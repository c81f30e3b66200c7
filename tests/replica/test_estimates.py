"""How right an answer is estimated to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.election_scene import refresher_of, view_of
from tests.support.election_worlds import Workload
from topwater.model import FloatArray
from topwater.replica import Refresher, appraisal, estimates
from topwater.replica.possible_values import Moved
from topwater.replica.possible_worlds import Drawn, drawn_moves


def estimated(refresher: Refresher, window: int, keys: Any, stream: Any) -> tuple[float, float]:
    view = view_of(window, keys, stream)
    view = view.at(refresher.replica.slots(view.keys))
    remote = refresher.values.of_slots(view.slots)
    scores = refresher.terms.scores(view.values, remote)
    without = np.flatnonzero(np.isnan(remote))
    return refresher._estimates.accuracy(view, scores, view.best_first(scores), without)


def known(values: Any, at: int = 0) -> Refresher:
    refresher = refresher_of(policy="lru")
    refresher.seed_replica(np.arange(len(values)), np.array(values, np.float64), at)
    return refresher


def test_an_empty_window_is_right() -> None:
    assert estimated(refresher_of(), 0, np.empty(0, np.int64), []) == (1.0, 1.0)


def test_what_was_just_read_is_right() -> None:
    assert estimated(known([3.0, 1.0, 2.0], at=60_000), 0, [0, 1, 2], [0, 0, 0]) == (1.0, 1.0)


def test_the_older_the_values_the_less_right_the_answer() -> None:
    refresher = known([3.0, 1.0, 2.0, 2.5, 1.5])
    found = [estimated(refresher, window, range(5), np.zeros(5))[0] for window in (0, 30, 3_000)]
    assert 1.0 > found[0] > found[1] > found[2] > 0.2


def test_where_no_value_can_cross_the_border_the_set_is_right() -> None:
    precision, _ = estimated(known([3.0, 1.0, 2.0]), 50, [0, 1, 2], [1e6, 2e6, 0.0])
    assert precision == 1.0


def test_where_nothing_is_known_of_values_only_the_keys_read_count() -> None:
    refresher = refresher_of(policy="lru")
    refresher.replica.put(refresher.replica.slots(np.array([0])), np.array([1.0]), 0)
    assert estimated(refresher, 0, range(4), np.zeros(4)) == (0.25, 0.25)


def test_the_same_window_is_estimated_the_same_again() -> None:
    refresher = known([3.0, 1.0, 2.0, 2.5])
    first = estimated(refresher, 7, range(4), np.zeros(4))
    assert estimated(refresher, 7, range(4), np.zeros(4)) == first


def test_a_key_never_read_is_stale_for_certain() -> None:
    refresher = known([3.0])
    slots = refresher.replica.slots(np.array([0, 9]))
    stale = refresher._estimates.stale(slots, 60_000)
    assert stale[1] == pytest.approx(1.0)
    assert 0 < stale[0] < 1


@pytest.mark.parametrize("score", ["sum", "product", "share", "low", "wave"])
def test_keys_that_cannot_reach_the_border_are_left_out_and_no_others(score: str) -> None:
    workload = Workload(13, score, "heavy", keys=700, busy=0.9, seeded=0.9, whole=False)
    refresher, fewer = workload.made(Refresher), 0
    for view in workload.views(4):
        refresher.refresh(view)
        view = view.at(refresher.replica.slots(view.keys))
        scores = refresher.terms.scores(view.values, refresher.values.of_slots(view.slots))
        rows = np.flatnonzero(np.isfinite(scores) & refresher.replica.known(view.slots))
        every = refresher._estimates._of_far(view, rows, -np.inf)
        for border in np.quantile(scores[rows], [0.3, 0.9, 0.999]).tolist():
            right, found = every.above(border), refresher._estimates._of_far(view, rows, border)
            fewer += len(found.scores) < len(every.scores)
            assert found.above(border).scores.tolist() == right.scores.tolist()
            assert found.above(border).expected.tolist() == right.expected.tolist()
    assert fewer


def test_what_is_looked_up_is_not_judged_in_the_worlds_that_it_was_chosen_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else what was left out would look harmless: in these worlds it did nothing."""
    begun: list[tuple[str, int]] = []
    for module in (appraisal, estimates):

        def noted(
            could_be: Moved, stale: FloatArray, rng: Any, name: str = module.__name__
        ) -> Drawn:
            begun.append((name, rng.bit_generator.state["state"]["state"]))
            return drawn_moves(could_be, stale, rng)

        monkeypatch.setattr(module, "drawn_moves", noted)
    budget = {"accuracy": 0.9, "at_most": 6}
    workload = Workload(3, keys=60, seeded=1.0, settings={"budget": budget, "audit": 0.2})
    refresher, windows = workload.made(Refresher), 0
    for view in workload.views(6):
        begun.clear()
        refresher.refresh(view)
        chosen = {state for name, state in begun if name == appraisal.__name__}
        told = begun[-1]
        assert told[0] == estimates.__name__
        before = {state for name, state in begun[:-1] if state != told[1]}
        assert told[1] not in chosen
        # How many look-ups are enough, and what is audited, is seen in others again.
        windows += len(chosen) > 0 and len(before - chosen) > 0
    assert windows > 2
