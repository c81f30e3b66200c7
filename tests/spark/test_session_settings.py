"""Whose settings a session has: the program's, the user's, or ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from topwater import EnvironmentProblem
from topwater.spark import settings
from topwater.spark.session_settings import HERE, PARTITIONS, Asked, chosen_settings

if TYPE_CHECKING:
    from pathlib import Path

UI, ADDRESS, ZONE = "spark.ui.enabled", "spark.driver.bindAddress", "spark.sql.session.timeZone"
PACKAGES = "spark.jars.packages"


def test_without_any_word_it_runs_here_and_keeps_to_itself(tmp_path: Path) -> None:
    found = chosen_settings(Asked(), {}, settings(), tmp_path)
    assert settings().items() <= found.items()
    names = ("spark.master", "spark.app.name", UI, ADDRESS, ZONE)
    assert [found[name] for name in names] == [HERE, "topwater", "false", "127.0.0.1", "UTC"]


def test_what_is_asked_wins_over_the_users_defaults_and_these_over_ours(tmp_path: Path) -> None:
    defaults = {
        "spark.master": "spark://host:7077",
        PARTITIONS: "7",
        UI: "true",
        ZONE: "CET",
        "spark.x": "1",
        "spark.y": "1",
    }
    found = chosen_settings(Asked(conf={"spark.y": "2"}), defaults, settings(), tmp_path)
    names = ("spark.master", PARTITIONS, UI, ZONE, "spark.x", "spark.y")
    told = ["spark://host:7077", "7", "true", "CET", "1", "2"]
    assert [found[name] for name in names] == told
    assert ADDRESS not in found  # other machines have to reach this one
    asked = Asked("job", "local[2]", 4, conf={PARTITIONS: "5"})
    found = chosen_settings(asked, defaults, settings(), tmp_path)
    assert [found[name] for name in names[:2]] == ["local[2]", "5"]
    assert found[ADDRESS] == "127.0.0.1"
    assert chosen_settings(asked._replace(conf={}), defaults, {}, tmp_path)[PARTITIONS] == "4"


def test_packages_of_both_are_fetched_unless_java_runs_already(tmp_path: Path) -> None:
    asked = Asked(packages=["g:b:1", "g:a:1"])
    defaults = {PACKAGES: "g:a:1,g:c:1"}
    assert chosen_settings(asked, defaults, {}, tmp_path)[PACKAGES] == "g:a:1,g:c:1,g:b:1"
    with pytest.raises(
        EnvironmentProblem, match="spark-submit was started without g:b:1"
    ) as caught:
        chosen_settings(asked, defaults, {}, None)
    assert caught.value.fix == "add --packages g:a:1,g:c:1,g:b:1"
    there = {PACKAGES: "g:a:1,g:b:1"}
    assert chosen_settings(asked, there, {}, None)[PACKAGES] == "g:a:1,g:b:1"


def test_where_java_runs_already_only_what_topwater_needs_is_added() -> None:
    found = chosen_settings(Asked(), {"spark.master": "yarn"}, settings(), None)
    own = {"spark.master": "yarn", "spark.app.name": "topwater", ZONE: "UTC"}
    assert found == settings() | own
