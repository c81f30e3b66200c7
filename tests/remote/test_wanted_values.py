"""What is wanted of each key, from the settings that say so."""

from __future__ import annotations

import math

import pytest

from topwater.errors import QueryError
from topwater.remote.wanted_values import Wanted, names_of, text_names_of, wanted_values


def test_one_value_has_no_name() -> None:
    (wanted,) = wanted_values("$.price")
    assert (wanted.name, wanted.place, wanted.merge, wanted.setting) == (
        "",
        "$.price",
        None,
        "value",
    )
    assert names_of([wanted]) == ()


def test_several_have_names_and_texts_come_last() -> None:
    wanted = wanted_values(["price", "stock"], {"title": "max(name)"})
    assert names_of(wanted) == ("price", "stock", "title")
    assert text_names_of(wanted) == ("title",)
    assert [each.setting for each in wanted] == ["value.price", "value.stock", "text.title"]
    assert wanted[2] == Wanted("title", "name", text=True, merge="max")


def test_no_rows_are_a_count_of_nothing_even_where_the_source_has_counted() -> None:
    (count,) = wanted_values("count(price)")
    assert (count.absent, count.merged.absent, count.merged.merge) == (0.0, 0.0, None)
    assert math.isnan(wanted_values("sum(price)")[0].absent)


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ("maximum(price)", "did you mean max?"),
        ("avg(price)", "use one of: max, min, mean, sum, count, sample"),
        ("mean( )", "name what it is of, as mean(price)"),
        (" ", 'write value="price"'),
    ],
)
def test_what_is_wrong_is_told_with_what_to_write(given: str, fix: str) -> None:
    with pytest.raises(QueryError) as caught:
        wanted_values(given)
    assert fix in str(caught.value.fix)
