"""Commands of other packages: the laboratory's, and anybody's."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from tests.support.distributions import hide_lab, install
from topwater.cli import app
from topwater.cli.plugins import GROUP, LAB, OpenCommands, plugged_command

if TYPE_CHECKING:
    from typer.testing import Result

ROOT = Path(__file__).resolve().parents[2]
ONE = '''
import typer

app = typer.Typer()

@app.command()
def anything(name: str, loud: bool = False) -> None:
    """Greet somebody,
    kindly."""
    typer.echo(f"hello {name}{'!' if loud else ''}")
'''
TWO = '''
import typer

app = typer.Typer(help="Two commands.")

@app.command()
def first() -> None:
    """The first."""
    typer.echo("one")

@app.command()
def second() -> None:
    """The second."""
    typer.echo("two")
'''


def invoke(*words: str) -> Result:
    return CliRunner().invoke(app, words)


@pytest.fixture
def outsider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that nobody here knows, with good commands and bad ones."""
    entries = {
        "greet": "outsider_one:app",
        "twice": "outsider_two:app",
        "broken": "outsider_broken:app",
        "absent": "outsider_absent:app",
        "odd": "outsider_broken_not:app",
        "run": "outsider_one:app",
    }
    lines = "\n".join(f"{name} = {value}" for name, value in entries.items())
    modules = {
        "outsider_one": ONE,
        "outsider_two": TWO,
        "outsider_broken": "1 / 0",
        "outsider_broken_not": "app = print",
    }
    install(tmp_path, "out-sider", f"[{GROUP}]\n{lines}\n", modules)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("outsider")
def test_an_app_with_one_command_is_that_command() -> None:
    assert invoke("greet", "ann", "--loud").stdout == "hello ann!\n"
    shown = invoke("greet", "--help").stdout
    assert "Usage: topwater greet [OPTIONS]" in shown.replace("root", "topwater")
    assert "Greet somebody, kindly." in shown
    assert "--install-completion" not in shown


@pytest.mark.usefixtures("outsider")
def test_an_app_with_several_commands_is_a_group() -> None:
    assert (invoke("twice", "first").stdout, invoke("twice", "second").stdout) == ("one\n", "two\n")
    result = invoke("twice", "third")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: No such command 'third'.")


@pytest.mark.usefixtures("outsider")
def test_help_has_all_names_and_what_they_do() -> None:
    result = invoke("--help")
    assert result.exit_code == 0
    for words in (
        "greet",
        "Greet somebody, kindly.",
        "Two commands.",
        *LAB,
        "bench",
        "Measure, on",
    ):
        assert words in result.stdout


@pytest.mark.usefixtures("outsider")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("broken", "division by zero"),
        ("absent", "No module named 'outsider_absent'"),
        ("odd", "outsider_broken_not:app is not a typer.Typer"),
    ],
)
def test_a_bad_one_does_no_harm_and_says_whose_it_is(name: str, why: str) -> None:
    result = invoke(name, "--anything")
    assert result.exit_code == 3
    assert result.stderr == (
        f"error: the command {name} of out-sider can't be loaded: {why}\n"
        "  fix: install another version of out-sider, or none\n"
    )
    assert f"Can't be loaded: see topwater {name}." in invoke("--help").stdout


@pytest.mark.usefixtures("outsider")
def test_nobody_can_take_the_place_of_a_command_of_ours() -> None:
    assert "Run a job on Spark" in invoke("run", "--help").stdout


def test_the_commands_of_the_laboratory_are_those_that_it_offers() -> None:
    offered = tomllib.loads((ROOT / "lab" / "pyproject.toml").read_text())
    assert set(offered["project"]["entry-points"][GROUP]) == set(LAB)


@pytest.mark.parametrize("words", [[], ["--help"], ["core", "--quick", "--json"], ["--no", "x"]])
@pytest.mark.parametrize("name", LAB)
def test_without_the_laboratory_its_commands_say_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, name: str, words: list[str]
) -> None:
    hide_lab(monkeypatch)
    result = invoke(name, *words)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == (
        f"error: the command {name} comes with the laboratory, which is not installed\n"
        '  fix: pip install "topwater[lab]"\n'
    )


def test_without_the_laboratory_the_help_says_what_needs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hide_lab(monkeypatch)
    shown = invoke("--help").stdout
    assert shown.count("Needs topwater-lab: ") == len(LAB)


def test_a_command_of_ours_asks_for_no_plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topwater.cli.plugins.entry_points", lambda **_: pytest.fail("asked"))
    assert invoke("run", "--help").exit_code == 0


def test_commands_are_a_mapping() -> None:
    prepared: list[str] = []
    commands = OpenCommands({"mine": 7}, lambda command: prepared.append(command.name))
    assert commands["mine"] == 7
    assert list(commands)[:2] == ["mine", next(iter(LAB))]
    assert len(commands) == len(list(commands))
    assert commands["bench"] is commands["bench"]
    assert prepared == ["bench"]
    assert "nothing" not in commands
    commands["new"] = 8
    assert "new" in list(commands)
    del commands["new"]
    assert "new" not in list(commands)
    with pytest.raises(KeyError):
        plugged_command("nothing")
    assert "bench" in getattr(get_command(app), "commands", ())
