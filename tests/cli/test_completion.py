"""Help that teaches by examples, is there at once, and shells that complete."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from topwater.cli import app, completion

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAVY = {"pyspark", "numba", "numpy", "pandas", "pyarrow", "rdflib", "httpx", "sqlalchemy"}
HEAVY |= {"duckdb", "polars", "pyoxigraph", "starlette", "uvicorn"}


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands that do something, with their names."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
    for name, each in (inner or {}).items():
        yield from commands(each, (*path, name))


COMMANDS = dict(commands(get_command(app)))


def examples() -> list[str]:
    """The lines of all examples, each command on its own."""
    texts = [each.epilog or "" for each in (get_command(app), *COMMANDS.values())]
    lines = [line.strip() for text in texts for line in text.splitlines()[1:]]
    return [part.strip() for line in lines for part in line.split("&&")]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_shows_how_it_is_used(path: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, [*path, "--help"])
    assert result.exit_code == 0
    assert "Examples:" in result.output
    assert f"topwater {' '.join(path)}" in COMMANDS[path].epilog


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_fits_a_terminal_of_80_columns(path: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(app, [*path, "--help"], terminal_width=80, env={"COLUMNS": "80"})
    lines = [line.strip() for line in shown.output.splitlines()]
    for example in (COMMANDS[path].epilog or "").splitlines():
        assert example.strip().replace(r"\[", "[") in lines
    for paragraph in COMMANDS[path].help.split("\n\n"):
        assert "\n" not in paragraph


@pytest.mark.parametrize("line", examples())
def test_every_example_can_be_read(line: str) -> None:
    words = shlex.split(line, comments=True)
    if ">" in words:
        words = words[: words.index(">")]
    program, *words = words
    assert program in ("topwater", "cd", "curl")
    if program != "topwater" or words == ["--install-completion"]:
        return
    path: tuple[str, ...] = ()
    while path not in COMMANDS:
        path = (*path, words.pop(0))
    # Read and checked as when it is run, and not run.
    COMMANDS[path].make_context("topwater", words)


def test_help_loads_nothing_heavy() -> None:
    code = """
import sys
from topwater.cli import app
try:
    app(["--help"])
except SystemExit:
    print(*{n.split('.')[0] for n in sys.modules}, file=sys.stderr)
"""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "topwater_lab" in done.stderr.split(), "its commands are shown, too"
    assert not HEAVY & set(done.stderr.split())


def completed(shell: str, line: str, cwd: Path) -> list[str]:
    """What a shell is offered after this line."""
    words = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
    }[shell]
    done = subprocess.run(
        [sys.executable, "-c", "from topwater.cli import app; app(prog_name='topwater')"],
        capture_output=True,
        text=True,
        check=True,
        cwd=cwd,
        env=os.environ | words | {"_TOPWATER_COMPLETE": f"complete_{shell}"},
    )
    return done.stdout.splitlines()


def test_bash_completes_commands_and_jobs(tmp_path: Path) -> None:
    (tmp_path / "job.toml").touch()
    (tmp_path / "jotting.txt").touch()
    assert "run" in completed("bash", "topwater ru", tmp_path)
    assert completed("bash", "topwater run jo", tmp_path) == ["job.toml"]
    assert "--once" in completed("bash", "topwater run --o", tmp_path)


def test_zsh_completes_policies_with_what_they_do(tmp_path: Path) -> None:
    offered = "\n".join(completed("zsh", "topwater demo --policy wo", tmp_path))
    assert '"worth":"what knowing' in offered
    assert "lru" not in offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_is_shown(shell: str) -> None:
    command = [sys.executable, "-m", "topwater", "--show-completion", shell]
    off = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=True, env=os.environ | off
    )
    assert "complete_" in done.stdout


def test_what_is_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "q.rq").touch()
    assert completion.job_files("") == ["in/"]
    assert completion.job_files("in/") == ["in/q.rq"]
    assert completion.job_files("none/q") == []
    names = [name for name, _ in completion.policies("")]
    assert "worth" in names
    assert "bst" not in names, "it knows the truth"
    assert "query.list=panes" in completion.settings("query.li")
    assert "sink.path=" in completion.settings("sink.")
    assert completion.settings("query.refresh.policy=w") == [
        f"query.refresh.policy={name}" for name in names if name.startswith("w")
    ]
