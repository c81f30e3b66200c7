"""``topwater bench``: what the commands take, print and refuse."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from topwater.errors import QueryError
from topwater_lab.bench import bench_commands
from topwater_lab.bench.spark_data import Size


def test_command_refuses_an_unknown_list() -> None:
    result = CliRunner().invoke(bench_commands.app, ["core", "--lists", "nope"])
    assert result.exit_code == 2
    assert "use one of: panes, mintopk" in result.stderr


@pytest.mark.parametrize(
    ("option", "word"), [("--data", "unifrom"), ("--k", "2"), ("--d", "7"), ("--algorithms", "pb")]
)
def test_a_part_that_there_is_not_is_refused(option: str, word: str) -> None:
    result = CliRunner().invoke(bench_commands.app, ["standing", "--quick", option, word])
    assert result.exit_code == 2
    assert f"{option[2:]}: '{word}' is unknown" in result.output
    assert "choose from" in result.output


def test_few_rows_are_refused() -> None:
    result = CliRunner().invoke(bench_commands.app, ["spark", "--rows", "100"])
    assert result.exit_code == 2
    assert "must be 20,000 or more" in result.stderr
    with pytest.raises(QueryError):
        Size.of(19_999)
