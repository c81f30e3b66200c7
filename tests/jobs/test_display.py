"""What a run shows: windows as lines and as JSON, and a summary."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from tests.support.job_files import job
from topwater.jobs.display import Display, Summary, as_dict, line_of, short, windows_of
from topwater.rspql import parse
from topwater.spark import Progress

if TYPE_CHECKING:
    from pathlib import Path

END = datetime(2026, 1, 1, 0, 3, tzinfo=UTC)
COUNTS = {
    "events": 7, "late": 0, "bad_key": 0, "bad_time": 0, "bad_score": 0, "before_start": 0,
}  # fmt: skip


def row(rank: int | None, key: str | None = None, **more: Any) -> dict[str, Any]:
    """A row of Spark's, of a query without a remote part."""
    return {
        "window_start": END - timedelta(minutes=9),
        "window_end": END,
        "rank": rank,
        "key": key,
        "score": None if rank is None else 12_345.678 / rank,
        "values": None if rank is None else [5.0],
        "remote": None,
        "age": None,
        "confidence": None,
        "assumed": None,
        "exact": True,
        "fetched": None,
        "failed": None,
        **COUNTS,
        **more,
    }


def test_rows_by_window_and_group_best_first() -> None:
    later = END + timedelta(minutes=3)
    rows = [
        row(1, "c", window_end=later),
        row(2, "b", group="y"),
        row(1, "a", group="y"),
        row(1, "d", group="x"),
        row(1, "z", kind="late"),
    ]
    found = windows_of(rows)
    assert [[each["key"] for each in window] for window in found] == [["d"], ["a", "b"], ["c"]]


def test_a_window_as_plain_values(tmp_path: Path) -> None:
    found = as_dict([row(1, "ann"), row(2, "bob")], job(tmp_path))
    assert found["window_start"] == "2025-12-31T23:54:00.000+00:00"
    assert found["rows"] == [
        {"rank": 1, "key": "ann", "score": 12_345.678, "n": 5.0},
        {"rank": 2, "key": "bob", "score": 6_172.839, "n": 5.0},
    ]
    assert (found["exact"], found["events"]) == (True, 7)
    assert "fetched" not in found
    assert "group" not in found
    json.dumps(found)
    empty = as_dict([row(None, problems={"late": 2}, group="x")], job(tmp_path))
    assert (empty["rows"], empty["problems"], empty["group"]) == ([], {"late": 2}, "x")


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([row(1, "ann"), row(2, "bob")],
         "2026-01-01 00:03:00  1. ann (12,345.68)  2. bob (6,172.84)  exact"),
        ([row(None)], "2026-01-01 00:03:00  nothing  exact"),
        ([row(1, "ann", group="x", late=2, bad_key=1, bad_time=1)],
         "2026-01-01 00:03:00  x:  1. ann (12,345.68)  exact, 2 late, 2 unusable"),
        ([row(1, "ann", exact=False, fetched=7, failed=1, precision=0.934)],
         "2026-01-01 00:03:00  1. ann (12,345.68)  7 looked up, about 93% right, 1 failed"),
        ([row(1, "ann", assumed="doubled", exact=False, fetched=7, failed=1, bad=2,
              precision=0.934)],
         "2026-01-01 00:03:00  1. ann (12,345.68, doubled)  "
         "7 looked up, about 93% right, 1 failed, 2 without a usable value"),
        ([row(1, "ann", assumed="no_value", exact=False, fetched=2, failed=0, bad=2,
              precision=0.0, nothing_usable=True, problems={"no_value": 2})],
         "2026-01-01 00:03:00  1. ann (12,345.68, no_value)  "
         "2 looked up, 2 without a usable value  PROBLEM: nothing usable came from the source "
         "(2 × nothing where the value should be)"),
        ([row(None, exact=False, fetched=2, failed=0, bad=2, precision=0.0, without_value=59,
              nothing_usable=True, problems={"not_found": 2})],
         "2026-01-01 00:03:00  none of 59 items has a value  2 looked up, 2 without a usable value"
         "  PROBLEM: nothing usable came from the source (2 × key not found)"),
    ],
)  # fmt: skip
def test_a_window_as_a_line(tmp_path: Path, rows: list[dict[str, Any]], line: str) -> None:
    made = job(tmp_path)
    assert line_of(as_dict(rows, made), made).plain == line


@pytest.mark.parametrize(
    ("failed", "bad", "problems", "told"),
    [
        (0, 0, {}, "7 look-ups, 0 of them failed"),
        (2, 0, {"late": 2}, "7 look-ups, 2 of them failed"),
        (1, 2, {"late": 1, "null": 2}, "7 look-ups, 1 of them failed, 2 without a usable value"),
        (0, 7, {"no_value": 7}, "7 look-ups, none of them with a usable value"),
        (3, 4, {"late": 3, "null": 4}, "7 look-ups, none of them with a usable value"),
    ],
)
def test_what_came_of_look_ups(failed: int, bad: int, problems: dict[str, int], told: str) -> None:
    summary = Summary()
    in_vain = failed + bad == 7
    more = {"problems": problems, "nothing_usable": in_vain, "precision": 0.5}
    summary.add([row(1, "ann", fetched=7, failed=failed, bad=bad, **more)])
    assert str(summary) == f"1 windows, 7 events, 0 late, 0 unusable, {told}"
    assert summary.problem.startswith("none of 7 look-ups gave a usable value (" if in_vain else "")
    assert bool(summary.problem) == in_vain
    summary.add([row(1, "ann", fetched=7, failed=0, bad=0, nothing_usable=False)])
    assert summary.problem.startswith("nothing usable came from the source in 1 of 2" * in_vain)


def test_windows_go_out_and_everything_else_beside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, words = (Console(file=io.StringIO(), width=200) for _ in range(2))
    display = Display(job(tmp_path), out, words)
    with display.running():
        display.window([row(1, "ann")])
        display.counted(Progress(query="q", id="", run="", batch=0, at="", windows=3, events=7))
    display.say("[bold] is said as it is")
    display.end()
    assert out.file.getvalue().count("\n") == 1  # type: ignore[attr-defined]
    told = words.file.getvalue()  # type: ignore[attr-defined]
    assert told.splitlines() == [
        "[bold] is said as it is",
        "3 windows, 7 events, 0 late, 0 unusable",
    ]
    plain = Display(job(tmp_path), out, None, as_json=True)
    plain.window([row(1, "ann")])
    plain.end()
    window, last = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert window["rows"][0]["key"] == "ann"
    assert last["summary"]["windows"] == 1


def test_nothing_is_shown_where_nobody_looks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    display = Display(job(tmp_path), None, None)
    with display.waiting("something slow"):
        display.window([row(1, "ann")])
    display.end()
    assert display.summary.windows == 1
    assert capsys.readouterr() == ("", "")


def test_a_summary_adds_up() -> None:
    summary = Summary()
    for window in ([row(1, "a", late=1, bad_key=2)], [row(1, "b", fetched=1_234, failed=3)]):
        summary.add(window)
    assert str(summary) == (
        "2 windows, 14 events, 1 late, 2 unusable, 1,234 look-ups, 3 of them failed"
    )


def test_an_iri_with_the_longest_prefix_that_fits() -> None:
    plan = parse(
        "PREFIX : <http://example.org/> PREFIX u: <http://example.org/user/> "
        "SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE 10] "
        "WHERE { WINDOW :w { ?s :v ?v } } ORDER BY ?v LIMIT 1"
    )
    texts = ["http://example.org/user/7", "http://example.org/7", "urn:x", 2.5, None]
    assert [short(text, plan) for text in texts] == ["u:7", ":7", "urn:x", "2.50", "None"]
