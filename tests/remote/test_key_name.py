"""Keys of several columns as one text: each has a name, and no two have the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.errors import QueryError
from topwater.remote.key_name import KeyName
from topwater.remote.key_values import key_text

TEXTS = st.text(":;ab", max_size=4)
TEMPLATES = ["x:{a}:{b}", "{b}::{a}", "{a}:;{b}:", "a{a}ab{b}"]


@given(st.sampled_from(TEMPLATES), st.tuples(TEXTS, TEXTS), st.tuples(TEXTS, TEXTS))
def test_two_keys_that_fit_have_two_names(
    template: str, one: tuple[str, str], other: tuple[str, str]
) -> None:
    name = KeyName.of(template, ["a", "b"])
    keys = key_text(one), key_text(other)
    if all(map(name.fits, keys)) and one != other:
        assert name.filled(keys[0]) != name.filled(keys[1])


def test_a_part_that_reads_like_a_place_is_data() -> None:
    name = KeyName.of("x:{a}:{b}", ["a", "b"])
    assert name.filled(key_text(("{b}", "\x01"))) == "x:{b}:\x01"


@pytest.mark.parametrize(
    ("template", "parts", "problem", "fix"),
    [
        ("x:{a}", "a", "names one column", "write {key}"),
        ("x:{a}", ["a", "b"], "one place for each part", "user:{a}:{b}"),
        ("x:{a}:{a}", ["a", "b"], "one place for each part", "user:{a}:{b}"),
        ("x:{key}", ["a", "b"], "{key} is not a part of the key", "user:{a}:{b}"),
        ("x:{contry}:{a}", ["a", "country"], "{contry} is not a part", "did you mean {country}?"),
        ("x:{a}{b}", ["a", "b"], "nothing between two parts", "with text between them"),
        (7, ["a", "b"], "7 is not a key", "user:{a}:{b}"),
    ],
)
def test_what_is_not_a_name_is_refused(template: Any, parts: Any, problem: str, fix: str) -> None:
    with pytest.raises(QueryError) as caught:
        KeyName.of(template, parts)
    assert problem in caught.value.problem
    assert fix in str(caught.value.fix)
