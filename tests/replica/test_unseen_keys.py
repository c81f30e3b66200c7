"""Keys that were never read: cells, whatever the order of rows, and the best of many."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.replica.population import Population
from topwater.replica.unseen_keys import NO_ONE, Cells, Crowd, UnseenScores


@pytest.mark.parametrize("second", [False, True])
def test_cells_hold_scores_that_are_nearly_the_same(second: bool) -> None:
    rng = np.random.default_rng(1)
    scores = np.concatenate([rng.lognormal(0, 3, 5_000), -rng.lognormal(0, 3, 500), np.zeros(9)])
    others = rng.lognormal(0, 1, len(scores)) if second else None
    cells = Cells.of(scores, others)
    assert cells.count.sum() == len(scores)
    assert np.array_equal(np.bincount(cells.of_row), cells.count)
    ours = scores[cells.first][cells.of_row]
    assert (ours >= scores).all()
    assert np.abs(ours - scores) == pytest.approx(0, abs=0.125 * np.abs(scores).max())
    assert (np.abs(ours - scores) <= 0.13 * np.abs(scores)).all()


def test_the_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    scores, others = rng.integers(1, 9, 400).astype(float), rng.integers(1, 99, 400).astype(float)
    order = rng.permutation(400)
    for second in (None, others):
        cells = Cells.of(scores, second)
        shuffled = Cells.of(scores[order], None if second is None else second[order])
        assert cells.count.tolist() == shuffled.count.tolist()
        assert scores[cells.first].tolist() == scores[order][shuffled.first].tolist()
        assert others[cells.first].tolist() == others[order][shuffled.first].tolist() or not (
            second is not None
        )


def test_what_is_expected_is_as_many_as_there_are() -> None:
    population = Population(np.sort(np.random.default_rng(3).lognormal(0, 1, 300)))
    mentions = np.random.default_rng(4).integers(1, 6, 1_000).astype(float)
    could = UnseenScores.of(
        Cells.of(mentions), population, lambda rows, remote: mentions[rows][:, None] * remote
    )
    crowd = could.crowd(0.5).and_more(could.crowd(0.5)).and_more(NO_ONE)
    scores, expected = crowd.scores, crowd.expected
    assert expected.sum() == pytest.approx(1_000)
    drawn = mentions * np.random.default_rng(5).lognormal(0, 1, (200, 1_000))
    above = crowd.above(20.0)
    assert (above.scores > 20.0).all()
    assert above.expected.sum() == expected[scores > 20.0].sum()
    assert above.expected.sum() == pytest.approx((drawn > 20.0).sum(1).mean(), rel=0.3)


def test_the_best_of_many_are_as_if_all_were_drawn() -> None:
    """A thousand keys, each drawn from the same 200 values."""
    rng = np.random.default_rng(6)
    values = np.linspace(0, 1, 200)
    crowd = Crowd(values, np.full(200, 1_000 / 200), np.arange(200))
    found = crowd.best(np.ones((4_000, 200)), 3, rng)
    drawn = -np.sort(-values[rng.integers(0, 200, (4_000, 1_000))], axis=1)[:, :3]
    assert (np.diff(found, axis=1) <= 0).all()
    assert found.mean(axis=0) == pytest.approx(drawn.mean(axis=0), abs=0.001)
    assert found.std(axis=0) == pytest.approx(drawn.std(axis=0), rel=0.2)


def test_where_few_are_expected_there_may_be_none() -> None:
    rng = np.random.default_rng(7)
    found = Crowd.of(np.array([5.0]), np.array([0.5])).best(np.ones((4_000, 0)), 1, rng)
    assert np.isinf(found).mean() == pytest.approx(np.exp(-0.5), abs=0.03)


def test_what_is_likelier_in_a_world_is_drawn_more_often_there() -> None:
    crowd = Crowd(np.array([5.0, 1.0]), np.array([0.5, 90.0]), np.array([1, 0]))
    times = np.tile([[1.0, 0.0], [1.0, 3.0]], (2_000, 1))
    found = crowd.best(times, 1, np.random.default_rng(8))[:, 0]
    assert (found[::2] == 1.0).all()
    assert (found[1::2] == 5.0).mean() == pytest.approx(1 - np.exp(-1.5), abs=0.03)


@pytest.mark.parametrize("second", [False, True])
def test_cells_may_be_represented_by_their_least(second: bool) -> None:
    rng = np.random.default_rng(9)
    scores, others = rng.lognormal(0, 2, 900), rng.lognormal(0, 2, 900) if second else None
    cells = Cells.of(scores, others)
    least = cells.by_the_least()
    assert (scores[least.first][cells.of_row] <= scores).all()
    assert least.count is cells.count


def test_keys_of_which_none_is_expected_change_nothing() -> None:
    rng = np.random.default_rng(4)
    crowd = Crowd.of(rng.normal(size=60), rng.random(60) * (rng.random(60) < 0.5))
    some = Crowd.of(*(each[crowd.expected > 0] for each in (crowd.scores, crowd.expected)))
    best = [each.best(np.ones((20, 0)), 5, np.random.default_rng(1)) for each in (crowd, some)]
    assert (best[0] == best[1]).all()
