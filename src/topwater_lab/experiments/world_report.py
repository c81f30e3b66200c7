"""What the experiment `worlds` says in words: ours next to the best simple policy and the bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from topwater.replica.utility import Aim
from topwater_lab.experiments.world_runs import OURS, SIMPLE, Cell

AIMED: dict[Aim, str] = {"accuracy": "precision", "relevance": "nDCG"}
"""What to look at for each aim."""

_BELOW, _OFF = 0.01, 0.05


class Comparison(NamedTuple):
    """Ours in one world with one budget and one aim, by the measure that the aim is for.

    Attributes
    ----------
    ours, said, bound
        What ours reached, said, and could have reached.
    best, simple
        The best of the simple policies, and what it reached.
    """

    world: str
    keys: int
    budget: int
    aim: Aim
    ours: float
    said: float
    bound: float
    best: str
    simple: float

    @property
    def below(self) -> bool:
        """Whether a simple policy is better by more than a hundredth."""
        return self.simple - self.ours > _BELOW

    @property
    def error(self) -> float:
        """How far the estimate is off."""
        return abs(self.said - self.ours)


def comparisons(cells: Sequence[Cell]) -> Iterator[Comparison]:
    """All of them, in the order of the cells."""
    places = {(c.world, c.keys, c.budget, c.policy, c.aim): c for c in cells}
    for cell in cells:
        if cell.policy != OURS or cell.aim is None:
            continue
        rivals = [places[cell.world, cell.keys, cell.budget, name, None] for name in SIMPLE]
        best = max(rivals, key=lambda rival, aim=cell.aim: _figures(rival, aim)[0])  # type: ignore[misc]
        yield Comparison(
            cell.world,
            cell.keys,
            cell.budget,
            cell.aim,
            *_figures(cell, cell.aim),
            best.policy,
            _figures(best, cell.aim)[0],
        )


def _figures(cell: Cell, aim: Aim) -> tuple[float, float, float]:
    """What was reached, said, and possible."""
    if aim == "accuracy":
        return cell.precision, cell.said_precision, cell.bound_precision
    return cell.ndcg, cell.said_ndcg, cell.bound_ndcg


def lines(cells: Sequence[Cell]) -> Iterator[str]:
    """A table, and what it comes to."""
    found = list(comparisons(cells))
    measures = f"{OURS:>7}{'says':>7}{'bound':>7}"
    yield f"{'world':22}{'keys':>7}{'budget':>8}  {'':10}{measures}  best simple"
    for each in found:
        figures = "".join(f"{number:7.3f}" for number in (each.ours, each.said, each.bound))
        mark = " <" if each.below else ""
        yield (
            f"{each.world:22}{each.keys:7}{each.budget:8}  {AIMED[each.aim]:10}{figures}"
            f"  {each.simple:.3f} {each.best}{mark}"
        )
    yield from conclusions(found)


def conclusions(found: Sequence[Comparison]) -> Iterator[str]:
    """In how many cells ours falls short, or says what is not so."""
    cells, below = len(found), sum(each.below for each in found)
    off = sum(each.error > _OFF for each in found)
    mean = sum(each.error for each in found) / max(1, cells)
    yield f"{OURS} is more than {_BELOW} below the best simple policy in {below} of {cells} cells"
    yield f"its estimate is off by more than {_OFF} in {off} of {cells}; by {mean:.3f} on average"
