"""How values look in a notebook and in an editor."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import nbformat
import pytest
from nbclient import NotebookClient

from topwater import Answer, Answers, Row, TopKQuery, Window, explain, run, sliding, tumbling
from topwater.errors import QueryError
from topwater.model import Counts, Freshness, LookUp
from topwater.remote.http_source import HttpSource
from topwater.remote.named import HttpSettings, SparqlSettings, SqlSettings
from topwater.remote.sparql_source import SparqlSource
from topwater.remote.sql_source import SqlSource
from topwater.remote.wrappers.stack import SETTINGS

EXAMPLES = Path(__file__).parents[2] / "examples" / "notebook"
EVIL = "<script>alert('x')</script>"
FRESH = Freshness(fetched=7, failed=1, bad=0, precision=0.84, ndcg=0.91, missed=True)


def answer(key: Any = "ann", **more: Any) -> Answer:
    rows = (
        Row(1, key, 2.5, 7, (2.0,), remote=0.5, age=0, confidence=1.0),
        Row(2, "bob", 1.0, 8, (1.0,), remote=4_000.0, age=120_000, confidence=0.4),
    )
    whole = {"exact": False, "freshness": FRESH, "counts": Counts(events=12, late=3, bad_key=1)}
    return Answer(Window(0, 0, 10), rows, **{**whole, **more})


QUERY = TopKQuery(
    key="user",
    time="at",
    window=sliding("100 s", "60 s"),
    take={"n": "count"},
    score="n + followers",
    k=5,
    refresh={"remote": "followers", "policy": "lru", "budget": 3},
    group_by="team",
    lateness="10 s",
)


def test_an_answer_shows_bars_freshness_accuracy_and_counts() -> None:
    text = answer()._repr_html_()
    told = re.sub(r"<style>.*?</style>", "", text, flags=re.S)
    told = re.sub(r"<[^>]+>", " ", told)
    for word in ("(0, 10]", "about 84% right", "7 looked up", "1 failed", "12 events", "3 late"):
        assert word in told
    assert re.search(r"now .* 100%", told)
    assert re.search(r"4,000 .* 2 min ago .* 40%", told)
    assert text.count('class="bar') == 4
    assert "less accurate than asked" in told


def test_without_a_remote_part_there_is_nothing_of_it() -> None:
    plain = Answer(Window(0, 0, 10), (Row(1, "ann", 2.5, 7),))
    text = plain._repr_html_()
    assert "fetched" not in text
    assert "exact" in text
    assert repr(plain) == "<Answer (0, 10]: 1. 'ann' (2.5); exact, 0 events>"


def test_a_line_of_text_is_short_whatever_k_is() -> None:
    many = replace(answer(), rows=tuple(Row(at, at, 1.0, 1) for at in range(1, 1_001)))
    assert "and 995 more" in repr(many)
    assert len(repr(many)) < 250
    assert "2026-01-01 00:00:00 – 00:01:00" in repr(
        replace(many, window=Window(0, 1_767_225_600_000, 1_767_225_660_000))
    )
    nothing = Answer(Window(0, 0, 10), ())
    assert "nothing" in repr(nothing)
    assert "<table>" in nothing._repr_html_()


@pytest.mark.parametrize(
    "shown",
    [
        answer(EVIL)._repr_html_(),
        answer(EVIL).plot()._repr_html_(),
        answer(1, group=EVIL)._repr_html_(),
        Answers([answer(EVIL), answer(1, group=EVIL)])._repr_html_(),
        Answers([answer(EVIL), answer("x")]).plot()._repr_html_(),
        replace(QUERY, group_by=EVIL)._repr_html_(),
    ],
)
def test_keys_stay_text_and_nothing_is_loaded(shown: str) -> None:
    assert "<script" not in shown
    assert "&lt;scrip" in shown, "it is shown, as text"
    assert not re.search(r"https?://|src=|href=|@import|url\(", shown)


def test_a_query_is_explained() -> None:
    text = explain(QUERY)
    assert "the 5 best of each window" in text
    assert "the last 100 s, every 1 min" in text
    assert "3 look-ups a window, chosen by lru" in text
    assert "one ranking for each team" in text
    assert "events may come 10 s out of order" in text
    assert "approximate" in text
    for line in ("3 look-ups a window, chosen by lru", "one ranking for each team"):
        assert line in QUERY._repr_html_()
    assert repr(QUERY) == (
        "<TopKQuery: the 5 best by n + followers, over the last 100 s, every 1 min, with "
        "followers of each user: 3 look-ups a window, chosen by lru>"
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"refresh": None, "score": "n"}, "exact: every answer"),
        ({"refresh": {"remote": "followers", "budget": None}}, "no limit on look-ups"),
        ({"refresh": {"remote": "followers", "policy": "wst"}}, "no value is ever looked up"),
        ({"refresh": {"remote": "followers", "budget": {"deadline": "2 s"}}}, "within 2 s"),
        ({"refresh": {"remote": "followers", "budget": 1}}, "1 look-up a window"),
    ],
)
def test_what_is_promised_follows_the_settings(changes: dict[str, Any], told: str) -> None:
    assert told in explain(replace(QUERY, **changes))


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


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_example_notebooks_run(path: Path, tmp_path: Path) -> None:
    """In a kernel of their own, with a real service on this machine."""
    book = nbformat.read(path, 4)  # type: ignore[no-untyped-call]
    assert all(not cell.get("outputs") for cell in book.cells), "kept without results"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Jupyter's own
        client = NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
        client.execute()
    outputs = [each for cell in book.cells for each in cell.get("outputs", ())]
    assert {each.output_type for each in outputs} == {"execute_result"}
    shown = [each.data["text/html"] for each in outputs if "text/html" in each.data]
    assert len(shown) >= 5
    assert sum("<svg" in each for each in shown) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(280)
def test_types_are_complete_for_those_who_import_it(tmp_path: Path) -> None:
    """Outside of this repository, with the strictest settings."""
    program = shutil.copy(Path(__file__).parents[1] / "support" / "consumer.py", tmp_path)
    checked = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(  # noqa: S603
        [*checked, program], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.stdout.startswith("Success"), done.stdout


@pytest.mark.parametrize(
    ("settings", "make"),
    [(HttpSettings, HttpSource), (SparqlSettings, SparqlSource), (SqlSettings, SqlSource)],
)
def test_an_editor_knows_every_setting_of_a_source(settings: Any, make: Any) -> None:
    _, *own = inspect.signature(make).parameters
    # The pattern of SPARQL has a place of its own.
    assert {*settings.__annotations__} == {*own, *SETTINGS} - {"pattern"}


def test_a_picture_can_be_opened_whatever_a_key_holds(tmp_path: Path) -> None:
    shown = answer(f'{EVIL}"&\x00\x1b\ud800\ufffe', group="<b>\x00")
    for chart in (shown.plot(), Answers([replace(shown, group=None)]).plot()):
        picture = ET.parse(chart.save(tmp_path / "chart.svg"))  # noqa: S314
        assert not list(picture.iter("{http://www.w3.org/2000/svg}script"))
        assert "<script>" in "".join(picture.getroot().itertext())
