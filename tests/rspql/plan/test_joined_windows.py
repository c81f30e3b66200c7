"""Windows that are read together."""

from __future__ import annotations

import pytest

from tests.support.rspql_asked import HEAD
from topwater.errors import QueryError
from topwater.rspql import parse
from topwater.rspql.plan.joined_windows import windows_in
from topwater.rspql.plan.plan import Plan


def joined(one: str, other: str) -> Plan:
    windows = f"FROM NAMED WINDOW :w ON :a [{one}] FROM NAMED WINDOW :x ON :b [{other}]"
    return parse(
        f"{HEAD}SELECT ?s {windows} "
        "WHERE { WINDOW :w { ?s :p ?v } WINDOW :x { ?s :q ?n } } ORDER BY DESC(?v) LIMIT 3"
    )


def test_the_widest_comes_first() -> None:
    plan = joined("RANGE PT3M STEP PT3M", "RANGE PT9M STEP PT3M")
    assert [each.width for each in plan.windows] == [540_000, 180_000]
    names = {str(each.stream).rpartition("/")[2]: each for each in plan.windows}
    assert windows_in(plan, names["a"].stream) == {names["a"].name}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("RANGE PT9M STEP PT3M", "RANGE PT9M STEP PT1M"),
        ("RANGE PT9M STEP PT3M", "RANGE PT8M STEP PT3M"),
        ("RANGE PT9M STEP PT3M", "ELEMENTS 5"),
    ],
)
def test_windows_that_close_at_different_times_are_refused(one: str, other: str) -> None:
    with pytest.raises(QueryError, match="do not close together"):
        joined(one, other)


def test_windows_by_count_are_not_joined() -> None:
    with pytest.raises(QueryError, match="windows by count are joined"):
        joined("ELEMENTS 5", "ELEMENTS 5")
