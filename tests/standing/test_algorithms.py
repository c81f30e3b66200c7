"""The algorithms by name, those of the laboratory among them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tests.support.distributions import hide_lab
from topwater.errors import QueryError
from topwater.standing import Standing
from topwater.standing.algorithms import Settings, algorithms
from topwater_lab.rivals import RIVALS

NAMES = {f"{band}a{filter_}" for band in "sr" for filter_ in ("", "sf", "rf", "pf")} | {
    "pa",
    "auto",
}


@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_is_known_where_the_laboratory_is_installed(name: str) -> None:
    """In a fresh process too, which may be a worker of Spark's: nobody has imported the rivals."""
    code = f"""
from topwater.standing import Standing
print(Standing(["x"], algorithm={name!r}).settings.algorithm)
"""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{name}\n"


def test_without_the_laboratory_the_error_says_where_rivals_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in RIVALS:
        monkeypatch.delitem(algorithms._entries, name)
    hide_lab(monkeypatch)
    with pytest.raises(QueryError) as caught:
        Standing(["x"], algorithm="snn")
    assert str(caught.value).startswith("algorithm: 'snn' is unknown\n  fix: use one of: sa, sasf,")
    assert caught.value.fix.endswith('; cpm/w and snn come with: pip install "topwater[lab]"')


def test_the_names_that_the_error_promises_are_those_of_the_laboratory() -> None:
    assert algorithms.in_lab == RIVALS


def test_an_unknown_name_shows_all_that_there_are() -> None:
    with pytest.raises(QueryError) as caught:
        Settings(("x",), algorithm="best")
    assert set(caught.value.fix.removeprefix("use one of: ").split(", ")) == {*algorithms, *RIVALS}


def test_all_compositions_have_a_name() -> None:
    assert set(algorithms) >= NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_makes_an_engine_without_queries(name: str) -> None:
    for timed in (False, True):
        engine = algorithms[name](Settings(("x", "y"), name), timed)
        assert (engine.reach, engine.held().tolist()) == (0, [])


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"columns": ()}, "columns"),
        ({"columns": ("x", "x")}, "columns"),
        ({"columns": ("x", "time")}, "columns"),
        ({"gamma": -1}, "gamma"),
        ({"additional": True}, "additional"),
        ({"cells": 1}, "cells"),
        ({"indexed": "never"}, "indexed"),
        ({"buffer": 0}, "buffer"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any], field: str) -> None:
    with pytest.raises(QueryError) as caught:
        Settings(**({"columns": ("x",)} | wrong))
    assert caught.value.field == field
