"""What a Redis server is asked, and how its replies are read."""

from __future__ import annotations

import pytest

from topwater.errors import QueryError
from topwater.remote.found_values import Found
from topwater.remote.redis_lookup import Lookup, said


def test_a_key_is_one_argument_whatever_it_holds() -> None:
    lookup = Lookup.of("a:{key}:b")
    assert lookup.commands(["x\r\ny {key}"]) == [("MGET", b"a:x\r\ny {key}:b")]
    with pytest.raises(UnicodeEncodeError):
        lookup.commands(["\ud800"])


def test_fields_that_are_not_there_are_told_apart_from_hashes_that_are_not() -> None:
    lookup = Lookup.of("a:{key}", ["n", "m"])
    found = Found(lookup.wanted)
    assert lookup.read(["x", "y"], [[b"7", None], [None, None]], found) == {}
    got = found.fetched(["x", "y"], 0.0)
    assert got.whys["m"].tolist() == ["no_value", "not_found"]


def test_an_error_about_all_keys_is_one_of_each() -> None:
    error, lookup = ValueError("no"), Lookup.of("a:{key}")
    assert lookup.read(["x", "y"], [error], Found(lookup.wanted)) == {"x": error, "y": error}


def test_replies_are_shown_as_texts() -> None:
    assert said([[b"7", None, b"\xff"]]).startswith('["7", null')


def test_one_hash_has_no_other_place_for_keys() -> None:
    with pytest.raises(QueryError, match="one place for the key"):
        Lookup.of("prices")
