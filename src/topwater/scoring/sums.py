"""The formulas that weighted sums and distances stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from topwater.scoring.expressions import Call, Name, Node, Number
from topwater.validation import Range


def total_of(terms: Sequence[Node]) -> Node:
    """A sum as a balanced tree: any number of terms stays within the depth allowed."""
    if len(terms) == 1:
        return terms[0]
    # The larger half to the left, so that three terms read a + b + c.
    half = (len(terms) + 1) // 2
    return Call("+", (total_of(terms[:half]), total_of(terms[half:])))


def scaled(name: str, declared: Range | Literal["running"] | None) -> Node:
    """A column, normalised if its range is declared."""
    if declared is None or isinstance(declared, str):
        return Name(name)
    return Call("norm", (Name(name), Number(declared[0]), Number(declared[1])))


def offset(name: str, at: float) -> Node:
    """How far a column is from a value, with its sign."""
    return Call("-", (Name(name), Number(at)))


def _weighted_terms(point: Mapping[str, float], weights: Mapping[str, float]) -> list[Node]:
    return [
        Call("*", (Number(weights[name]), Call("abs", (offset(name, at),))))
        for name, at in point.items()
    ]


def _largest_term(point: Mapping[str, float], weights: Mapping[str, float]) -> Node:
    return Call("max", tuple(_weighted_terms(point, weights)))


def _sum_of_terms(point: Mapping[str, float], weights: Mapping[str, float]) -> Node:
    return total_of(_weighted_terms(point, weights))


def _root_of_squares(point: Mapping[str, float], weights: Mapping[str, float]) -> Node:
    squares = [
        Call("*", (Number(weights[name]), Call("**", (offset(name, at), Number(2.0)))))
        for name, at in point.items()
    ]
    return Call("sqrt", (total_of(squares),))


COMBINATIONS: Mapping[str, Callable[[Mapping[str, float], Mapping[str, float]], Node]] = {
    "max": _largest_term,
    "sum": _sum_of_terms,
    "euclidean": _root_of_squares,
}
"""How the distances along the columns of a point become one, by name."""
