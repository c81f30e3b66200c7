"""What a source gave: what went wrong, and how often."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

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


def several(*titles: str | None) -> Fetched:
    columns = {"price": np.arange(float(len(titles))), "title": np.array(titles, object)}
    return Fetched.of_columns(columns)


def failing(count: int, why: str = "late") -> Fetched:
    return Fetched(
        np.full(count, np.nan), np.zeros(count, bool), why=np.full(count, why, object), wait=2.0
    )


def test_what_failed_as_a_whole_says_nothing_in_the_columns_of_others() -> None:
    got = Fetched.joined([failing(1), several("a", None), failing(2, "server")], 0.5)
    np.testing.assert_array_equal(got.numbers("price"), [np.nan, 0.0, 1.0, np.nan, np.nan])
    assert got.texts("title").tolist() == [None, "a", None, None, None]
    assert got.ok.tolist() == [False, True, True, False, False]
    assert got.problems() == {"late": 1, "server": 2}
    assert (got.seconds, got.wait) == (0.5, 2.0)


def test_some_of_the_keys_and_others_put_in_their_place() -> None:
    got = several("a", "b", "c")
    newer = got.put(np.array([2, 0]), several("d", "e").at(np.array([0, 1])))
    assert newer.texts("title").tolist() == ["e", "b", "d"]
    assert newer.values.tolist() == newer.numbers("price").tolist() == [1.0, 1.0, 0.0]
    assert got.texts("title").tolist() == ["a", "b", "c"]
    lost = got.put(np.array([1]), failing(1))
    assert lost.texts("title").tolist() == ["a", None, "c"]
    assert lost.reasons().tolist() == ["", "late", ""]


def test_reasons_of_single_columns_are_kept() -> None:
    told = replace(several("a", None), whys={"title": np.array(["", "null"], object)})
    joined = Fetched.joined([several("x"), told], 0.0)
    assert joined.whys["title"].tolist() == ["", "", "null"]
    assert joined.at(np.array([2])).whys["title"].tolist() == ["null"]
    assert several("x").put(np.array([0]), told.at(np.array([1]))).whys["title"].tolist() == [
        "null"
    ]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.data())
def test_joined_parts_are_what_is_at_their_places(sizes: list[int], data: st.DataObject) -> None:
    parts = [
        failing(size) if data.draw(st.booleans()) else several(*map(str, range(size)))
        for size in sizes
    ]
    whole, at = Fetched.joined(parts, 0.0), 0
    for part in parts:
        mine = whole.at(np.arange(at, at + len(part.ok)))
        np.testing.assert_array_equal(mine.numbers("price"), part.numbers("price"))
        assert mine.texts("title").tolist() == part.texts("title").tolist()
        assert mine.reasons().tolist() == part.reasons().tolist()
        at += len(part.ok)


def test_without_columns_all_is_missing() -> None:
    assert np.isnan(Fetched.nothing(2).numbers("price")).all()
    assert Fetched.nothing(2).texts("title").tolist() == [None, None]
