"""Keys that were never read: cells, whatever the order of rows, and the best of many."""

from __future__ import annotations

import numpy as np
import pytest

from topwater.replica.population import Population
from topwater.replica.unseen_keys import Cells, UnseenScores, best_of_many


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
    scores, expected = could.intensity()
    assert expected.sum() == pytest.approx(1_000)
    drawn = mentions * np.random.default_rng(5).lognormal(0, 1, (200, 1_000))
    border = 20.0
    assert expected[scores > border].sum() == pytest.approx((drawn > border).sum(1).mean(), rel=0.3)


def test_the_best_of_many_are_as_if_all_were_drawn() -> None:
    """A thousand keys, each drawn from the same 200 values."""
    rng = np.random.default_rng(6)
    values = np.linspace(0, 1, 200)
    found = best_of_many(values, np.full(200, 1_000 / 200), 4_000, 3, rng)
    drawn = -np.sort(-values[rng.integers(0, 200, (4_000, 1_000))], axis=1)[:, :3]
    assert (np.diff(found, axis=1) <= 0).all()
    assert found.mean(axis=0) == pytest.approx(drawn.mean(axis=0), abs=0.001)
    assert found.std(axis=0) == pytest.approx(drawn.std(axis=0), rel=0.2)


def test_where_few_are_expected_there_may_be_none() -> None:
    rng = np.random.default_rng(7)
    found = best_of_many(np.array([5.0]), np.array([0.5]), 4_000, 1, rng)
    assert np.isinf(found).mean() == pytest.approx(np.exp(-0.5), abs=0.03)
