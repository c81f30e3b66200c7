"""What shards cost in precision: with one purse next to nothing."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from topwater_lab.bench import bench_commands, shard_precision
from topwater_lab.bench.shard_precision import Effort, ShardPoint, World, answers_of, shard_rows

SMALL = ShardPoint(keys=120, budget=6, windows=40, warm_up=20)


def test_one_purse_is_as_precise_as_one_shard_and_an_even_split_is_not() -> None:
    rows = list(shard_rows([SMALL], (8,), range(1, 3)))
    one, even, joint = rows
    assert [(row["purse"], row["shards"]) for row in rows] == [
        ("joint", 1),
        ("even", 8),
        ("joint", 8),
    ]
    assert one["ratio_to_one"] == 1.0
    assert even["ratio_to_one"] < 0.92
    assert joint["ratio_to_one"] > 0.97
    assert max(row["most_fetched"] for row in rows) <= SMALL.budget


def test_the_command_prints_json_or_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = ShardPoint(keys=40, budget=4, windows=14, warm_up=4)
    monkeypatch.setattr(shard_precision, "QUICK", Effort((tiny,), (2,), seeds=1))
    result = CliRunner().invoke(bench_commands.app, ["shards", "--quick", "--json", "--quiet"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert [(row["purse"], row["shards"]) for row in report["rows"]] == [
        ("joint", 1),
        ("even", 2),
        ("joint", 2),
    ]
    assert report["targets"][1]["reached"], "no window costs more than its budget"
    shown = CliRunner().invoke(bench_commands.app, ["shards", "--quick", "--quiet"])
    assert shown.exit_code == 0, shown.output
    assert "targets of shards" in shown.output


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("score", ["n * remote", "n + remote"])
def test_one_purse_at_size(score: str) -> None:
    """Single seeds scatter by some hundredths."""
    rows = list(shard_rows([ShardPoint(score=score)], (16,), range(100, 106)))
    one, even, joint = rows
    assert joint["ratio_to_one"] >= 0.97, rows
    assert even["ratio_to_one"] < joint["ratio_to_one"]
    assert one["most_fetched"] == joint["most_fetched"] == 20


def test_answers_with_all_values_known_are_right() -> None:
    """The measure itself: what can be read in time is right."""
    point = ShardPoint(keys=60, budget=60, windows=12)
    world = World(point, 1)
    for answer in answers_of(world, 1, "even")[3:]:
        assert world.accuracy(answer)[0] >= 0.9
