"""What came for the keys of a request, merged as is wanted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.remote.found_values import Found, merged
from topwater.remote.key_values import DOUBLED, NOTHING, OTHER_TYPE
from topwater.remote.wanted_values import wanted_values

ROWS = st.lists(
    st.tuples(
        st.sampled_from("abc"), st.none() | st.integers(-5, 5), st.sampled_from([None, "x", "y"])
    ),
    max_size=12,
)


@given(ROWS)
def test_it_is_what_each_key_has_from_scratch(
    rows: list[tuple[str, int | None, str | None]],
) -> None:
    settings = {"high": "max(v)", "sum": "sum(v)", "all": "count()", "some": "count(v)"}
    found = Found(wanted_values(settings, {"text": "min(t)"}))
    for key, value, text in rows:
        found.add(key, (value, value, 1, value, text))
    got = found.fetched(list("abcd"), 0.0)
    assert got.ok.all()
    for at, key in enumerate("abcd"):
        values = [value for each, value, _ in rows if each == key and value is not None]
        texts = [text for each, _, text in rows if each == key and text is not None]
        high, total = (max(values), sum(values)) if values else (math.nan, math.nan)
        np.testing.assert_equal(got.numbers("high")[at], float(high))
        np.testing.assert_equal(got.numbers("sum")[at], float(total))
        assert got.numbers("some")[at] == len(values)
        assert got.numbers("all")[at] == sum(each == key for each, _, _ in rows)
        assert got.texts("text")[at] == min(texts, default=None)


@pytest.mark.parametrize(
    ("values", "merge", "wanted"),
    [
        ([3, DOUBLED], "max", DOUBLED),
        ([OTHER_TYPE, 3], "max", OTHER_TYPE),
        ([None, NOTHING], "count", 0),
        ([NOTHING], "sum", NOTHING),
        (["x", 3], "sample", 3.0),
        (["x", "y"], "sample", "x"),
    ],
)
def test_what_is_not_a_number_makes_the_others_none_too(
    values: list[Any], merge: Any, wanted: Any
) -> None:
    assert merged(values, merge) == wanted


def test_what_the_source_does_not_know_has_no_count() -> None:
    wanted = wanted_values("count(v)")
    assert Found(wanted).fetched(["a"], 0.0).values.tolist() == [0.0]
    assert Found(wanted, stated=False).fetched(["a"], 0.0).lacks() == {"not_found": 1}
