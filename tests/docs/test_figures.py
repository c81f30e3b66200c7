"""The figures that the README, choosing and experiments print, made again by their command."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.support.docs_pages import ROOT

BUDGETS = (3, 7, 15)
NDCG = "relevance"
ROWS = {
    "no refresh": ("wst", None),
    "least recently read first": ("wsj-lru", None),
    "best published policy": ("at-tsm", None),
    "`worth`, the default": ("worth", NDCG),
}
"""What the README's table calls them, and what they are in the records."""


@pytest.fixture(scope="module")
def means(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    out = tmp_path_factory.mktemp("experiment")
    command = [str(Path(sys.executable).with_name("topwater")), "experiment", "acquatop"]
    subprocess.run([*command, "--quick", "--quiet", "--out", str(out)], check=True)  # noqa: S603
    records = pd.read_parquet(out / "records.parquet")
    records["aim"] = records["aim"].fillna("")
    figures = ["ndcg", "precision", "estimated_ndcg", "estimated_precision"]
    return records.groupby(["policy", "aim", "budget"])[figures].mean()


def printed(page: str, row: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.search(rf"^\| {re.escape(row)} \| (.*) \|$", text, re.MULTILINE)
    assert found is not None, row
    return [cell.strip() for cell in found[1].split("|")]


def test_the_pages_agree_with_each_other() -> None:
    """In short: what two pages print of the same run is the same, and in the order claimed."""
    ours = {row: [float(cell) for cell in printed("README.md", row)] for row in ROWS}
    full = {
        "no refresh": "`wst`: none",
        "least recently read first": "`wsj-lru`",
        "best published policy": "`at-tsm`",
        "`worth`, the default": "`worth`, the aim being nDCG",
    }
    for row, name in full.items():
        assert ours[row] == [
            float(cell.split(" / ")[0]) for cell in printed("docs/experiments.md", name)
        ], row
    chosen = printed("docs/choosing.md", "nDCG@5")
    at_seven = [ours[row][BUDGETS.index(7)] for row in ROWS]
    assert [float(chosen[place]) for place in (0, 1, 4, 5)] == at_seven
    for worse, better in itertools.pairwise(ours.values()):
        assert all(low <= high for low, high in zip(worse, better, strict=True))


@pytest.mark.soak
def test_the_table_of_the_readme(means: pd.DataFrame) -> None:
    for row, (policy, aim) in ROWS.items():
        computed = [f"{means.loc[(policy, aim or '', b)].ndcg:.2f}" for b in BUDGETS]
        assert printed("README.md", row) == computed, row
    published = means[means.index.get_level_values("policy").isin(["at-lru", "at-wbm", "at-bsm"])]
    for budget in BUDGETS:
        best = published.xs(budget, level="budget").ndcg.max()
        assert round(means.loc[("at-tsm", "", budget)].ndcg, 2) >= round(best, 2)


@pytest.mark.soak
def test_the_table_of_policies(means: pd.DataFrame) -> None:
    rows = {
        "`wst`: none": ("wst", ""),
        "`worth`, the aim being nDCG": ("worth", NDCG),
        "`worth`, the aim being precision": ("worth", "accuracy"),
        "`worth`, nDCG, carried over": ("worth+carry", NDCG),
        "`at-asm`: 20": ("at-asm", ""),
        "`clairvoyant`": ("clairvoyant", NDCG),
    }
    rows |= {f"`{name}`": (name, "") for name in ("wsj-rnd", "wsj-lru", "wsj-wbm", "at-lru")}
    rows |= {f"`{name}`": (name, "") for name in ("at-wbm", "at-bsm", "at-tsm")}
    for row, (policy, aim) in rows.items():
        found = [means.loc[(policy, aim, budget)] for budget in BUDGETS]
        computed = [f"{each.ndcg:.2f} / {each.precision:.2f}" for each in found]
        assert printed("docs/experiments.md", row) == computed, row


@pytest.mark.soak
def test_the_table_that_helps_with_choosing(means: pd.DataFrame) -> None:
    shown = [("wst", ""), ("wsj-lru", ""), ("wsj-wbm", ""), ("at-bsm", ""), ("at-tsm", "")]
    shown += [("worth", NDCG), ("worth+carry", NDCG)]
    for row, figure in (("nDCG@5", "ndcg"), ("precision@5", "precision")):
        computed = [f"{means.loc[(policy, aim, 7)][figure]:.2f}" for policy, aim in shown]
        assert printed("docs/choosing.md", row) == computed


@pytest.mark.soak
def test_the_table_of_estimates(means: pd.DataFrame) -> None:
    for budget in BUDGETS:
        both = means.loc["worth"].xs(budget, level="budget").mean()
        computed = [both.estimated_precision, both.precision, both.estimated_ndcg, both.ndcg]
        assert printed("docs/experiments.md", str(budget)) == [f"{each:.2f}" for each in computed]
