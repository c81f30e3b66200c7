"""``topwater state``: what is shown, and what is rewritten."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from tests.support.observed import SHARDS
from topwater.cli import app

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.observed import Ran


@pytest.mark.parametrize("words", [["state", "/no/such"], ["state", "show", "/no/such"]])
def test_show_is_meant_where_nothing_is_named(words: list[str]) -> None:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1
    assert done.stderr.startswith("error: /no/such is not there\n  fix: give the checkpoint")
    options = CliRunner().invoke(app, ["state", "--json", "/no/such"])
    assert options.stderr == done.stderr


def test_what_is_missing_is_told() -> None:
    done = CliRunner().invoke(app, ["state", "rescale", "/no/such"])
    assert (done.exit_code, "shards" in done.stderr) == (2, True)
    done = CliRunner().invoke(app, ["state", "rescale", "/no/such", "--shards", "4"])
    assert done.stderr.startswith("error: /no/such is not there\n  fix: give the checkpoint")
    shown = CliRunner().invoke(app, ["state", "--help"]).stdout
    assert "rescale" in shown


@pytest.mark.spark
def test_a_checkpoint_is_rewritten(spark: SparkSession, ran: Ran, tmp_path: Path) -> None:
    place = tmp_path / "answers" / "_checkpoint"
    shutil.copytree(ran.checkpoint, place)
    command = ["state", "rescale", str(tmp_path / "answers"), "--shards", "1"]
    done = CliRunner().invoke(app, command)
    kept = f"{place}.with-{SHARDS}-shards"
    assert done.stdout == f"{place} is now for 1 shards; for {SHARDS} it is {kept}\n"
    again = CliRunner().invoke(app, command)
    assert again.stdout == f"{place} is for 1 shards already\n"
    text = CliRunner().invoke(app, ["state", str(place)]).stdout
    assert "shard    0 of 1, " in text
    assert "ranking" not in text
