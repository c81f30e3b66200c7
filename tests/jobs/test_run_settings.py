"""The tables ``[spark]`` and ``[live]``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from topwater.errors import QueryError
from topwater.jobs.job_file import Written
from topwater.jobs.run_settings import LiveSettings, SparkSettings, settings_of


def spark(**settings: Any) -> SparkSettings:
    return settings_of(SparkSettings, Written(Path("job.toml"), {"spark": settings}), "spark")


def test_a_file_that_says_nothing() -> None:
    assert spark() == SparkSettings()
    assert settings_of(LiveSettings, Written(Path("job.toml"), {}), "live").port == 8787


def test_what_a_file_says() -> None:
    found = spark(
        master="local[2]", shards=4, idle="30 s", packages=["a:b:1"],
        settings={"spark.executor.cores": 2, "spark.x": True},
    )  # fmt: skip
    assert found.packages == ("a:b:1",)
    assert found.conf == {"spark.executor.cores": "2", "spark.x": "True"}
    assert "spark.executor.cores" not in repr(found)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("shards", 0), ("shards", 257), ("shards", True), ("shards", "2"),
        ("idle", "soon"),
        ("master", 7), ("late_rows", 1), ("packages", "a:b:1"), ("packages", [7]),
        ("settings", "spark.x=1"), ("metrics", 9464), ("metrics", "http://127.0.0.1"),
    ],
)  # fmt: skip
def test_settings_that_can_not_work_are_told_by_name(name: str, value: Any) -> None:
    with pytest.raises(QueryError, match=rf"job\.toml: spark\.{name}: ") as caught:
        spark(**{name: value})
    assert caught.value.fix


@pytest.mark.parametrize(("name", "value"), [("port", -1), ("port", 65_536), ("title", 7)])
def test_pages_that_can_not_be_served(name: str, value: Any) -> None:
    written = Written(Path("job.toml"), {"live": {name: value}})
    with pytest.raises(QueryError, match=rf"live\.{name}: "):
        settings_of(LiveSettings, written, "live")


def test_an_unknown_setting_is_told_with_the_near_one() -> None:
    with pytest.raises(QueryError, match=r"spark\.shard: ") as caught:
        spark(shard=2)
    assert "shards" in caught.value.fix
