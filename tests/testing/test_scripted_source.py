"""A source by script: values by time, failures, deadlines, and the contract."""

from __future__ import annotations

from typing import Any

import numpy as np

from topwater.testing import Scripted, check_source


def test_the_scripted_source_keeps_the_contract() -> None:
    values: dict[str, Any] = {"a": 1.0, "b": [(0, 2.0)], "c": 3.0}
    keys, missing = np.array(["a", "b", "c"], object), np.array(["x", "y"], object)
    check_source(lambda: Scripted(values), keys, missing)
    check_source(lambda: Scripted(values, seconds_per_key=0.1), keys, missing)


def test_values_are_those_of_the_time() -> None:
    source = Scripted({"a": [(10, 1.0), (20, 2.0)], "b": 5.0})
    keys = np.array(["a", "b", "x"], object)
    found = {}
    for source.now in (9, 10, 19, 20):
        found[source.now] = source.fetch(keys).values[0]
    assert np.array_equal([*found.values()], [np.nan, 1.0, 1.0, 2.0], equal_nan=True)
    assert (source.value("a", at=15), source.value("b", at=-9)) == (1.0, 5.0)
    assert source.fetches == 12


def test_the_truth_says_when_values_change_next() -> None:
    source = Scripted({"a": [(10, 1.0), (20, 2.0)], "b": 5.0})
    source.now = 10
    values, until = source.truth(np.array(["a", "b", "x"], object))
    assert np.array_equal(values, [1.0, 5.0, np.nan], equal_nan=True)
    assert until.tolist() == [20, np.inf, np.inf]
    assert source.calls == []


def test_keys_that_the_deadline_leaves_no_time_for_fail() -> None:
    source = Scripted({1: 1.0, 2: 2.0, 3: 3.0}, seconds_per_key=0.25)
    got = source.fetch(np.array([3, 1, 2]), 0.5)
    assert (got.ok.tolist(), got.seconds) == ([True, True, False], 0.5)
    assert np.array_equal(got.values, [3.0, 1.0, np.nan], equal_nan=True)
    assert source.fetch(np.array([3, 1, 2])).seconds == 0.75


def test_keys_fail_as_long_as_they_are_told_to() -> None:
    source = Scripted({1: 1.0})
    source.failing.add(1)
    assert not source.fetch(np.array([1])).ok[0]
    source.failing.clear()
    assert source.fetch(np.array([1])).ok[0]
