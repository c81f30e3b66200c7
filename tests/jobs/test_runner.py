"""Jobs run on Spark: every sink, rankings per group, a source of one's own, and what goes wrong."""

from __future__ import annotations

import contextlib
import csv
import json
import sqlite3
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pyarrow.parquet as pq
import pytest
import typer

import topwater
from tests.support.collected import Collected
from tests.support.loopback import serving
from topwater import QueryError, remote
from topwater.cli.terminal import plain_errors
from topwater.errors import EnvironmentProblem, SourceError
from topwater.jobs import Job, read_job
from topwater.jobs.display import Display
from topwater.jobs.preflight import checked
from topwater.jobs.runner import _report_missing, _require_usable, _session, run
from topwater.jobs.signals import StopFlag
from topwater.live.folder import EXPLAINED, Folder
from topwater.spark.running_query import RunningQuery

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

JOB = """\
[query]
key = "user"
time = "at"
window = "2 s"
take = { n = "count", spent = "sum(amount)" }
score = "spent"
k = 2

[stream]
kind = "files"
path = "in"
schema = "user string, team string, at timestamp, amount double"
"""
EVENTS = [(1, "ann", 3.0), (2, "bob", 5.0), (3, "ann", 4.0), (4, "cid", 9.0), (5, "ann", 1.0)]
WINDOWS = {2: [("bob", 5.0), ("ann", 3.0)], 4: [("cid", 9.0), ("ann", 4.0)]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("in", "none"):
        (tmp_path / name).mkdir()
    lines = [
        {"user": user, "team": user[0], "at": f"2026-01-01T00:00:0{at}Z", "amount": amount}
        for at, user, amount in EVENTS
    ]
    text = "\n".join(["no JSON", *(json.dumps(line) for line in lines)])
    (tmp_path / "in" / "1.json").write_text(text)
    return tmp_path


def job(folder: Path, more: str = "", *settings: str) -> Job:
    (folder / "job.toml").write_text(JOB + more)
    return read_job(folder / "job.toml", settings=settings)


def shown(rows: list[dict[str, Any]]) -> dict[int, list[tuple[str, float]]]:
    found: dict[int, list[tuple[str, float]]] = {}
    items = [row for row in rows if row["kind"] == "item"]
    for row in sorted(items, key=lambda row: (str(row["window_end"]), int(row["rank"]))):
        second = int(str(row["window_end"])[17:19])
        found.setdefault(second, []).append((row["user"], float(row["score"])))
    return found


def ran(job: Job, spark: SparkSession) -> Collected:
    display = Collected(job)
    run(job, display, once=True, spark=spark)
    return display


def test_files_of_every_kind(spark: SparkSession, folder: Path) -> None:
    for kind in ("parquet", "json", "csv"):
        display = ran(job(folder, f'[sink]\nkind = "{kind}"\npath = "{kind}"\n'), spark)
        assert display.summary.windows == 2
        assert display.summary.bad == 1
    texts = [file.read_text() for file in (folder / "json").glob("batch=*/*.json")]
    assert shown([json.loads(line) for text in texts for line in text.splitlines()]) == WINDOWS
    assert shown(pq.read_table(folder / "parquet").to_pylist()) == WINDOWS
    assert (folder / "parquet" / EXPLAINED).read_text().startswith("the 2 best of each window")
    page = [[row["label"] for row in each["rows"]] for each in Folder(folder / "parquet").news()]
    assert page == [[key for key, _ in rows] for rows in WINDOWS.values()]
    texts = [file.read_text() for file in (folder / "csv").glob("batch=*/*.csv")]
    quoted: Any = {"escapechar": "\\", "doublequote": False}  # as Spark does
    rows = [row for text in texts for row in csv.DictReader(text.splitlines(), **quoted)]
    assert shown(rows) == WINDOWS
    assert [(row["kind"], row["n"], row["spent"]) for row in rows[:2]] == [
        ("window", "", ""),
        ("item", "1", "5.0"),
    ]
    assert json.loads(rows[0]["figures"])["events"] > 0


def test_a_second_run_answers_only_what_is_new(spark: SparkSession, folder: Path) -> None:
    sink = '[sink]\nkind = "parquet"\npath = "out"\n'
    assert ran(job(folder, sink), spark).summary.windows == 2
    assert ran(job(folder, sink), spark).summary.windows == 0
    line = {"user": "dan", "team": "d", "at": "2026-01-01T00:00:07Z", "amount": 1.0}
    (folder / "in" / "2.json").write_text(json.dumps(line))
    assert [window["rows"][0]["key"] for window in ran(job(folder, sink), spark).windows] == ["ann"]
    assert set(shown(pq.read_table(folder / "out").to_pylist())) == {2, 4, 6}
    with pytest.raises(typer.Exit) as ended, plain_errors():
        ran(job(folder, sink, "query.group_by=team"), spark)
    assert ended.value.exit_code == 1


@pytest.fixture
def tables(spark: SparkSession, folder: Path) -> Iterator[SparkSession]:
    """The session with the events in a table of its catalog, and a place for answers."""
    schema = "user string, team string, at timestamp, amount double"
    rows = spark.read.schema(schema).json(str(folder / "in"), mode="DROPMALFORMED")
    rows.write.saveAsTable("bought", path=str(folder / "bought"))
    yield spark
    for name in ("bought", "best"):
        spark.sql(f"DROP TABLE IF EXISTS {name}")


TABLES = """
[sink]
table = "best"
checkpoint = "state"
partition_by = ["rank"]
trigger = "available_now"
"""


def test_from_a_table_to_a_table(tables: SparkSession, folder: Path) -> None:
    """By Spark's own streams: what was answered is not written again, and all of it is shown."""
    found = job(folder, TABLES, 'stream={table="bought"}')
    display = Collected(found)
    run(found, display, spark=tables)  # and it ends by itself
    assert display.summary.windows == len(display.windows) == 2
    assert display.summary.events == 5
    written = [row.asDict() for row in tables.table("best").collect()]
    assert shown(written) == WINDOWS
    assert [each["rows"][0]["key"] for each in display.windows] == ["bob", "cid"]
    assert tables.catalog.getTable("best").tableType == "MANAGED"
    assert ran(job(folder, TABLES, 'stream={table="bought"}'), tables).summary.windows == 0
    assert tables.table("best").count() == len(written)


def test_what_spark_does_not_have_is_told_with_the_table_of_the_file(
    spark: SparkSession, folder: Path
) -> None:
    with pytest.raises(EnvironmentProblem, match=r"stream: the Spark session has no format delta"):
        ran(job(folder, "", 'stream={format="delta", path="in"}'), spark)
    sink = 'sink={format="delta", path="out"}'
    with pytest.raises(EnvironmentProblem, match=r"sink: the Spark session has no format") as error:
        ran(job(folder, "", sink), spark)
    assert "io.delta:delta-spark_" in error.value.fix
    with pytest.raises(QueryError, match=r"stream\.table: Spark knows no table nowhere"):
        ran(job(folder, "", 'stream={table="nowhere"}'), spark)


JOINED = """\
[query]
key = "user"
time = "at"
window = "2 s"
take = {n = "count", team = "last(team)"}
score = "n * price * trust"
where = "stock > 0"
k = 2

[query.budget]
cost = 30
per = {"1 min" = 900}

[[query.refresh]]
remote = ["price", "stock", "maker"]
from = "shop"

[[query.refresh]]
remote = "trust"
from = "teams"
key = "team"
cost = 5

[stream]
kind = "files"
path = "in"
schema = "user string, team string, at timestamp, amount double"

[sources.shop]
url = "URL/{key}"
value = {price = "$.price", stock = "$.stock"}
text = {maker = "$.maker"}

[sources.teams]
url = "sqlite:///teams.db"
table = "teams"
key = "name"
value = "trust"

[sink]
kind = "json"
path = "answers"
"""
GOODS: dict[str, dict[str, Any]] = {
    "ann": {"price": 3.0, "stock": 2, "maker": "A"},
    "bob": {"price": 2.0, "stock": 0, "maker": "B"},
    "cid": {"price": 1.0, "stock": 5, "maker": "Käse"},
}
TRUST = {"a": 0.5, "b": 1.0, "c": 2.0}


def shop(_: str, path: str, __: bytes) -> tuple[int, str, bytes]:
    found = GOODS.get(path.removeprefix("/"))
    return 200 if found else 404, "application/json", json.dumps(found or {}).encode()


def test_two_real_sources_by_two_keys(
    spark: SparkSession, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A service over HTTP and a database; checked, run, shown as lines and written as rows."""
    with contextlib.closing(sqlite3.connect(folder / "teams.db")) as database, database:
        database.execute("create table teams (name text primary key, trust real)")
        database.executemany("insert into teams values (?, ?)", TRUST.items())
    with serving(shop) as url:
        (folder / "job.toml").write_text(JOINED.replace("URL", url))
        told = read_job(folder / "job.toml", settings=["spark.shards=3"])
        checked(told, Display(told, None, None))
        lines = capsys.readouterr().out.splitlines()
        display = ran(told, spark)
    assert any(line.startswith("shop: the key 'ann' has price 3, stock 2") for line in lines)
    assert any(line.startswith("teams: the key 'a' has ") for line in lines), lines
    sources = {"shop": remote.memory(GOODS), "teams": remote.memory(TRUST)}
    given = [
        {"user": user, "team": user[0], "at": 1_767_225_600_000 + 1_000 * at}
        for at, user, _ in EVENTS
    ]
    right = [*topwater.run(told.query, [given], sources=sources)]
    seen = [[(row["key"], row["score"]) for row in each["rows"]] for each in display.windows]
    assert len(seen) == 2
    assert seen == [[(row.key, row.score) for row in each.rows] for each in right][: len(seen)]
    first = display.windows[0]
    assert first["rows"][0].items() >= {"price": 3.0, "maker": "A", "trust": 0.5}.items()
    assert first["rows"][0]["team"] == "a"
    assert (first["spent"], first["left"]) == (right[0].spent, dict(right[0].left))
    texts = [file.read_text() for file in (folder / "answers").glob("batch=*/*.json")]
    rows = [json.loads(line) for text in texts for line in text.splitlines()]
    assert {row["maker"] for row in rows if row["kind"] == "item"} == {"A", "Käse"}
    pages = [row["label"] for each in Folder(folder / "answers").news() for row in each["rows"]]
    assert pages == [user for each in seen for user, _ in each]


def test_without_a_sink_all_windows_are_answered_once(spark: SparkSession, folder: Path) -> None:
    display = ran(job(folder, "", "query.group_by=team", "spark.shards=2"), spark)
    groups = {(window["window_end"][17:19], window["group"]) for window in display.windows}
    assert groups == {("02", "a"), ("02", "b"), ("04", "a"), ("04", "c"), ("06", "a")}
    best = display.windows[0]["rows"][0]
    assert {name: best[name] for name in ("rank", "n", "spent")} == {"rank": 1, "n": 1, "spent": 3}
    assert spark.conf.get("spark.sql.shuffle.partitions") == "1"  # the session's, as it was


def test_a_session_that_is_there_is_used_and_stays(spark: SparkSession, folder: Path) -> None:
    """It is somebody's: neither its end nor a second Ctrl-C may stop it."""
    found, stop = job(folder), StopFlag()
    with _session(found, Collected(found), stop, None) as used:
        assert used is spark
    assert not stop.hurry()
    assert spark.range(3).count() == 3


def test_a_folder_that_is_gone_is_told_on_the_terminal(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    display = Collected(job(folder))
    monkeypatch.setattr(display, "say", said.append)
    gone = RunningQuery(MagicMock(), MagicMock(), ["/in"])
    monkeypatch.setattr(gone, "missing_folders", lambda: ["/in"])
    _report_missing(gone, display)
    _report_missing(gone, display)
    assert said == ["/in is gone; the query waits until it is there again"]


OWN = """
from topwater.remote import memory
from topwater.errors import QueryError
seen = []
def keep(batch, number):
    seen.extend((row.user, row.f) for row in batch.filter("kind = 'item'").collect())
def fail(batch, number):
    raise OSError("the disk is full")
class Mine:
    def __init__(self, worth):
        self.worth = worth
    def fetch(self, keys, deadline=None):
        return memory({"ann": self.worth, "bob": 1.0, "cid": 1.0}).fetch(keys, deadline)
class Lost(Mine):
    def __setstate__(self, state):
        raise KeyError("no such thing in this worker")
"""
REMOTE = ("query.refresh.remote=f", 'query.score="spent * f"')


def test_a_source_and_a_sink_of_ones_own(spark: SparkSession, folder: Path) -> None:
    from topwater.jobs.python_names import loaded

    (folder / "own.py").write_text(OWN)
    more = '[source]\nkind = "python"\nobject = "own.py:Mine"\nworth = 10.0\n'
    sink = '[sink]\nkind = "python"\nobject = "own.py:keep"\n'
    display = ran(job(folder, more + sink, *REMOTE, "live.port=0"), spark)  # and a live page
    assert [row["key"] for row in display.windows[0]["rows"]] == ["ann", "bob"]
    seen = loaded("own.py:keep", folder).__globals__["seen"]
    assert seen[:2] == [("ann", 10.0), ("bob", 1.0)]


def said(job: Job, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> str:
    """What a person sees of an error inside Spark."""
    with pytest.raises(typer.Exit) as ended, plain_errors():
        ran(job, spark)
    assert ended.value.exit_code == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("  fix: ")
    return lines[0]


def test_what_goes_wrong_inside_spark_names_its_cause(
    spark: SparkSession, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "own.py").write_text(OWN)
    sink = '[sink]\nkind = "python"\nobject = "own.py:fail"\ncheckpoint = "c"\n'
    assert said(job(folder, sink), spark, capsys) == "error: OSError: the disk is full"
    source = '[source]\nkind = "python"\nobject = "own.py:Lost"\nworth = 1.0\n'
    line = said(job(folder, source, *REMOTE), spark, capsys)
    assert line == "error: KeyError: 'no such thing in this worker'"


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ('stream.schema="user double, at timestamp, amount double"', "user"),
        ('stream.schema="user string, at string, amount double"', "at"),
        ('stream.schema="user string, at timestamp, amount string"', "amount"),
        ('stream={kind="files", path="none", format="parquet"}', "no parquet file yet"),
    ],
)
def test_columns_of_a_wrong_type(
    spark: SparkSession, folder: Path, setting: str, expected: str
) -> None:
    with pytest.raises(QueryError, match=expected) as error:
        ran(job(folder, "", setting), spark)
    assert error.value.fix


def test_a_run_in_which_no_look_up_was_of_use_ends_with_an_error(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    made = job(tmp_path)
    display = Display(made, None, None)
    _require_usable(made, display)
    display.summary.looked_up, display.summary.nothing_usable = 7, 1
    display.summary.without_number, display.summary.problems = 7, {"no_value": 7}
    with pytest.raises(SourceError, match=r"none of 7 look-ups .* \(7 × nothing where") as caught:
        _require_usable(made, display)
    assert f"topwater run {made.written.path} --check" in caught.value.fix
    display.summary.without_number = 6
    _require_usable(made, display)


def test_a_job_reports_of_itself_where_it_is_told_to(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(Display, "say", lambda _, words: said.append(words))
    sink = '[sink]\nkind = "parquet"\npath = "out"\n'
    display = ran(job(folder, sink, "spark.metrics=job.prom"), spark)
    assert display.summary.windows == 2
    assert 'query="job"} 2.0' in (folder / "job.prom").read_text().partition("windows_total{")[2]
    ran(job(folder, sink, "spark.metrics=http://127.0.0.1:0"), spark)
    assert any(each.startswith("metrics: http://127.0.0.1:") for each in said)
