"""What is said of the cells of the experiment `worlds`."""

from __future__ import annotations

from topwater_lab.experiments.world_report import comparisons, lines
from topwater_lab.experiments.world_runs import OURS, SIMPLE, Cell


def cell(policy: str, precision: float, aim: str | None = None, said: float = 0.7) -> Cell:
    ndcg = precision / 2
    figures = (precision, ndcg, said, said / 2, 0.95, 0.9)
    return Cell("walks", 73, 5, policy, aim, *figures)  # type: ignore[arg-type]


CELLS = [
    *(cell(name, 0.5 + at / 10) for at, name in enumerate(SIMPLE)),
    cell(OURS, 0.905, "relevance"),
    cell(OURS, 0.88, "accuracy", said=0.94),
]


def test_ours_is_compared_with_the_best_simple_policy_by_what_it_aims_for() -> None:
    order, members = comparisons(CELLS)
    assert (order.ours, order.said, order.bound) == (0.4525, 0.35, 0.9)
    assert (order.best, order.simple, order.below) == (SIMPLE[-1], 0.45, False)
    assert (members.ours, members.simple, members.below) == (0.88, 0.9, True)
    assert round(members.error, 3) == 0.06


def test_the_table_marks_what_falls_short_and_ends_with_counts() -> None:
    told = list(lines(CELLS))
    assert len(told) == 1 + 2 + 2
    assert told[2].endswith(f"{SIMPLE[-1]} <")
    assert "in 1 of 2 cells" in told[-2]
    assert "off by more than 0.05 in 2 of 2" in told[-1]
