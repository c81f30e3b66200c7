"""The settings by name are those that the sources take."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from topwater.remote.named import HttpSettings, SparqlSettings, SqlSettings, StackSettings

from topwater.remote.http_source import HttpSource
from topwater.remote.sparql_source import SparqlSource
from topwater.remote.sql_source import SqlSource
from topwater.remote.wrappers.stack import SETTINGS


def test_the_settings_of_a_stack() -> None:
    assert set(StackSettings.__annotations__) == set(SETTINGS)


@pytest.mark.parametrize(
    ("named", "source", "positional"),
    [
        (HttpSettings, HttpSource, ["url"]),
        (SparqlSettings, SparqlSource, ["endpoint", "pattern"]),
        (SqlSettings, SqlSource, ["url"]),
    ],
)
def test_the_settings_of_a_source(named: Any, source: Any, positional: list[str]) -> None:
    taken = list(inspect.signature(source).parameters)
    assert taken[: len(positional)] == positional
    assert set(named.__annotations__) - set(SETTINGS) == {*taken[len(positional) :]}
