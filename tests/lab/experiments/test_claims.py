"""The claims, judged on made-up results for the whole grid: each can be confirmed and denied."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.published_results import Score, as_published, results_of
from topwater_lab.experiments.acquatop import (
    OURS,
    UNLIMITED,
    Cell,
    sweeps,
)
from topwater_lab.experiments.claims import Claim, judged
from topwater_lab.experiments.tracks import CARRIED


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


def test_of_a_few_cells_only_some_claims_are_judged() -> None:
    few = {claim.text for claim in judged(results_of(as_published, quick=True), sweeps(quick=True))}
    assert few < set(claims_of(as_published))
    assert not any(text.startswith(("Hp.2", "Hp.3", "Hp.4")) for text in few)
