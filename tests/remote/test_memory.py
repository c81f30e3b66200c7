"""Values in memory."""

from __future__ import annotations

import numpy as np

from topwater.remote import memory
from topwater.testing import check_source


def test_it_keeps_the_contract() -> None:
    check_source(lambda: memory({1: 1.0, 2: 2.0}), np.array([1, 2]), np.array([7]))
    names = np.array(["a", "b"], object)
    check_source(lambda: memory({"a": 1.0, "b": 2.0}), names, np.array(["c"], object))


def test_changes_of_the_mapping_are_seen() -> None:
    values = {1: 1.0}
    source = memory(values)
    values[1] = 5.0
    assert source.fetch(np.array([1])).values.tolist() == [5.0]


def test_without_time_there_is_no_answer() -> None:
    assert memory({1: 1.0}).fetch(np.array([1]), 0.0).problems() == {"late": 1}
