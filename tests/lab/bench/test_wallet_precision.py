"""One purse next to what costs as much: the command, and that it is ahead where it has to be."""

from __future__ import annotations

import dataclasses
import json

import pytest
from typer.testing import CliRunner

from topwater_lab.bench import bench_commands, wallet_precision
from topwater_lab.bench.wallet_precision import FULL, QUICK, Effort, bench_wallet
from topwater_lab.bench.wallet_worlds import CASES

FEW = Effort(
    tuple(case for case in CASES if case.name == "shared, costs 1:5"), 1, 40, 20, (0.3, 0.6)
)


def test_the_command_gives_rows_and_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    small = dataclasses.replace(FEW, windows=12, warm_up=8, shares=(0.5,))
    monkeypatch.setattr(wallet_precision, "QUICK", small)
    command = ["wallet", "--quick", "--quiet"]
    shown = CliRunner().invoke(bench_commands.app, [*command, "--json"])
    assert shown.exit_code == 0, shown.output
    report = json.loads(shown.stdout)
    assert [row["contender"] for row in report["rows"]] == [
        "worth",
        "ranked key alone",
        "a copy for each key",
        "fixed split",
        "TTL caches",
    ]
    assert len(report["targets"]) == 8
    table = CliRunner().invoke(bench_commands.app, command)
    assert "TTL caches" in table.stdout
    assert "targets of one purse" in table.stdout


def test_the_best_of_a_sweep_is_shown() -> None:
    alone = [
        bench_wallet(
            dataclasses.replace(FEW, windows=12, warm_up=6, shares=(share,)), 3, quiet=True
        )
        for share in (0.1, 0.9)
    ]
    both = bench_wallet(
        dataclasses.replace(FEW, windows=12, warm_up=6, shares=(0.1, 0.9)), 3, quiet=True
    )
    rows = [report["rows"][3] for report in (*alone, both)]
    assert rows[2] == max(rows[:2], key=lambda row: row["precision"])


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_one_purse_is_ahead_of_caches_and_overspends_nothing() -> None:
    """Whether it is ahead of the best fixed split is a figure, and no promise."""
    effort = dataclasses.replace(FULL, seeds=2, cases=QUICK.cases, shares=(0.5,))
    report = bench_wallet(effort, quiet=True)
    right = {(row["case"], row["contender"]): row["precision"] for row in report["rows"]}
    for case in QUICK.cases:
        assert right[case.name, "worth"] > right[case.name, "TTL caches"] + 0.02
        if case.kind == "shared":
            assert right[case.name, "worth"] > right[case.name, "a copy for each key"] + 0.02
    assert [target["reached"] for target in report["targets"][-2:]] == [True, True]
