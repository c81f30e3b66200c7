"""Made-up results for the whole grid, in which all that the papers say is so."""

from __future__ import annotations

from collections.abc import Callable

from topwater_lab.experiments.acquatop import (
    AIMS,
    OURS,
    PUBLISHED,
    UNLIMITED,
    Cell,
    Results,
    Standing,
    cells,
)
from topwater_lab.experiments.tracks import AIMED, CARRIED, CLAIRVOYANT

Score = Callable[[Cell, str], tuple[float, float]]


def as_published(cell: Cell, policy: str) -> tuple[float, float]:
    """nDCG and precision such that all that the paper says is so."""
    ndcg = dict.fromkeys(PUBLISHED, 120.0) | {"wst": 90.0, "wsj-rnd": 100.0}
    ndcg |= {"at-tsm": 140.0, "at-bsm": 140.0, UNLIMITED: 148.0}
    precision = dict.fromkeys(PUBLISHED, 110.0) | {"wst": 100.0, "at-tsm": 114.0}
    precision |= {"at-bsm": 115.0, UNLIMITED: 130.0 if cell.n else 120.0}
    if cell.k > 7:
        precision |= {"wsj-lru": 120.0, "at-tsm": 90.0}
    if cell.budget >= 2 * cell.k:
        ndcg |= dict.fromkeys(("at-tsm", "at-bsm"), 145.0)
        precision["at-bsm"] = precision["at-tsm"]
    if cell.budget > 20:
        ndcg |= dict.fromkeys(("at-lru", "at-tsm", "at-bsm"), 148.0)
        precision |= dict.fromkeys(("at-lru", "at-tsm", "at-bsm"), 130.0)
    if cell.n > 10:
        precision[UNLIMITED] = 140.0
    ours = {OURS: 0.5, CARRIED: 0.7, CLAIRVOYANT: 1.0}
    if policy in ours:
        best = max(ndcg[each] for each in PUBLISHED), max(precision[each] for each in PUBLISHED)
        part = ours[policy]
        return best[0] + part * (150 - best[0]), best[1] + part * (150 - best[1])
    return ndcg[policy], precision[policy]


def results_of(score: Score, *, quick: bool = False) -> Results:
    results = Results("paper")
    for cell in cells(quick=quick):
        for policy in (*PUBLISHED, UNLIMITED, *AIMED):
            for aim in AIMS.values() if policy in AIMED else ("",):
                ndcg, precision = score(cell, policy)
                results.standings[cell, policy, aim] = Standing((ndcg,), (precision,), (1.0,))
    return results
