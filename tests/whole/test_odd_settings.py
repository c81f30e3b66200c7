"""Whatever is given for a setting, it is taken or refused in our own words."""

from __future__ import annotations

import datetime as dt
import decimal
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from topwater import Budget, TopKQuery, remote, sliding, tumbling
from topwater.errors import TopwaterError
from topwater.replica import RefreshSettings
from topwater.replica.joins.allowance import Allowance
from topwater.replica.joins.join import Join
from topwater.replica.joins.join_settings import JoinSettings
from topwater.scoring import Euclidean, Formula, WeightedDistance, WeightedSum
from topwater.standing import Standing, StandingQuery

NUMBERS = [True, -1, 0, 2.5, float("nan"), float("inf"), 2**70, np.int64(3), np.float32(2)]
ODD: list[Any] = [
    *NUMBERS,
    *(None, "", "x", "-5 s", "\0", "é" * 300, b"k", object(), range(3), decimal.Decimal(3)),
    *([], {}, (), [1, "a"], {"a": 1}, {1: 2}, (1, 2), {"a", "b"}, [[]], {"a": {"b": []}}),
    *(np.array([1, 2]), np.array([]), pd.Series([1, 2]), pd.DataFrame({"a": [1]}), pa.array([1])),
    *(dt.timedelta(seconds=3), dt.timedelta(-1), dt.datetime(2026, 1, 1, tzinfo=dt.UTC), len, int),
]
QUERY = {"key": "a", "time": "t", "window": tumbling("1 s"), "score": "v", "k": 1}
JOINED = QUERY | {"take": {"n": "count"}, "score": "n * r", "refresh": [{"remote": "r"}]}
MADE: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "query": (TopKQuery, QUERY),
    "query of aggregates": (TopKQuery, QUERY | {"take": {"v": "count"}}),
    "tumbling": (tumbling, {"width": "1 s"}),
    "sliding": (sliding, {"width": "2 s", "step": "1 s"}),
    "budget": (Budget, {}),
    "refresh": (RefreshSettings, {"remote": "r"}),
    "join": (Join, {"remote": "r"}),
    "joins": (JoinSettings, {"joins": [{"remote": "r"}]}),
    "allowance": (Allowance, {}),
    "query of joins": (TopKQuery, JOINED),
    "standing": (Standing, {"columns": ["x"]}),
    "standing query": (StandingQuery, {"name": "q", "k": 1, "window": 5, "score": "x"}),
    "formula": (Formula, {"text": "x"}),
    "sum": (WeightedSum, {"weights": {"x": 1}}),
    "euclidean": (Euclidean, {"point": {"x": 1}}),
    "distance": (WeightedDistance, {"point": {"x": 1}}),
    "http": (remote.http, {"url": "http://127.0.0.1:9/{key}", "key": "k", "value": "v"}),
    "sql": (remote.sql, {"url": "sqlite://", "table": "t", "key": "k", "value": "v"}),
    "redis": (remote.redis, {"url": "redis://127.0.0.1:9", "key": "u:{key}", "value": "v"}),
    "sparql": (
        remote.sparql,
        {"endpoint": "http://127.0.0.1:9/", "pattern": "?key <u:p> ?value", "key": "key"},
    ),
    "memory": (remote.memory, {"values": {}}),
}
SETTINGS = [
    (what, name)
    for what, (make, _) in MADE.items()
    for name, each in inspect.signature(make).parameters.items()
    if each.kind is not each.VAR_KEYWORD
]


@pytest.mark.parametrize(("what", "name"), SETTINGS)
def test_it_is_taken_or_refused_in_our_words(what: str, name: str) -> None:
    make, usual = MADE[what]
    for value in ODD:
        error = _refusal(make, {**usual, name: value})
        assert error is None or (error.fix and len(str(error)) < 2_000), value


def _refusal(make: Callable[..., Any], given: dict[str, Any]) -> TopwaterError | None:
    """What is said against the settings; any other exception is a fault."""
    try:
        made = make(**given)
    except TopwaterError as error:
        return error
    if hasattr(made, "close"):
        made.close()
    return None
