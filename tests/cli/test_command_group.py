"""The group of all commands: how misuse is told, and what help shows."""

from __future__ import annotations

from typer.testing import CliRunner

from topwater.cli import app


def test_misuse_is_told_as_everything_else_is() -> None:
    for words, told in {
        ("rn",): "No such command 'rn'. Did you mean 'run'?",
        ("bensh",): "No such command 'bensh'. Did you mean 'bench'?",
        ("run",): "Missing argument 'job'.",
        ("demo", "--windows", "0"): "Invalid value for '--windows'",
        ("run", "x", "--onse"): "No such option: --onse",
    }.items():
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 2
        first, second = result.stderr.splitlines()
        assert first.startswith(f"error: {told}")
        known = words[0] in ("run", "demo")
        assert second == f"  fix: see topwater{f' {words[0]}' if known else ''} --help"


def test_no_arguments_show_the_help() -> None:
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 0
    assert "Examples:" in result.stdout
