"""`topwater live`: what it says, and how it ends when it can't begin."""

from __future__ import annotations

import socket
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from tests.support.live_sink import Sink
from topwater.cli import app
from topwater.live import Page, live_process
from topwater.live.folder import EXPLAINED, Folder


def ended(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["live", *arguments])
    return result.exit_code, result.output


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "answers"
    file.write_text("", encoding="utf-8")
    code, said = ended(str(file))
    assert code == 2
    assert (
        said
        == f"error: place: {file} is a file\n  fix: give the folder that the stream writes to\n"
    )


def test_a_folder_elsewhere() -> None:
    code, said = ended("s3://bucket/answers")
    assert code == 2
    assert "is not on this machine" in said


def test_a_folder_of_something_else_is_passed_over_with_a_word(tmp_path: Path) -> None:
    sink = Sink(tmp_path / "bids")
    sink.log(sink.write([{"lot": "vase"}]))
    with Page.started(port=0) as page:
        told: list[str] = []
        live_process._look(Folder(sink.folder), page, told.append)
        (word,) = told
    assert word.startswith("warning: passed over: ")
    assert "window_end: is missing: these rows are not answers" in word


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, said = ended(str(tmp_path), "--port", str(taken.getsockname()[1]))
    assert code == 3
    assert "Address already in use" in said


class Enough(Exception):
    pass


def test_who_else_can_read_it_is_said_and_the_browser_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def opened(url: str) -> None:
        said.append(url)
        raise Enough

    monkeypatch.setattr(live_process, "is_loopback", lambda _: False)
    with pytest.raises(Enough):
        live_process.watch(str(tmp_path), said.append, host="127.0.0.1", port=0, opened=opened)
    warning, line, url = said
    assert warning.startswith("warning: anybody who can reach this machine can read the page")
    assert line.startswith(f"{url} shows what is written to {tmp_path}")


def test_a_job_left_beside_its_answers_what_they_answer(tmp_path: Path) -> None:
    (tmp_path / EXPLAINED).write_text("who is mentioned most")
    seen: list[str] = []

    def opened(url: str) -> None:
        seen.append(httpx.get(f"{url}state.json").json()["about"]["explained"])
        raise Enough

    with pytest.raises(Enough):
        live_process.watch(str(tmp_path), seen.append, host="127.0.0.1", port=0, opened=opened)
    assert seen[-1] == "who is mentioned most"
