"""Settings that are right one by one, and can't work together."""

from __future__ import annotations

from typing import Any

import pytest

from topwater.errors import QueryError
from topwater.query import TopKQuery
from topwater.query.checks import check_query
from topwater.windows import counting, sliding

LISTED: dict[str, Any] = {
    "take": {"v": "last(v)"},
    "score": "v + remote",
    "refresh": {"remote": "remote", "spare": 0},
    "list": "mintopk+",
}


def query_of(**changes: Any) -> TopKQuery:
    plain = {"key": "who", "time": "at", "window": sliding(9, 3), "score": "a", "k": 3}
    return TopKQuery(**{**plain, **changes})


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"time": None}, "time"),
        ({"window": counting(10, 5), "time": None, "group_by": "team"}, "group_by"),
        ({"window": counting(10, 5), "time": None, "lateness": 5}, "lateness"),
        ({"list": "pskyband"}, "list"),
        ({"score": "1 + 2"}, "score"),
        ({"take": {}}, "take"),
        ({"take": {"n": "count"}, "score": "m"}, "score"),
        ({"take": {"n": "count"}, "score": "n", "list": "auto"}, "list"),
        ({"take": {"n": "count"}, "score": "n", "refresh": "remote"}, "score"),
        ({"take": {"n": "count"}, "score": "n + n", "refresh": "n"}, "refresh.remote"),
        ({"score": "a + remote", "refresh": "remote"}, "take"),
        ({**LISTED, "refresh": None, "score": "v"}, "list"),
        ({**LISTED, "take": {"v": "sum(v)"}}, "take"),
        ({**LISTED, "score": "v * remote"}, "score"),
        ({**LISTED, "refresh": {"remote": "remote", "spare": 3}}, "refresh.spare"),
    ],
)
def test_what_can_not_work_together_is_refused(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(QueryError, match=f"(?s)^{field}: .*fix: ") as refused:
        query_of(**changes)
    assert refused.value.field == field


@pytest.mark.parametrize("changes", [{}, LISTED, {"take": {"n": "count"}, "score": "n"}])
def test_what_works_is_left_alone(changes: dict[str, Any]) -> None:
    check_query(query_of(**changes))
