"""The nodes of an expression, and what is known of its operators."""

from __future__ import annotations

import pytest

from topwater.scoring.algebras import INTERVALS, NUMPY, TRENDS
from topwater.scoring.formula_text import TEXTS
from topwater.scoring.tree import ARITY, ATOM, BINDING, NEGATIVE, POWER, Call, Name, Number


@pytest.mark.parametrize("algebra", [NUMPY, INTERVALS, TRENDS, TEXTS])
def test_every_algebra_knows_every_operator(algebra: dict[str, object]) -> None:
    assert {*BINDING, *ARITY, "neg"} <= set(algebra)


def test_equal_trees_are_equal_and_can_be_kept_in_sets() -> None:
    tree = Call("+", (Name("a"), Number(1.0)))
    assert tree == Call("+", (Name("a"), Number(1.0)))
    assert len({tree, Call("+", (Name("a"), Number(1.0))), Name("a")}) == 2


def test_powers_bind_tighter_than_signs_and_signs_tighter_than_products() -> None:
    assert BINDING["**"] == POWER > NEGATIVE > BINDING["*"] == BINDING["/"] > BINDING["+"]
    assert max(BINDING.values()) < ATOM
