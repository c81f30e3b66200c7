"""Files → jobs, with what the command line says instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.job_files import TOML, job
from topwater.errors import QueryError
from topwater.jobs import read_job
from topwater.jobs.explanation import explained_file
from topwater.windows import sliding

if TYPE_CHECKING:
    from pathlib import Path

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
QUERY = """\
PREFIX : <http://example.org/>
SELECT ?s FROM NAMED WINDOW :w ON :S [RANGE PT9M] WHERE { WINDOW :w { ?s :v ?v } }
ORDER BY DESC(?v) LIMIT 3
"""


def test_toml_and_yaml_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(YAML)
    toml, yaml = job(tmp_path), read_job(tmp_path / "job.yaml")
    assert toml.query == yaml.query
    assert toml.streams == yaml.streams
    assert toml.query.window == sliding("9 min", "3 min")
    assert (toml.name, toml.sink.kind, toml.sink.checkpoint) == ("job", "console", "")


@pytest.fixture
def query(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.nt").write_text("")
    (tmp_path / "q.rq").write_text(QUERY)
    return tmp_path / "q.rq"


def test_a_query_has_its_streams_from_the_command_line(query: Path) -> None:
    found = read_job(query, streams=[f":S={query.parent / 'in'}"], settings=["spark.shards=2"])
    assert found.plan is not None
    assert found.plan.k == 3
    assert list(found.streams) == [":S"]
    assert found.spark.shards == 2
    full = f"<http://example.org/S>={query.parent / 'in'}"
    assert list(read_job(query, streams=[full]).streams) == ["<http://example.org/S>"]


def test_a_description_beside_a_query_belongs_to_it(query: Path) -> None:
    query.with_suffix(".toml").write_text('[streams]\n":S" = "in"\n')
    assert list(read_job(query).streams) == [":S"]
    query.with_suffix(".yaml").write_text("")
    with pytest.raises(QueryError, match=r"q\.toml and q\.yaml both describe q\.rq"):
        read_job(query)


def test_the_command_line_is_blamed_for_what_it_says(query: Path) -> None:
    with pytest.raises(QueryError, match=r'^--set streams\.":S"'):
        read_job(query, streams=[f":S={query.parent / 'absent'}"])


@pytest.mark.parametrize("given", ["S", ":S=", "=in", "<http://example.org/S>"])
def test_a_stream_has_a_name_and_a_place(query: Path, given: str) -> None:
    with pytest.raises(QueryError, match="--stream"):
        read_job(query, streams=[given])


@pytest.mark.parametrize("name", ["job.py", "job.txt"])
def test_a_name_that_tells_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(TOML)
    with pytest.raises(QueryError, match=name) as caught:
        read_job(tmp_path / name)
    assert "*.rq" in caught.value.fix
    with pytest.raises(QueryError, match="can't be read"):
        read_job(tmp_path / f"absent-{name}")


ROOMS = "http://data.example/rooms"


def test_static_data_are_files_that_stand_in_the_description(tmp_path: Path) -> None:
    text = QUERY.replace("WHERE", f"FROM <{ROOMS}> WHERE").replace("} }", "} ?s :near ?o }")
    (tmp_path / "q.rq").write_text(text)
    (tmp_path / "rooms.ttl").write_text("<x:a> <x:p> <x:b> .")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "some.nt").write_text("")
    head = '[streams]\n":S" = "in"\n'
    (tmp_path / "q.toml").write_text(f'{head}[files]\n"{ROOMS}" = "rooms.ttl"\n')
    found = read_job(tmp_path / "q.rq")
    assert found.files == {ROOMS: tmp_path / "rooms.ttl"}
    assert "a file" in explained_file(str(tmp_path / "q.rq"), ())
    (tmp_path / "q.toml").write_text(head)
    given = read_job(tmp_path / "q.rq", files=[f"<{ROOMS}>={tmp_path / 'rooms.ttl'}"])
    assert list(given.files.values()) == [tmp_path / "rooms.ttl"]
    for wrong, told in (('"rom.ttl"', "No such file"), ("3", "must be text, not 3")):
        (tmp_path / "q.toml").write_text(f'{head}[files]\n"{ROOMS}" = {wrong}\n')
        with pytest.raises(QueryError, match=rf"line 3|line 4.*{told}"):
            read_job(tmp_path / "q.rq")
