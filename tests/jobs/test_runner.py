"""Jobs as files: what they say, in TOML and in YAML, and what the command line says instead."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from topwater import QueryError
from topwater.cli import app
from topwater.jobs import Job, read_job
from topwater.jobs.job_file import Written, overridden, read
from topwater.jobs.python_names import loaded
from topwater.jobs.remote_side import service_of, source_of
from topwater.windows import sliding, tumbling

if TYPE_CHECKING:
    from pathlib import Path

TOML = """\
[query]
key = "user"
time = "at"
window = "9 min every 3 min"
take = {n = "count"}
score = "n"
k = 3

[stream]
kind = "files"
path = "in"
schema = "user string, at timestamp"
"""
YAML = """\
query:
  key: user
  time: at
  window: {width: 9 min, step: 3 min}
  take: {n: count}
  score: n
  k: 3
stream:
  kind: files
  path: in
  schema: user string, at timestamp
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "job.toml").write_text(TOML)
    return tmp_path


def job(folder: Path, more: str = "", *settings: str) -> Job:
    (folder / "job.toml").write_text(TOML + more)
    return read_job(folder / "job.toml", settings=settings)


def test_toml_and_yaml_say_the_same(folder: Path) -> None:
    (folder / "job.yaml").write_text(YAML)
    toml, yaml = read_job(folder / "job.toml"), read_job(folder / "job.yaml")
    assert toml.query == yaml.query
    assert toml.streams == yaml.streams
    assert toml.query.window == sliding("9 min", "3 min")
    assert (toml.name, toml.sink.kind, toml.sink.checkpoint) == ("job", "console", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"9 min"', tumbling("9 min")),
        ('"the last 9 min, every 3 min"', sliding("9 min", "3 min")),
        ('"PT9M every PT3M"', sliding("9 min", "3 min")),
        ('{width = "9 min"}', tumbling("9 min")),
        ("{width = 9, step = 3, start = 1}", sliding(9, 3, start=1)),
    ],
)
def test_windows_are_read_as_people_write_them(folder: Path, text: str, expected: object) -> None:
    assert job(folder, "", f"query.window={text}").query.window == expected


def test_where_settings_stand(folder: Path) -> None:
    text = '[query]\n# k = 1\nk = 0\nrefresh.remote = "f"\n\n[streams.":S"]\npath = "x"\n'
    (folder / "a.toml").write_text(text)
    (folder / "a.yaml").write_text("query:\n  # k: 1\n  k: 0\nstreams:\n  ':S':\n    path: x\n")
    toml, yaml = read(folder / "a.toml"), read(folder / "a.yaml")
    assert toml.line(("query", "k")) == yaml.line(("query", "k")) == 3
    assert toml.line(("query", "refresh", "remote")) == 4
    assert toml.line(("streams", ":S", "path")) == 7
    assert yaml.line(("streams", ":S", "path")) == 6
    assert toml.line(("streams", ":S", "format")) == 6, "that of the table"


def test_what_is_said_instead(folder: Path) -> None:
    settings = ["query.k=7", "sink={kind='json', path='out'}", 'streams.":S".speed=2', "a.b=x y"]
    said = overridden(Written(folder / "j", {"query": {"k": 3, "key": "u"}}), settings).said
    assert said == {
        "query": {"k": 7, "key": "u"},
        "sink": {"kind": "json", "path": "out"},
        "streams": {":S": {"speed": 2}},
        "a": {"b": "x y"},
    }


def test_paths_start_where_the_file_is(folder: Path) -> None:
    sink = '[sink]\nkind = "parquet"\npath = "out"\n'
    found = job(folder, sink)
    assert found.sink.path == str(folder / "out")
    assert found.sink.checkpoint == str(folder / "out" / "_checkpoint")
    assert not found.sink.started
    (folder / "out" / "_checkpoint" / "offsets").mkdir(parents=True)
    (folder / "out" / "_checkpoint" / "offsets" / "0").touch()
    assert job(folder, sink).sink.started
    assert job(folder, f'{sink}checkpoint = "c"\n').sink.checkpoint == str(folder / "c")
    far = job(folder, '[sink]\nkind = "parquet"\npath = "s3a://b/out"\n')
    assert far.sink.checkpoint == "s3a://b/out/_checkpoint"


def test_what_is_taken_in_is_kept_next_to_the_checkpoint(folder: Path) -> None:
    mqtt = 'stream={kind="mqtt", url="mqtt://x", topics=["t"], schema="user string, at timestamp"}'
    found = job(folder, '[sink]\nkind = "json"\npath = "out"\n', mqtt)
    assert getattr(found.streams[""].settings, "spool", "") == str(
        folder / "out" / "_checkpoint-spool"
    )
    with pytest.raises(QueryError, match=r"stream\.spool: is missing"):
        job(folder, "", mqtt)


def test_kafka_brings_its_package(folder: Path) -> None:
    kafka = 'stream={kind="kafka", servers="x:1", topics=["t"], schema="user string, at timestamp"}'
    found = job(folder, '[sink]\nkind = "kafka"\nservers = "x:1"\ntopic = "u"\n', kafka)
    (package,) = found.packages
    assert package.startswith("org.apache.spark:spark-sql-kafka")


def test_sources_of_ones_own(folder: Path) -> None:
    (folder / "mine.py").write_text(
        "from topwater.remote import memory\n"
        "def made(of):\n    return memory({'a': of})\n"
        "def wrong():\n    return 7\n"
        "three = 3\n"
    )
    source = source_of({"kind": "python", "object": "mine.py:made", "of": 2.0}, folder)
    assert repr(source) == "MemorySource(1 keys)"
    service = service_of({"kind": "python", "object": "mine.py:made", "of": 2.0}, folder)
    assert repr(service) == "KeySource(MemorySource(1 keys))"
    for settings, told in (
        ({"object": "mine.py:wrong"}, "makes no source"),
        ({"object": "mine.py:made"}, "can't be made: TypeError"),
        ({"object": "mine.py:three"}, "no class or function three"),
        ({"object": "mine"}, "names nothing"),
        ({"object": "no.such.module:made"}, "can't be imported"),
    ):
        with pytest.raises(QueryError, match=told):
            source_of({"kind": "python", **settings}, folder)
    assert loaded("json:dumps", folder)([1]) == "[1]"


def test_a_file_of_sqlite_is_looked_for_where_the_job_is(folder: Path) -> None:
    source = source_of(
        {"url": "sqlite:///users.db", "table": "t", "key": "k", "value": "v"}, folder
    )
    assert str(folder / "users.db") in repr(source)


def test_check_reaches_all_and_starts_no_spark(folder: Path) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        stream = f'stream={{kind="kafka", servers="127.0.0.1:{port}", topics=["t"], '
        schema = 'schema="user string, at timestamp"}'
        arguments = ["run", str(folder / "job.toml"), "--check", "--set", stream + schema]
        told = CliRunner().invoke(app, arguments)
        assert told.exit_code == 0, told.stderr
        assert f"all is there: stream at 127.0.0.1:{port}" in told.stdout
        plain = json.loads(CliRunner().invoke(app, [*arguments, "--json", "-q"]).stdout)
    assert plain["reached"] == [f"stream at 127.0.0.1:{port}"]
    assert plain["java"]
