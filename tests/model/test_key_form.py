"""Keys as they are inside: nothing is lost, nothing becomes the same, and the order stays."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.support.typed_keys import DAY, keyed
from topwater.model import KeyColumn, KeyForm
from topwater.model.key_form import lowered, raised


def form_of(*kinds: str) -> KeyForm:
    return KeyForm(tuple(KeyColumn(f"c{at}", kind) for at, kind in enumerate(kinds)))


@given(keyed())
def test_keys_come_out_as_they_went_in_and_in_the_same_order(
    case: tuple[KeyForm, list[Any]],
) -> None:
    form, keys = case
    inside = [form.inside(key) for key in keys]
    out = [form.key(each) for each in inside]
    assert out == keys
    assert [type(key) for key in out] == [type(key) for key in keys]
    assert [form.key(each) for each in sorted(inside)] == sorted(keys)
    assert len({*inside}) == len({*keys})
    assert form.plain or not any("\0" in str(each) for each in inside)


@given(keyed())
def test_a_form_is_known_by_the_name_of_its_column(case: tuple[KeyForm, list[Any]]) -> None:
    form, _ = case
    assert KeyForm.of_column(form.column) == form


@pytest.mark.parametrize("name", ["who", '[["a"', '[["a", "b", "c"]]', ""])
def test_a_column_of_the_stream_tells_no_form(name: str) -> None:
    assert KeyForm.of_column(name) is None


@pytest.mark.parametrize("text", ["", "\0", "\x01\x02", "\x02\x02\x03", "a\x00\x01\x02\x03\x04z"])
def test_the_lowest_characters_are_put_back(text: str) -> None:
    assert lowered(raised(text)) == text
    assert not {"\x00", "\x01"} & set(raised(text))


def test_parts_can_not_run_into_each_other() -> None:
    form = form_of("text", "text")
    assert form.inside(("a", "b\x01c")) != form.inside(("a\x01b", "c"))
    assert form.inside(("", "a")) != form.inside(("a", ""))
    assert form.key(form.inside(("", ""))) == ("", "")


def test_integers_and_text_alone_are_what_they_were() -> None:
    assert form_of("text").plain
    assert form_of("whole").plain
    keys = np.array([3, 4])
    assert form_of("whole").keys(keys) is keys


def test_sources_get_an_object_for_each_key() -> None:
    form = form_of("text", "date")
    keys = form.keys(np.array([form.inside(("tea", DAY))], object))
    assert keys.shape == (1,)
    assert keys.tolist() == [("tea", DAY)]


def test_a_moment_is_the_same_in_any_zone() -> None:
    form = form_of("instant")
    there = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert form.inside(there) == form.inside(datetime(2026, 1, 1, tzinfo=UTC))


def test_a_decimal_keeps_its_digits() -> None:
    form = form_of("decimal(3)")
    key = Decimal("-123456789012345678901234567890.120")
    assert str(form.key(form.inside(key))) == str(key)


def test_other_kinds_are_another_form() -> None:
    assert form_of("unknown", "text").with_kinds(["date", "text"]) == form_of("date", "text")
    assert KeyColumn("price", "decimal(2)").in_words == "decimals with 2 digits after the point"
