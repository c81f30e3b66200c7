"""Queries in RSP-QL, run from files as `topwater run` does."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from tests.support.collected import Collected
from topwater.jobs import read_job
from topwater.jobs.display import Display, short
from topwater.jobs.runner import run
from topwater.jobs.signals import Terminated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[2] / "examples" / "rspql" / "top-users.rq"
X = "http://example.org/"
START = 1_700_000_100_000
TOTALS = """
PREFIX : <http://example.org/>
REGISTER RSTREAM :q AS
SELECT ?user (SUM(?n) AS ?total) (COUNT(?n) AS ?times)
FROM NAMED WINDOW :W ON :S [RANGE PT4S STEP PT2S]
WHERE { WINDOW :W { ?user :hasMentions ?n . FILTER(?n > 1) } }
GROUP BY ?user ORDER BY DESC(?total) LIMIT 2
"""
HEARD = [(1, "a", 3), (2, "b", 5), (3, "a", 1), (4, "a", 2), (5, "c", 9), (6, "b", 5), (9, "a", 2)]
SHOWN = {
    2: [("b", 5.0, 1.0), ("a", 3.0, 1.0)],
    4: [("a", 5.0, 2.0), ("b", 5.0, 1.0)],
    6: [("c", 9.0, 1.0), ("b", 5.0, 1.0)],
    8: [("c", 9.0, 1.0), ("b", 5.0, 1.0)],
}


def mention(user: str, count: int) -> str:
    return f'<{X}{user}> <{X}hasMentions> "{count}"^^<http://www.w3.org/2001/XMLSchema#integer> .'


def shown(windows: list[dict[str, Any]]) -> dict[int, list[Any]]:
    """What each window shows, by the second of its end."""
    found = {}
    for window in windows:
        end = int(window["window_end"][14:16]) * 60 + float(window["window_end"][17:23])
        begin = START // 1_000 % 3_600
        rows = [(r["user"].removeprefix(X), r["total"], r["times"]) for r in window["rows"]]
        found[round(end - begin)] = rows
    return found


def test_the_example_runs_as_it_stands(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    job = read_job(EXAMPLE)
    run(job, Display(job, Console(), None, as_json=True), once=True, spark=spark)
    *windows, last = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(windows) == 14
    assert windows[0]["window_end"] == "2026-01-01T00:03:00.000+00:00"
    assert [row["rank"] for row in windows[0]["rows"]] == [1, 2, 3]
    assert all(each["fetched"] == 7 for each in windows)
    assert sum(each["bad_key"] + each["bad_time"] for each in windows) == 0
    assert windows[0]["events"] == 324
    assert last["summary"]["windows"] == 14
    assert last["summary"]["events"] == sum(each["events"] for each in windows)
    assert (last["summary"]["looked_up"], last["summary"]["failed"]) == (14 * 7, 0)
    assert job.plan is not None
    assert short(f"{X}user/7", job.plan) == "user:7"


@pytest.mark.parametrize("kind", ["nq", "jsonl"])
def test_other_files_are_read_too(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    (tmp_path / "q.rq").write_text(TOTALS)
    lines = ["# nothing", "", "not an event"]
    for at, user, n in HEARD:
        when = str(START + 1_000 * at)
        if kind == "nq":
            quad = mention(user, n).replace(" .", f" <{X}g{at}> .")
            lines.append(f"{when}\t{quad}")
        else:
            lines.append(json.dumps({"@id": X + user, f"{X}hasMentions": n, "time": int(when)}))
    (tmp_path / f"events.{kind}").write_text("\n".join(lines))
    job = read_job(tmp_path / "q.rq", streams=[f":S={tmp_path}"])
    display = Collected(job)
    run(job, display, once=True, spark=spark)
    found = shown(display.windows)
    assert {closes: found[closes] for closes in SHOWN} == SHOWN
    assert display.windows[0]["bad_key"] + display.windows[0]["bad_time"] == 1
    assert display.summary.bad == 1


def test_it_runs_on_until_it_is_stopped_and_goes_on_from_there(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "q.rq").write_text(TOTALS)
    (tmp_path / "q.yaml").write_text("sink:\n  kind: json\n  path: out\n")
    (tmp_path / "in").mkdir()
    events = [f"{START + 1_000 * at}\t{mention(user, n)}" for at, user, n in HEARD]

    def after() -> None:
        if len(display.windows) == 2:
            signal.raise_signal(signal.SIGTERM)

    for name, part in (("1.nt", events[:5]), ("2.nt", events[5:])):
        (tmp_path / "in" / name).write_text("\n".join(part))
        job = read_job(tmp_path / "q.rq", streams=[f":S={tmp_path / 'in'}"])
        display = Collected(job, after)
        with pytest.raises(Terminated):
            run(job, display, spark=spark)
        assert not spark.streams.active
    files = (tmp_path / "out").glob("batch=*/*.json")
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    found: dict[str, list[Any]] = {}
    for row in sorted(rows, key=lambda row: (row["window_end"], row["rank"])):
        found.setdefault(row["window_end"], []).append(row)
    told = [{"window_end": end, "rows": each} for end, each in found.items()]
    assert shown(told) == SHOWN


PAIRS = """
PREFIX : <http://example.org/>
SELECT ?user (SUM(?n) AS ?total) (COUNT(?m) AS ?times)
FROM NAMED WINDOW :W ON :S [RANGE PT4S STEP PT2S] FROM NAMED WINDOW :V ON :T [RANGE PT2S STEP PT2S]
WHERE { WINDOW :W { ?user :hasMentions ?n } WINDOW :V { ?user :hasMentions ?m } }
GROUP BY ?user ORDER BY DESC(?total) DESC(?times) LIMIT 2
"""


def test_windows_are_joined_and_ranked_by_two_conditions(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "q.rq").write_text(PAIRS)
    lines = [f"{START + 1_000 * at}\t{mention(user, n)}" for at, user, n in HEARD]
    for name in ("s", "t"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.nt").write_text("\n".join(lines))
    streams = [f":S={tmp_path / 's'}", f":T={tmp_path / 't'}"]
    job = read_job(tmp_path / "q.rq", streams=streams)
    display = Collected(job)
    run(job, display, once=True, spark=spark)
    found = shown(display.windows)
    # a said 3, 1 and 2 up to second 4, of which it said two after second 2.
    assert found[4] == [("a", 12.0, 6.0)]
    assert found[6] == [("c", 9.0, 1.0), ("b", 5.0, 1.0)]
