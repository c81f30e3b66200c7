"""Many answers at once: a sequence, a table, and pictures."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from datetime import date
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest

from tests.support.shown import answer
from topwater import Answers, TopKQuery, counting, run, tumbling
from topwater.errors import QueryError
from topwater.model import LookUp


def collected() -> Answers:
    query = TopKQuery(key="who", time="at", window=tumbling(10), score="value", k=2)
    events = {"who": ["a", "b", "c", "a"], "at": [1, 2, 12, 33], "value": [3.0, 5.0, 4.0, 1.0]}
    return Answers(run(query, [events]))


def test_answers_are_a_sequence_and_a_table() -> None:
    answers = collected()
    assert [each.keys for each in answers] == [["b", "a"], ["c"], [], ["a"]]
    assert answers[1:] == Answers(list(answers)[1:])
    assert answers[0] in answers
    assert repr(answers) == "<Answers: 4, the last of (30, 40]: 'a'>"
    assert (repr(answers[:1]), repr(answers[:0])) == (
        "<Answers: one of (0, 10]: 'b', 'a'>",
        "<Answers: none>",
    )
    rows = answers.to_arrow().select(["window_start", "window_end", "rank", "key"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (0, 10, 1, "b"),
        (0, 10, 2, "a"),
        (10, 20, 1, "c"),
        (20, 30, None, None),
        (30, 40, 1, "a"),
    ]
    assert list(answers.to_pandas()["events"]) == [4, 4, 0, 0, 0], "told with the next answer"
    assert answers._repr_html_().count("<tr>") == 5


def test_the_table_has_the_look_ups_and_the_group() -> None:
    told = answer(group="red", looked_up=(LookUp("ann", None, 0.5, ok=True),))
    row = Answers([told]).to_arrow().to_pylist()[0]
    assert (row["group"], row["fetched"]) == ("red", 7)
    assert row["problems"] == []
    told = answer(problems=(("late", 3), ("refused", 1)))
    assert Answers([told]).to_arrow().to_pylist()[0]["problems"] == [("late", 3), ("refused", 1)]
    assert row["looked_up"] == [{"key": "ann", "before": None, "after": 0.5, "ok": True}]


def test_only_the_last_of_very_many_answers_are_shown() -> None:
    shown = Answers([answer()] * 500)._repr_html_()
    assert "the last 12 of them" in shown
    assert shown.count("<tr>") == 13


def test_charts_are_pictures_that_can_be_saved(tmp_path: Path) -> None:
    charts = [answer().plot(), collected().plot(), Answers([answer(), answer()]).plot("accuracy")]
    for number, chart in enumerate(charts):
        path = chart.save(tmp_path / f"{number}.svg")
        root = ET.fromstring(path.read_text())  # noqa: S314  our own file
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "SVG" in repr(chart)


@pytest.mark.parametrize(
    ("answers", "what", "told"),
    [
        (Answers(), "ranks", "no answer has a row"),
        (collected(), "accuracy", "no estimate without a remote part"),
        (collected(), "speed", "'speed' is unknown"),
    ],
)
def test_what_can_not_be_plotted_is_said(
    answers: Answers, what: Literal["ranks", "accuracy"], told: str
) -> None:
    with pytest.raises(QueryError, match=told):
        answers.plot(what)


def test_pandas_gets_timestamps_and_numbers() -> None:
    query = TopKQuery(key="who", time="at", window=tumbling("1 h"), score="n", k=1)
    start = 1_767_225_600_000
    answers = Answers(run(query, [{"who": ["a"], "at": [start + 1], "n": [1.0]}]))
    frame = answers.to_pandas()
    for name in ("window_start", "window_end", "time"):
        assert str(frame[name].dtype) == "datetime64[ms, UTC]"
    assert str(frame["window_end"][0]) == "2026-01-01 01:00:00+00:00"
    for name in ("remote", "age", "confidence", "score"):
        assert frame[name].dtype == "float64", name
    assert frame["rank"].dtype == "int64"


def test_pandas_keeps_positions_as_numbers() -> None:
    query = TopKQuery(key="who", window=counting(2, 2), score="n", k=1)
    frame = Answers(run(query, [{"who": ["a", "b"], "n": [1.0, 2.0]}])).to_pandas()
    assert frame["window_end"].tolist() == [2]


class TestKeysOfSeveralColumns:
    def answers(self) -> Answers:
        query = TopKQuery(
            key=("product", "day"),
            time="at",
            window=tumbling(10),
            take={"sold": "count"},
            score="sold",
            k=2,
            group_by=("shop", "product"),
        )
        day = date(2026, 11, 18)
        rows = [{"product": "tea", "day": day, "shop": shop, "at": 1} for shop in (7, 8)]
        return Answers(run(query, [rows, [{**rows[0], "at": 25}]]))

    def test_each_part_is_a_column_by_its_own_name(self) -> None:
        table = self.answers().to_arrow()
        names = ["window_end", "shop", "product", "rank", "day"]
        assert [name for name in table.column_names if name in names] == [
            "window_end", "shop", "product", "rank", "day",
        ]  # fmt: skip
        assert "key" not in table.column_names
        assert "group" not in table.column_names
        assert table.select(["shop", "product", "day"]).to_pylist()[0] == {
            "shop": 7,
            "product": "tea",
            "day": date(2026, 11, 18),
        }
        assert table.schema.field("day").type == pa.date32()

    def test_they_are_json_and_frames_too(self) -> None:
        answers = self.answers()
        told = json.loads(json.dumps(answers[0].to_dict()))
        assert told["rows"][0]["key"] == ["tea", "2026-11-18"]
        assert told["group"] == [7, "tea"]
        assert answers.to_pandas()["shop"].tolist()[:2] == [7, 8]
        assert "tea" in repr(answers)
        assert "tea" in answers[0].title
