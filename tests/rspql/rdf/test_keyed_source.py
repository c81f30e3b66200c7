"""Sources that know nothing of RDF, asked by names and not by terms."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.troubled import Acting, waiting
from topwater.remote.memory import MemorySource
from topwater.rspql.rdf.keyed_source import KeySource
from topwater.testing import check_source

USER = "http://example.org/user/"


def keys_of(*keys: str) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    return np.array(keys, object)


@pytest.mark.parametrize(
    ("namespace", "term", "name"),
    [
        (USER, f"{USER}7", "7"),
        (USER, f"{USER}a/b", "a/b"),
        (USER, '"7"', "7"),
        (USER, '"7"^^<http://www.w3.org/2001/XMLSchema#integer>', "7"),
        (USER, '"say \\"no\\""@en', 'say "no"'),
        ("", "urn:x:7", "urn:x:7"),
    ],
)
def test_the_name_by_which_is_asked(namespace: str, term: str, name: str) -> None:
    source = KeySource(MemorySource({name: 1.5}), namespace)
    assert source.fetch(keys_of(term)).values.tolist() == [1.5]


@pytest.mark.parametrize("term", [USER, "http://example.org/7", "_:b"])
def test_a_term_without_a_name_is_not_asked_for_and_has_no_value(term: str) -> None:
    inner = Acting()
    got = KeySource(inner, USER).fetch(keys_of(term))
    assert not inner.calls
    assert got.ok.all()
    assert np.isnan(got.values).all()


def test_what_fails_fails_in_its_place() -> None:
    inner = Acting(waiting("limited", 3.0))
    got = KeySource(inner, USER).fetch(keys_of("_:b", f"{USER}7", f"{USER}8"), 2.0)
    assert (inner.calls, inner.deadlines) == ([["7", "8"]], [2.0])
    assert got.ok.tolist() == [True, False, False]
    assert got.problems() == {"limited": 2}
    assert got.wait == 3.0


def test_values_come_in_the_order_of_the_keys() -> None:
    source = KeySource(MemorySource({"7": 1.0, "8": 2.0}), USER)
    got = source.fetch(keys_of(f"{USER}8", "_:b", f"{USER}7", f"{USER}9"))
    np.testing.assert_array_equal(got.values, [2.0, np.nan, 1.0, np.nan])
    assert (got.problems(), got.lacks()) == ({}, {"not_found": 2})


def test_it_keeps_the_contract() -> None:
    check_source(
        lambda: KeySource(MemorySource({"7": 1.0, "8": 2.0}), USER),
        keys_of(f"{USER}7", f"{USER}8"),
        keys_of(f"{USER}9", "http://other.example/7"),
    )
