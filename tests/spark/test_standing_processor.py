"""Stage 2 of standing queries in Spark's own tester, without Java."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql.streaming.tws_tester import TwsTester

from topwater.errors import StateError
from topwater.model import Counts
from topwater.scoring import Formula
from topwater.spark.standing_events import CHANGE, CHANGES, EVENTS, KEY, TIME, value_name
from topwater.spark.standing_processor import (
    STATE,
    Shown,
    StandingProcessor,
    begun,
    fed,
    inside_schema,
    of_shard,
    require_same_begin,
)
from topwater.standing import Standing, StandingQuery
from topwater.tables import pack

BEST = StandingQuery("best", 1, 3, Formula("x"))
TESTER = pytest.mark.filterwarnings("ignore:The behavior of DataFrame concat:FutureWarning")
"""Spark's tester puts together what comes out, with columns that are all null."""

SETTINGS: dict[str, Any] = {"columns": ["x"]}


def table(*events: tuple[int, str, float]) -> pa.Table:
    times, keys, values = zip(*events, strict=True)
    return pa.table({TIME: times, value_name(0): values, KEY: keys})


def standing() -> Standing:
    return begun(SETTINGS, [BEST.to_dict()], 0, 1)


def test_events_come_by_time_then_by_key() -> None:
    (found,), refused = fed(standing(), table((2, "b", 5.0), (1, "a", 3.0), (2, "a", 4.0)), [])
    assert found.key.tolist() == ["a", "a", "b"]
    assert found.score.tolist() == [3.0, 4.0, 5.0]
    assert not refused


def test_a_change_comes_before_the_events_that_are_later_than_it() -> None:
    asked = BEST.to_dict() | {"op": "register", "name": "late", "window": "3"}
    asked["score"] = json.dumps(asked["score"])
    changes: Any = [(2, asked), (1, {"op": "cancel", "name": "nobody"})]
    found, refused = fed(standing(), table((1, "a", 9.0), (2, "b", 8.0), (3, "c", 7.0)), changes)
    rows = [
        row for part in found for row in zip(part.query.tolist(), part.key.tolist(), strict=True)
    ]
    assert rows == [("best", "a"), ("late", "c")]
    assert [text.split(":")[0] for text in refused] == ["cancel 'nobody'"]


def test_changes_without_events_are_made_too() -> None:
    live = standing()
    found, refused = fed(live, pa.table({}), [(None, {"op": "cancel", "name": "best"})])
    assert (found, len(live), refused.total()) == ([], 0, 0)


def test_every_query_is_in_one_shard() -> None:
    queries = [{"name": f"q{number}"} for number in range(20)]
    parts = [list(of_shard(queries, shard, 3)) for shard in range(3)]
    assert sorted(each["name"] for part in parts for each in part) == sorted(
        each["name"] for each in queries
    )
    assert all(parts)
    assert list(of_shard([], 0, 3)) == []


def test_a_checkpoint_belongs_to_the_queries_and_shards_that_began_it() -> None:
    meta = {"begun": "x", "shards": 2}
    require_same_begin(meta, "x", 2)
    with pytest.raises(StateError, match="begun with other queries or settings"):
        require_same_begin(meta, "y", 2)
    with pytest.raises(StateError, match="written with shards=2"):
        require_same_begin(meta, "x", 1)


def frame(part: int, events: pa.Table) -> pd.DataFrame:
    meta = dict.fromkeys(Counts.__slots__, 0) | {"events": events.num_rows}
    row = {"shard": 0, "kind": EVENTS, "task": 0, "part": part, "portion": pack(events, meta)}
    return pd.DataFrame([row])


def processor(shown: Shown) -> StandingProcessor:
    queries = pickle.dumps([BEST.to_dict()])
    return StandingProcessor(json.dumps(SETTINGS), queries, begun="x", shards=1, shown=shown)


@TESTER
@pytest.mark.parametrize(
    ("shown", "expected"),
    [("stream", [("a", 3.0, 0), ("b", 5.0, 0)]), ("answers", [("b", 5.0, 1)])],
)
def test_results_or_answers_and_one_row_of_counts(
    shown: Shown, expected: list[tuple[str, float, int]]
) -> None:
    tester = TwsTester(processor(shown))
    out: Any = tester.testInPandas(0, frame(0, table((1, "a", 3.0), (2, "b", 5.0), (3, "c", 4.0))))
    assert list(out.columns) == [each.split(" ")[0] for each in inside_schema("", "").split(", ")]
    rows, (told,) = out[out["told"].isna()], out["told"].dropna().tolist()
    assert list(rows[["key", "score", "rank"]].itertuples(index=False, name=None)) == expected
    counted = json.loads(told)
    assert (counted["events"], counted["queries"], counted["bad_changes"]) == (3, 1, 0)


@TESTER
def test_a_state_goes_on_and_refused_changes_are_told() -> None:
    first = TwsTester(processor("stream"))
    first.testInPandas(0, frame(0, table((1, "a", 3.0), (2, "b", 5.0))))
    second = TwsTester(processor("stream"))
    state = first.peekValueState(STATE, 0)
    assert state is not None
    second.updateValueState(STATE, 0, state)
    wrong = pa.table(
        {CHANGE: ['{"op": "drop", "name": "best"}'], TIME: pa.array([None], pa.int64())}
    )
    rows = frame(0, table((3, "c", 4.0), (4, "d", 6.0)))
    change = rows.assign(kind=CHANGES, part=1, portion=[pack(wrong, {})])
    out: Any = second.testInPandas(0, pd.concat([rows, change]))
    assert out[out["told"].isna()]["key"].tolist() == ["d"], "b is still the best when c comes"
    told = json.loads(out["told"].dropna().iloc[0])
    assert (told["changes"], told["bad_changes"]) == (1, 1)
    assert "op: 'drop' is unknown" in next(iter(told["refused"]))
