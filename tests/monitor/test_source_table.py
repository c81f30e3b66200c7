"""The sources of a query by name: what is missing is said, and one that fails costs its keys."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest

from tests.support.joined_scene import Shop, query_of
from tests.support.timing import HANGS
from topwater import remote, run
from topwater.errors import QueryError
from topwater.model import Fetched, KeyArray
from topwater.monitor.source_table import SourceTable, one_of

VENDORS = remote.memory({7: 1.0})
GIVEN: dict[str, Any] = {"shop": Shop({}), "vendors": VENDORS}


class Waiting:
    """Answers once all who meet here have been asked, and fails if nobody else is."""

    def __init__(self, meeting: threading.Barrier) -> None:
        self.meeting = meeting

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        self.meeting.wait(HANGS)
        return Fetched(np.ones(len(keys)), np.ones(len(keys), bool))


@pytest.mark.parametrize(
    ("sources", "problem"),
    [
        ({"shop": GIVEN["shop"]}, "the query names the source 'vendors'"),
        ({**GIVEN, "other": VENDORS}, "the query takes nothing from the source 'other'"),
        ({**GIVEN, "shop": VENDORS}, "gives one value, and 3 are wanted"),
        ({**GIVEN, "vendors": Shop({})}, "gives no value 'trust', but price, stock, maker"),
        (VENDORS, "one source was given, and the query names shop, vendors"),
    ],
)
def test_what_does_not_fit_is_said_before_anything_starts(sources: Any, problem: str) -> None:
    with pytest.raises(QueryError, match=problem):
        SourceTable.of(query_of(), sources)


def test_one_source_needs_no_name() -> None:
    query = query_of(refresh=[{"remote": "trust", "key": "vendor"}], score="sold", where="trust>0")
    assert SourceTable.of(query, VENDORS).sources.keys() == {"source"}


def test_one_or_several_are_given_but_not_both() -> None:
    assert one_of(VENDORS, None) is VENDORS
    assert one_of(None, GIVEN) is GIVEN
    assert one_of(None, None) is None
    with pytest.raises(QueryError, match="one source and several"):
        one_of(VENDORS, GIVEN)
    with pytest.raises(QueryError, match="no source was given"):
        list(run(query_of(), []))


def test_a_source_that_raises_costs_its_own_keys() -> None:
    class Broken:
        def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
            raise OSError("gone")

    table = SourceTable({"a": VENDORS, "b": Broken()})
    keys = np.array([7, 8])
    fine, lost = table.fetch([("a", keys), ("b", keys)], 0, None)
    assert fine.ok.all()
    assert lost.problems() == {"broken": 2}


def test_sources_are_asked_at_the_same_time() -> None:
    meeting, keys = threading.Barrier(2), np.array([7, 8])
    table = SourceTable({"a": Waiting(meeting), "b": Waiting(meeting)})
    got = table.fetch([("a", keys), ("b", keys), ("a", keys[:0])], 0, 2 * HANGS)
    assert [len(each.ok) for each in got] == [2, 2, 0]
    table.close()


def test_what_a_request_has_is_known_of_a_source_that_takes_any_number() -> None:
    """A request may have a cost of its own, and a service is sent several of them."""
    batched = remote.stack(VENDORS, per_request=3)
    assert batched.most is None
    table = SourceTable({"a": batched, "b": VENDORS})
    assert [table.most(name) for name in "ab"] == [3, None]


def test_it_can_be_sent_to_another_process() -> None:
    again = pickle.loads(pickle.dumps(SourceTable({"a": VENDORS})))  # noqa: S301
    (got,) = again.fetch([("a", np.array([7]))], 0, None)
    assert got.values.tolist() == [1.0]


def test_what_was_asked_is_tallied_until_it_is_taken() -> None:
    table = SourceTable({"a": remote.memory({1: 1.0}), "b": Broken()})
    asked: list[tuple[str, KeyArray]] = [("a", np.array([1, 2])), ("b", np.array([1, 2, 3]))]
    for _ in range(2):
        table.fetch(asked, 0, None)
    table.fetch([("a", np.array([], int)), ("b", np.array([7]))], 0, None)
    assert table.take_tally() == {"a": (4, 0), "b": (7, 7)}
    assert table.take_tally() == {}
    table.close()


class Broken:
    """A source that is never there."""

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        raise OSError("no route")
