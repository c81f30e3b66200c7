"""Those that the demo compares its answers with, judged by the truth."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.demo_played import played, reported
from topwater.model import Row
from topwater_lab.demo.contenders import (
    LIVES,
    PUBLISHED,
    best,
    contest,
    field_of,
    judged,
    needed,
    rungs,
    truth,
)
from topwater_lab.demo.findings import made
from topwater_lab.demo.scene import Scene


def test_contenders_have_the_same_budget_and_the_truth_judges_them() -> None:
    here, found, others = played()
    report = reported()
    assert (len(report.answers), report.differing) == (25, 0)
    assert [each.name for each in others.published] == list(PUBLISHED)
    assert [each.name for each in others.caches] == [f"ttl:{life}" for life in LIVES]
    for each in (report.ours, *others.published, *others.caches):
        assert all(window.fetched <= here.budget for window in each.windows)
    assert others.everything.ndcg > 0.99
    assert (others.table.fetches, others.table.gain("ndcg", over=others.table)) == (0.0, None)
    assert report.ours.ndcg > best(others.published).ndcg > others.table.ndcg
    assert report.ours.ndcg > best(others.caches).ndcg
    assert made(here, found[:-1], others).differing == 1
    assert made(here, [*found, found[2]], others).differing == 1


def test_a_contest_is_what_the_query_answers() -> None:
    here, found, _ = played()
    twin = contest(here, "worth")
    for answer, window in zip(found, twin.windows, strict=True):
        mine = judged(here, answer)
        assert (mine.keys, mine.ndcg, mine.fetched) == (window.keys, window.ndcg, window.fetched)


def test_the_true_five_are_right_by_their_own_measure() -> None:
    here, found, _ = played()
    for answer in found:
        true = truth(here, answer.window.index)
        rows = tuple(Row(rank, key, 0.0, 0) for rank, key in enumerate(true, 1))
        verdict = judged(here, replace(answer, rows=rows))
        assert verdict.ndcg == pytest.approx(1.0)
        assert verdict.precision == 1.0


def test_what_a_rival_needs_is_the_least_that_is_enough() -> None:
    here, _, others = played()
    climbed = [rung for budget in (7, 20, 40) for rung in rungs(here, others, budget)]
    target = contest(here, "worth").ndcg
    found = needed(climbed, "cache", "ndcg", target)
    assert found is not None
    enough = [r for r in climbed if r.kind == "cache" and r.contender.ndcg >= target]
    assert found.contender.fetches == min(r.contender.fetches for r in enough)
    assert found.contender.fetches > 7
    assert needed(climbed, "cache", "ndcg", 1.1) is None


@pytest.mark.parametrize("policy", ["at-tsm", "ttl:5 min"])
def test_whoever_is_ours_is_no_rival(policy: str) -> None:
    here = Scene(windows=3, policy=policy)
    others = field_of(here)
    names = [each.name for each in (*others.published, *others.caches)]
    assert policy not in names
    assert len(names) == len(PUBLISHED) + len(LIVES) - 1


def test_rungs_hold_every_kind() -> None:
    here, _, others = played(2, 7)
    found = rungs(here, others, 3)
    assert {rung.kind for rung in found} == {"ours", "published", "cache"}
    assert all(rung.contender.fetches <= 3 for rung in found)
