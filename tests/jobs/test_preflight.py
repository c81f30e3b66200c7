"""Is all there that a job needs? Asked without Spark."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from tests.support.job_files import job
from topwater.cli import app
from topwater.errors import SourceError
from topwater.jobs.display import Display
from topwater.jobs.preflight import checked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from topwater.jobs import Job


@pytest.fixture
def port() -> Iterator[int]:
    """Where somebody listens."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield int(server.getsockname()[1])


def reading(folder: Path, *servers: str) -> Job:
    schema = 'topics=["t"], schema="user string, at timestamp"'
    return job(folder, "", f'stream={{kind="kafka", servers="{",".join(servers)}", {schema}}}')


def reached(job: Job, capsys: pytest.CaptureFixture[str]) -> list[Any]:
    checked(job, Display(job, None, None), as_json=True)
    return list(json.loads(capsys.readouterr().out)["reached"])


def test_check_reaches_all_and_starts_no_spark(tmp_path: Path) -> None:
    job(tmp_path)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        stream = f'stream={{kind="kafka", servers="127.0.0.1:{port}", topics=["t"], '
        schema = 'schema="user string, at timestamp"}'
        arguments = ["run", str(tmp_path / "job.toml"), "--check", "--set", stream + schema]
        told = CliRunner().invoke(app, arguments)
        assert told.exit_code == 0, told.stderr
        assert f"all is there: stream at 127.0.0.1:{port}" in told.stdout
        plain = json.loads(CliRunner().invoke(app, [*arguments, "--json", "-q"]).stdout)
    assert plain["reached"] == [f"stream at 127.0.0.1:{port}"]
    assert plain["java"]


def test_every_server_is_reached(
    tmp_path: Path, port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    found = reached(reading(tmp_path, f"127.0.0.1:{port}", f" localhost:{port}"), capsys)
    assert found == [f"stream at 127.0.0.1:{port}", f"stream at localhost:{port}"]


def test_files_are_nowhere_to_be_reached(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reached(job(tmp_path), capsys) == []


def test_a_server_where_nobody_is(tmp_path: Path, port: int) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = closed.getsockname()[1]
        wrong = reading(tmp_path, f"127.0.0.1:{port}", f"127.0.0.1:{nobody}")
        with pytest.raises(SourceError, match=f"nothing answers at 127.0.0.1:{nobody}"):
            checked(wrong, Display(wrong, None, None))


def test_an_address_of_ipv6_keeps_its_brackets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []

    def connect(place: Any, timeout: float) -> socket.socket:
        asked.append((place, timeout > 0))
        return socket.socket()

    monkeypatch.setattr(socket, "create_connection", connect)
    assert reached(reading(tmp_path, "[::1]:9092"), capsys) == ["stream at [::1]:9092"]
    assert asked == [(("::1", 9092), True)]


def test_a_source_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    remote = ("query.refresh=f", 'query.score="n * f"')
    well = job(tmp_path, '[source]\nkind = "memory"\nvalues = {ann = 3.0}\n', *remote)
    assert reached(well, capsys) == ["source"]
    absent = '[source]\nurl = "sqlite:///absent.db"\ntable = "t"\nkey = "k"\nvalue = "v"\n'
    lost = job(tmp_path, absent, *remote)
    with pytest.raises(SourceError, match=r"job\.toml, line \d+: source\.url: ") as caught:
        checked(lost, Display(lost, None, None))
    assert caught.value.fix
