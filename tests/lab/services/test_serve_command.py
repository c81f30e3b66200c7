"""``topwater serve-example``: what it refuses."""

from __future__ import annotations

import importlib.util

import pytest
from typer.testing import CliRunner

from topwater.cli import app


def test_a_package_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *more: None if name == "pyoxigraph" else find(name, *more),
    )
    result = CliRunner().invoke(app, ["serve-example", "followers"])
    assert result.exit_code == 3
    assert result.stderr == (
        'error: the package pyoxigraph is not installed\n  fix: pip install "topwater[lab]"\n'
    )


def test_settings_on_the_command_line() -> None:
    result = CliRunner().invoke(app, ["serve-example", "followers", "--fault", "nothing"])
    assert result.exit_code == 2
    assert result.stderr.startswith("error: fault: 'nothing' is unknown\n  fix: use one of: hangs")
