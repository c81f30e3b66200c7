"""What an engine promises: its parts, and that objects before a query's birth do not count."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.standing_steps import results_of
from topwater.standing.algorithms import Settings, algorithms
from topwater.standing.costs import LINEAR
from topwater.standing.engines import Engine, NumericQuery


@pytest.mark.parametrize("name", ["sa", "rapf", "auto"])
def test_a_query_sees_what_comes_after_it(name: str) -> None:
    engine: Engine = algorithms[name](Settings(("x",), name), False)
    values, stamps = np.random.default_rng(1).random((1, 200)), np.arange(1, 201)
    engine.admit(0, NumericQuery(LINEAR, 0, np.zeros(1), np.ones(1), 2, 50, 31))
    found = [engine.feed(values, stamps, 1, end) for end in (31, 90, 90, 200)]
    seen = np.concatenate(found)
    pairs = set(zip(seen["seq"].tolist(), seen["step"].tolist(), strict=True))
    assert pairs == results_of(values[0], stamps, 2, 50, born=31)
    engine.dismiss(0)
    assert len(engine.held()) == 0
