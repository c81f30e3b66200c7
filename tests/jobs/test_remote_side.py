"""The remote side of a job: sources of one's own, and the example service, a plug-in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from tests.support.distributions import hide_lab, install
from topwater.cli import app
from topwater.cli.starter import start_project
from topwater.errors import EnvironmentProblem, QueryError
from topwater.jobs.remote_side import (
    EXAMPLE,
    EXAMPLES,
    example,
    is_example,
    require_example,
    service_of,
    source_of,
)

if TYPE_CHECKING:
    from pathlib import Path

SERVICE = """
import contextlib, types

@contextlib.contextmanager
def started():
    yield types.SimpleNamespace(url="http://127.0.0.1:1")
"""


def test_the_example_of_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hide_lab(monkeypatch)
    entries = f"[{EXAMPLES}]\nfollowers = outsider_service:started\n"
    install(tmp_path, "out-sider", entries, {"outsider_service": SERVICE})
    monkeypatch.syspath_prepend(tmp_path)
    with example(wanted=True) as address:
        assert address == "http://127.0.0.1:1"


def test_without_the_laboratory_there_is_no_example(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_lab(monkeypatch)
    with pytest.raises(EnvironmentProblem) as caught, example(wanted=True):
        pass
    assert str(caught.value) == (
        "the service example:followers comes with the laboratory, which is not installed\n"
        '  fix: pip install "topwater[lab]"'
    )
    with example(wanted=False) as address:
        assert address.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("rspql", [True, False])
@pytest.mark.parametrize("option", ["--check", "--once"])
def test_a_starter_project_without_the_laboratory_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rspql: bool, option: str
) -> None:
    start_project(tmp_path / "mine", rspql=rspql)
    hide_lab(monkeypatch)
    result = CliRunner().invoke(app, ["run", str(tmp_path / "mine" / "job.toml"), option])
    assert result.exit_code == 3
    said = "service example:followers comes with the laboratory, which is not installed\n  fix: pip"
    assert said in result.stderr


def test_which_addresses_are_examples() -> None:
    assert is_example({"url": EXAMPLE})
    assert is_example(EXAMPLE)
    assert not is_example({"url": "http://example.org"})
    require_example({"url": EXAMPLE})
    with pytest.raises(QueryError, match=r"did you mean example:followers\?"):
        require_example({"url": "example:friends"})


def test_sources_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from topwater.remote import memory\n"
        "def made(of):\n    return memory({'a': of})\n"
        "def wrong():\n    return 7\n"
        "three = 3\n"
    )
    source = source_of({"kind": "python", "object": "mine.py:made", "of": 2.0}, tmp_path)
    assert repr(source) == "MemorySource(1 keys)"
    service = service_of({"kind": "python", "object": "mine.py:made", "of": 2.0}, tmp_path)
    assert repr(service) == "KeySource(MemorySource(1 keys))"
    for settings, told in (
        ({"object": "mine.py:wrong"}, "makes no source"),
        ({"object": "mine.py:made"}, "can't be made: TypeError"),
        ({"object": "mine.py:three"}, "no class or function three"),
        ({"object": "mine"}, "names nothing"),
        ({"object": "no.such.module:made"}, "can't be imported"),
    ):
        with pytest.raises(QueryError, match=told):
            source_of({"kind": "python", **settings}, tmp_path)


def test_a_file_of_sqlite_is_looked_for_where_the_job_is(tmp_path: Path) -> None:
    source = source_of(
        {"url": "sqlite:///users.db", "table": "t", "key": "k", "value": "v"}, tmp_path
    )
    assert str(tmp_path / "users.db") in repr(source)
