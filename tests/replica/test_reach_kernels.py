"""How far values reach, against the arrays that say what each could be."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.taught_moves import KEYS, OWN, SLOTS, taught
from topwater.replica.ways_to_move import WaysToMove

BEYOND = np.arange(2 * KEYS)
"""Of the second half nothing was learnt."""


def require_tight(model: WaysToMove, rng: np.random.Generator) -> None:
    """The bounds are those of all that a value could be, and of what it is."""
    values = rng.normal(50, 30, len(BEYOND)) * rng.choice([1.0, 1.0, -40.0], len(BEYOND))
    changes, seconds = rng.uniform(1, 50, len(BEYOND)), rng.uniform(0, 9_000, len(BEYOND))
    slots = rng.permutation(BEYOND)
    low, high = model.reaches(slots, values, changes, seconds)
    least, greatest = model.at(slots, values, changes, seconds).range()
    assert (np.minimum(values, least) == low).all()
    assert (np.maximum(values, greatest) == high).all()


@pytest.mark.parametrize("seed", range(12))
def test_no_value_goes_farther(seed: int) -> None:
    course = [
        lambda rng, _, x: x + rng.normal(0, 2, KEYS),
        lambda rng, _, __: OWN + rng.standard_t(2, KEYS),
        lambda rng, m, _: OWN + SLOTS / 9 * m + rng.normal(0, 0.5, KEYS),
        lambda rng, _, x: np.where(rng.random(KEYS) < 0.1, x * 3, OWN),
    ][seed % 4]
    model, _ = taught(course, turns=1 + seed, seed=seed)
    require_tight(model, np.random.default_rng(seed))


def test_nor_before_anything_is_known() -> None:
    require_tight(WaysToMove(), np.random.default_rng(0))


def test_where_numbers_fail_every_value_is_possible() -> None:
    model, _ = taught(lambda rng, _, x: x + rng.normal(0, 2, KEYS))
    # Nothing times infinity.
    model._sizes[1], model._nodes = 0.0, np.full((5, 3), np.inf)
    low, high = model.reaches(BEYOND[-1:], np.array([-1.7e308]), np.ones(1), np.ones(1))
    assert (low.tolist(), high.tolist()) == ([-np.inf], [np.inf])
