"""In which table of a job a setting stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.job_files import job
from topwater.errors import QueryError
from topwater.jobs.setting_places import place_of, tables


@pytest.mark.parametrize(
    ("name", "table", "place"),
    [
        ("budget", "query", "query.refresh.budget"),
        ("deadline", "query.refresh", "query.refresh.budget.deadline"),
        ("shards", "query", "spark.shards"),
        ("k", "sink", "query.k"),
        ("rate", "query", "source.rate"),
        ("topics", "query", "stream.topics"),
        ("colour", "query", ""),
        ("path", "stream", ""),
        ("url", "sink", "stream.url"),
    ],
)
def test_where_a_setting_is(name: str, table: str, place: str) -> None:
    assert place_of(name, table) == place


def test_every_table_has_settings() -> None:
    assert all(tables().values())


@pytest.mark.parametrize(
    ("setting", "fix"),
    [
        ("query.shards=2", "it is a setting of [spark]: spark.shards"),
        ("spark.k=2", "it is a setting of [query]: query.k"),
        ("stream.budget=2", "it is a setting of [query.refresh]: query.refresh.budget"),
        ("sink.topics=2", "it is a setting of [stream]: stream.topics"),
        ("query.kk=2", "did you mean k?"),
    ],
)
def test_a_setting_in_the_wrong_table_is_told_with_its_own(
    setting: str, fix: str, tmp_path: Path
) -> None:
    with pytest.raises(QueryError) as caught:
        job(tmp_path, "", setting)
    assert caught.value.problem.startswith(f"--set {setting.partition('=')[0]}: no such setting")
    assert caught.value.fix == fix


def test_a_budget_where_nothing_is_looked_up_is_told_where_to_look_up(tmp_path: Path) -> None:
    with pytest.raises(QueryError) as caught:
        job(tmp_path, "", "query.budget=5")
    assert caught.value.problem == "--set query.budget: there is nothing to look up"
    assert "name the remote values in refresh" in caught.value.fix
