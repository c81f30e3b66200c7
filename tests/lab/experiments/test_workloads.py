"""Recordings, what the stream says of each window, and how the remote side changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from topwater.errors import QueryError
from topwater.remote.known_changes import Steps
from topwater.windows import Windows
from topwater_lab.experiments.evening import Counts, Recording, read_evening
from topwater_lab.experiments.generated_evening import USERS, make_evening
from topwater_lab.experiments.workloads import changing, follower_growth


@pytest.fixture(scope="module")
def evening() -> Recording:
    return make_evening(1)


def tiny(times: list[int], keys: list[int]) -> Recording:
    steps = Steps.of(np.zeros(3, np.int64), np.arange(3), np.zeros(3))
    return Recording("tiny", np.array(times), np.array(keys), Windows(100, 60), steps, steps)


def test_counts_of_one_window_by_hand() -> None:
    """::

    time     0        20     60 61   90   100 101
    key         (      0      0  1   1,1    2 ]  2
    slides      (              ](               …
    """
    recording = tiny([0, 20, 60, 61, 90, 91, 100, 101], [2, 0, 0, 1, 1, 1, 2, 2])
    seen = {
        counts: recording.views(counts, 1)[0].values["mentions"].tolist()
        for counts in ("paper", "true")
    }
    assert seen == {"paper": [1, 1, 1], "true": [2, 3, 1]}
    assert recording.views("true", 1)[0].last_event.tolist() == [60, 91, 100]


def test_a_key_in_both_slides_counts_twice_on_paper() -> None:
    recording = tiny([10, 20, 60, 61, 70], [0, 0, 0, 0, 0])
    assert recording.views("paper", 1)[0].values["mentions"].tolist() == [2]


def test_an_empty_window_has_a_view() -> None:
    view = tiny([500], [0]).views("true", 1)[0]
    assert len(view.keys) == len(view.values["mentions"]) == len(view.last_event) == 0


def test_unknown_counts_are_refused(evening: Recording) -> None:
    with pytest.raises(QueryError, match="paper or true"):
        evening.views("all", 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("ch", [5, 10, 20, 40])
def test_on_average_ch_of_100_users_change(evening: Recording, ch: int) -> None:
    steps = changing(evening.growth, ch, seed=0)
    per_user = steps.values.reshape(USERS, -1)
    assert np.mean(np.diff(per_user, axis=1) != 0) * 100 == pytest.approx(ch, rel=0.01)


def test_at_ch_80_every_snapshot_is_drawn_anew(evening: Recording) -> None:
    steps = changing(evening.growth, 80, seed=0)
    noise = steps.values - evening.growth.values - 5
    assert set(np.unique(noise)) == set(range(20))
    assert np.mean(np.diff(steps.values.reshape(USERS, -1), axis=1) != 0) > 0.9


def test_a_value_that_moved_is_the_noisy_one_of_its_snapshot(evening: Recording) -> None:
    steps = changing(evening.growth, 20, seed=3)
    rng = np.random.default_rng([3, 20])
    noisy = evening.growth.values + 5 + rng.integers(0, 20, len(evening.growth))
    moved = np.diff(steps.values.reshape(USERS, -1), axis=1) != 0
    assert np.all(
        steps.values.reshape(USERS, -1)[:, 1:][moved] == noisy.reshape(USERS, -1)[:, 1:][moved]
    )


def test_data_sets_differ_and_repeat(evening: Recording) -> None:
    one, again, other = (changing(evening.growth, 20, seed) for seed in (1, 1, 2))
    assert one.values.tolist() == again.values.tolist()
    assert one.values.tolist() != other.values.tolist()


@pytest.mark.parametrize("ch", [0, 81])
def test_an_impossible_ch_is_refused(evening: Recording, ch: int) -> None:
    with pytest.raises(QueryError, match="ch"):
        changing(evening.growth, ch, 0)


def test_reads_are_strictly_before() -> None:
    steps = Steps.of(np.array([10, 20, 10]), np.array([1, 1, 2]), np.array([1.0, 2.0, 3.0]))
    both = np.array([1, 2])
    assert [steps.at(both, at).tolist() for at in (-5, 10, 11, 20, 21, 999)] == [
        [1, 3],
        [1, 3],
        [1, 3],
        [1, 3],
        [2, 3],
        [2, 3],
    ]
    assert steps.changes_after(both, 20).tolist() == [20, np.inf]
    assert steps.changes_after(both, 21).tolist() == [np.inf, np.inf]
    assert steps.rates().tolist() == [100.0, 0.0]


def test_a_key_nobody_knows_is_an_error() -> None:
    steps = Steps.of(np.array([10]), np.array([1]), np.array([1.0]))
    with pytest.raises(QueryError, match="key 7"):
        steps.at(np.array([7]), 0)


def test_steps_equal_a_search_by_hand(evening: Recording) -> None:
    rng = np.random.default_rng(0)
    steps = changing(evening.growth, 40, 0)
    for key in rng.choice(steps.distinct, 12).tolist():
        at = int(rng.integers(steps.times.min(), steps.times.max() + 10))
        mine = steps.keys == key
        before = steps.values[mine & (steps.times < at)]
        expected = before[-1] if len(before) else steps.values[mine][0]
        assert steps.at(np.array([key]), at)[0] == expected


def test_a_folder_without_the_recording_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="mentions_evening"):
        read_evening(tmp_path)


def test_normalised_scores_reach_from_0_to_1(evening: Recording) -> None:
    for counts in ("paper", "true"):
        chosen: Counts = "paper" if counts == "paper" else "true"
        views = evening.views(chosen)
        workload = follower_growth(evening, views, chosen, 20, 0)
        scores = [workload.scores(v, workload.remote.at(v.keys, v.end)) for v in views]
        assert min(float(s.min()) for s in scores) >= 0.0
        assert 0.7 < max(float(s.max()) for s in scores) <= 1.0
