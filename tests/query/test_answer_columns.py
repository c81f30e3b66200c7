"""What the columns of answers are called."""

from __future__ import annotations

from typing import Any

import pytest

from topwater import QueryError, TopKQuery, tumbling
from topwater.query.answer_columns import OURS, AnswerColumns


def query(**changes: Any) -> TopKQuery:
    given: dict[str, Any] = {
        "key": "lot", "time": "at", "window": tumbling(10), "k": 2, "score": "amount"
    }  # fmt: skip
    return TopKQuery(**{**given, **changes})


def test_of_an_event_only_the_score_is_kept() -> None:
    columns = AnswerColumns.of(query(score="amount - fee", group_by=("town", "day")))
    assert (columns.keys, columns.groups) == (("lot",), ("town", "day"))
    assert (columns.values, columns.remotes) == ({}, {})


def test_a_value_that_is_called_like_another_column_gets_an_underscore() -> None:
    take = {"rank": "max(x)", "rank_": "min(x)", "lot": "count", "price_age": "last(x)"}
    several = [{"remote": ["price", "town"], "from": "a"}, {"remote": "exact", "from": "b"}]
    columns = AnswerColumns.of(
        query(take=take, score="rank * price * exact", group_by="town", refresh=several)
    )
    assert columns.values == {
        "rank": "rank_", "rank_": "rank__", "lot": "lot_", "price_age": "price_age"
    }  # fmt: skip
    told = {name: of.names for name, of in columns.remotes.items()}
    assert told["price"] == ("price", "price_age_", "price_confidence", "price_assumed")
    assert told["town"][0] == "town_"
    assert told["exact"] == ("exact_", "exact_age", "exact_confidence", "exact_assumed")
    names = [
        *OURS,
        "lot",
        "town",
        *columns.values.values(),
        *(n for of in told.values() for n in of),
    ]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("field", "name"), [("key", "rank"), ("group_by", "kind")])
def test_a_key_or_a_group_keeps_its_name_or_is_refused(field: str, name: str) -> None:
    with pytest.raises(QueryError, match=f"{name}.* can't stand in the answers") as caught:
        AnswerColumns.of(query(**{field: name}))
    assert caught.value.field == field
    assert f"withColumnRenamed('{name}', 'the_{name}')" in caught.value.fix
