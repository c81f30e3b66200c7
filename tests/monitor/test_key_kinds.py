"""A key that is text in the stream and a number in the source is refused with the fix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.support.joined_scene import Shop, query_of
from topwater import remote, run
from topwater.errors import BatchError
from topwater.monitor.key_kinds import kind_of, require_kinds
from topwater.remote.wrappers.wrapper import Around

NUMBERS, TEXTS = remote.memory({7: 1.0}), remote.memory({"7": 1.0})


def sources(vendors: Any) -> dict[str, Any]:
    return {"shop": Shop({"p1": {"price": 2.0, "stock": 1.0}}), "vendors": vendors}


def events(vendor: Any) -> dict[str, Any]:
    return {"product": ["p1"], "at": [5], "vendor": [vendor], "title": ["tea"]}


@pytest.mark.parametrize(
    ("vendors", "vendor", "here", "there"),
    [
        (NUMBERS, "7", "is text in the stream", "are whole numbers"),
        (TEXTS, 7, "is whole numbers in the stream", "are text"),
        (remote.stack(TEXTS), 7, "is whole numbers in the stream", "are text"),
    ],
)
def test_a_column_looked_up_by_must_be_of_the_kind_of_the_source(
    vendors: Any, vendor: Any, here: str, there: str
) -> None:
    with pytest.raises(BatchError) as caught:
        list(run(query_of(), [events(vendor)], sources=sources(vendors)))
    assert "'vendor'" in caught.value.problem
    assert here in caught.value.problem
    assert there in caught.value.problem
    assert "cast one of them" in (caught.value.fix or "")


def test_the_ranked_key_counts_too() -> None:
    goods = {"price": 2.0, "stock": 1.0, "maker": "A"}
    given = {**sources(NUMBERS), "shop": remote.memory({1: goods})}
    with pytest.raises(BatchError, match="'product' is text in the stream"):
        list(run(query_of(), [events(7)], sources=given))


@pytest.mark.parametrize("vendors", [NUMBERS, remote.memory({}), remote.memory({7: 1.0, "8": 2.0})])
def test_what_fits_or_does_not_say_is_asked(vendors: Any) -> None:
    answers = list(run(query_of(), [events(7)], sources=sources(vendors)))
    assert answers[0].freshness is not None
    assert answers[0].freshness.fetched == 2


def test_a_batch_without_rows_says_what_its_columns_are() -> None:
    schema = pa.schema([("product", pa.string()), ("vendor", pa.string())])
    with pytest.raises(BatchError, match="vendor"):
        require_kinds(query_of(), sources(NUMBERS), schema)
    require_kinds(query_of(), sources(NUMBERS), pa.schema([("vendor", pa.null())]))


def test_only_text_and_whole_numbers_are_compared() -> None:
    assert [kind_of(each) for each in (pa.float64(), pa.date32(), pa.large_string())] == [
        None,
        None,
        "text",
    ]


def test_sources_say_what_their_keys_are() -> None:
    steps = remote.Steps.of(np.zeros(1, np.int64), np.array([3]), np.ones(1))
    assert [remote.Replay(steps).key_kind, Around(NUMBERS).key_kind] == ["number", "number"]
    assert remote.memory({True: 1.0}).key_kind is None
