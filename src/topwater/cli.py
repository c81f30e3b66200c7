"""The command line. Each command is a thin shell around a function that Python can call too."""

from __future__ import annotations

import contextlib
import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from topwater.errors import TopwaterError
from topwater.evaluate.bench_cli import app as bench
from topwater.evaluate.experiment_cli import app as experiment

if TYPE_CHECKING:
    from collections.abc import Iterator

app = typer.Typer(
    name="topwater",
    help="Continuous top-k answers over event streams, on Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.add_typer(bench, name="bench")
app.add_typer(experiment, name="experiment")

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"topwater {version('topwater')}")
        raise typer.Exit


@app.callback()
def main(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and end."
        ),
    ] = False,
) -> None:
    """Continuous top-k answers over event streams, on Spark."""


@app.command()
def demo(
    windows: Annotated[int, typer.Option(min=1, max=150, help="How many windows.")] = 40,
    budget: Annotated[int, typer.Option(min=1, max=400, help="Look-ups for each window.")] = 7,
    policy: Annotated[str, typer.Option(help="Which users to look up.")] = "worth",
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another evening.")] = 7,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per window, and the report.")
    ] = False,
    log_file: Annotated[str, typer.Option(help="Keep Spark's log in this file.")] = "",
    debug: Debug = False,
) -> None:
    """Who is mentioned most while their following grows, on Spark, with a few look-ups a window.

    Prints each window when it closes, and in the end how right the answers were: against the
    truth, and against the published policies on the same stream with the same budget.
    """
    with _told(debug):
        from topwater.demo import JsonLines, Lines, Scene, run

        scene = Scene(windows, budget, policy, seed)
        display = JsonLines() if as_json else Lines(Console(highlight=False), scene)
        report = run(scene, display, log_file or None)
        if report.differing:
            raise TopwaterError(
                f"{report.differing} windows differ from the same query in process",
                fix="this is a bug: please report it with the options you used",
            )


@app.command()
def state(
    checkpoint: Annotated[str, typer.Argument(help="The checkpoint folder of a Spark query.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per shard and nothing else.")
    ] = False,
    debug: Debug = False,
) -> None:
    """What a query on Spark remembers: its windows, candidates and replica, shard by shard."""
    with _told(debug):
        from topwater.spark import read_state, session
        from topwater.spark.state import lines

        spark = session("topwater state", master="local[1]")
        found = read_state(spark, checkpoint)
        shown = [json.dumps(each.to_dict()) for each in found] if as_json else lines(found)
        typer.echo("\n".join(shown))


@contextlib.contextmanager
def _told(debug: bool) -> Iterator[None]:
    """Errors as two lines (what is wrong, what to do) and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        if debug:
            raise
        typer.echo("stopped", err=True)
        raise typer.Exit(130) from None
    except TopwaterError as error:
        if debug:
            raise
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    except Exception as error:
        if debug:
            raise
        typer.echo(f"error: {_cause(error)}\n  fix: see the traceback with --debug", err=True)
        raise typer.Exit(1) from None


def _cause(error: Exception) -> str:
    """The line that names the cause: PySpark puts it last, before a dump of the whole plan."""
    told = str(error).split("=== Streaming Query ===")[0].strip()
    return told.splitlines()[-1].strip() if told else type(error).__name__
