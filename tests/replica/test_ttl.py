"""A cache whose entries expire, as a policy."""

from __future__ import annotations

import pytest

from tests.support.looping import MINUTE, Loop, query_of
from topwater.errors import QueryError
from topwater.replica.policies import resolve
from topwater.testing import Scripted, check_policy
from topwater.windows import tumbling


def test_contract_with_a_time_of_its_own() -> None:
    check_policy("ttl:2 min", steps=5)


def test_what_has_expired_is_fetched_in_the_order_of_the_stream_and_nothing_else() -> None:
    """::

    windows  |  a b c d  |  d c b a  |  a b c d  |  c d a b  |
    fetched     three       the 4th     none        those three, as they are met
    """
    source = Scripted({key: [(0, 1.0)] for key in "abcd"})
    query = query_of(policy="ttl:3 min", budget=3, window=tumbling("1 min"))
    loop = Loop(query, source)
    for minute, keys in enumerate(["abcd", "dcba", "abcd", "cdab"]):
        loop.ingest([(key, minute * MINUTE + 1 + at) for at, key in enumerate(keys)])
        loop.answer()
    first, second, fourth = source.calls
    assert len(first) == 3
    assert second == [key for key in "abcd" if key not in first]
    assert fourth == [key for key in "cdab" if key in first]


def test_a_key_that_fails_waits_for_its_time_as_others_do() -> None:
    source = Scripted({"a": 1.0, "b": 2.0})
    source.failing.add("a")
    loop = Loop(query_of(policy="ttl:2 min", budget=2, window=tumbling("1 min")), source)
    for minute in range(3):
        loop.ingest([("a", minute * MINUTE + 1), ("b", minute * MINUTE + 2)])
        loop.answer()
    assert [sorted(map(str, keys)) for keys in source.calls] == [["a", "b"], ["a", "b"]]


@pytest.mark.parametrize("name", ["ttl:soon", "ttl:", "at-ttl:5 parsecs"])
def test_a_time_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(QueryError, match="is not a duration"):
        resolve(name)
