"""What a source gave: what went wrong, and how often."""

from __future__ import annotations

import numpy as np

from topwater.model.fetched import Fetched


def test_problems_are_counted_by_what_went_wrong() -> None:
    why = np.array(["", "late", "", "late", "server"], object)
    ok = np.array([True, False, False, False, False])
    assert Fetched(np.zeros(5), ok, why=why).problems() == {"": 1, "late": 2, "server": 1}


def test_where_the_source_can_not_tell() -> None:
    assert Fetched(np.zeros(3), np.array([True, False, False])).problems() == {"": 2}
    assert Fetched(np.zeros(2), np.array([True, True])).problems() == {}


def test_why_keys_have_no_number() -> None:
    values, ok = np.array([1.0, np.nan, np.nan, np.nan]), np.array([True, True, True, False])
    assert Fetched(values, ok).lacks() == {"not_found": 2}
    why = np.array(["", "", "text", "late"], object)
    assert Fetched(values, ok, why=why).lacks() == {"not_found": 1, "text": 1}
    assert Fetched(values[:1], ok[:1]).lacks() == {}
