"""The claims, judged on made-up results for the whole grid: each can be confirmed and denied."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from topwater.show.pages import page
from topwater_lab.experiments.acquatop import (
    AIMS,
    OURS,
    PUBLISHED,
    UNLIMITED,
    Cell,
    Results,
    Standing,
    cells,
    sweeps,
)
from topwater_lab.experiments.claims import Claim, judged
from topwater_lab.experiments.experiment_report import _table_7
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


def claims_of(score: Score) -> dict[str, Claim]:
    return {claim.text: claim for claim in judged(results_of(score), sweeps())}


def test_what_the_paper_says_is_confirmed_where_it_is_so() -> None:
    claims = claims_of(as_published)
    denied = {text: claim.evidence for text, claim in claims.items() if not claim.holds}
    assert not denied
    assert len(claims) == 32


def changed(*policies: str, by: float, where: Callable[[Cell], bool] = lambda _: True) -> Score:
    def score(cell: Cell, policy: str) -> tuple[float, float]:
        ndcg, precision = as_published(cell, policy)
        more = by if policy in policies and where(cell) else 0.0
        return ndcg + more, precision + more

    return score


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (changed("wst", by=15), "Experiment 0: WST errs most, and ASM least (precision)"),
        (changed(UNLIMITED, by=-20), "Experiment 0: WST errs most, and ASM least (ndcg)"),
        (changed("at-bsm", by=-60), "TSM and BSM do better than RND (ndcg)"),
        (changed("at-tsm", by=-9), "Hp.1: TSM gives the most relevant answers once B ≥ 3"),
        (changed("at-bsm", by=-9), "Hp.1: BSM gives the most accurate answers for B ≤ 20"),
        (changed("at-bsm", by=-9), "For B ≥ 2K, TSM and BSM elect the same keys"),
        (changed("at-lru", by=-9), "For B > 20, LRU, TSM and BSM are as good as ASM (ndcg)"),
        (changed("at-tsm", by=-9), "Hp.2: TSM gives the most relevant answers at every CH"),
        (changed("at-bsm", by=-9), "Hp.2: BSM gives the most accurate answers at every CH"),
        (
            changed("at-tsm", by=-9, where=lambda cell: cell.ch == 80),
            "TSM's relevance hardly depends on CH",
        ),
        (
            changed("at-tsm", by=-9, where=lambda cell: cell.ch == 5),
            "TSM's accuracy hardly depends on CH",
        ),
        (
            changed("at-tsm", "at-bsm", by=-30),
            "Hp.3: TSM or BSM give the most relevant answers at every K",
        ),
        (changed("at-bsm", by=-9), "Hp.3: BSM gives the most accurate answers for K < 7"),
        (changed("wsj-lru", by=-15), "Hp.3: LRU gives the most accurate answers for K > 7"),
        (
            changed("at-tsm", by=15),
            "At B 15 and K > 7, TSM is less accurate than no refresh at all",
        ),
        (changed("at-tsm", by=-9), "Hp.4: TSM gives the most relevant answers for N > 0"),
        (changed("at-bsm", by=-9), "Hp.4: BSM gives the most accurate answers for N > 0"),
        (
            changed(UNLIMITED, by=20, where=lambda cell: cell.n == 0),
            "Without spare candidates answers are worse (B 7)",
        ),
        (
            changed("at-tsm", by=20, where=lambda cell: cell.n == 40),
            "Beyond N = 10 only refreshing all gains (B 15)",
        ),
        (
            changed("at-tsm", by=-9, where=lambda cell: cell.budget == 15),
            "With more budget at-tsm comes nearer to refreshing all",
        ),
        (
            changed(OURS, by=-40),
            "worth is never below the best published policy by more than 0.5",
        ),
        (changed(OURS, by=-40), "worth closes part of the gap to clairvoyance (precision)"),
        (changed(OURS, by=40), "Nothing within the budget beats the bound"),
        (changed(CARRIED, by=-20), "Carrying over brings more of the same budget (ndcg)"),
    ],
)
def test_and_denied_where_it_is_not(score: Score, text: str) -> None:
    assert claims_of(as_published)[text].holds
    assert not claims_of(score)[text].holds


def test_table_7_names_the_best_of_each_point_and_what_the_paper_found() -> None:
    told = page("t", "a", [_table_7(results_of(as_published), sweeps())])
    assert "30: wsj-lru" in told
    assert "at-bsm for K &lt; 7, wsj-lru for K &gt; 10" in told
    assert told.count("<tr>") == 1 + 2 * 6


def test_of_a_few_cells_only_some_claims_are_judged() -> None:
    few = {claim.text for claim in judged(results_of(as_published, quick=True), sweeps(quick=True))}
    assert few < set(claims_of(as_published))
    assert not any(text.startswith(("Hp.2", "Hp.3", "Hp.4")) for text in few)
