"""The command line. Each command is a thin shell around a function that Python can call too."""

from __future__ import annotations

import contextlib
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
    seconds: Annotated[
        int, typer.Option(min=61, max=86_400, help="Event time that the stream covers.")
    ] = 600,
    rate: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Bids per second of event time.")
    ] = 500,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another stream.")] = 7,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per window and nothing else.")
    ] = False,
    log_file: Annotated[str, typer.Option(help="Keep Spark's log in this file.")] = "",
    debug: Debug = False,
) -> None:
    """The 5 highest bids of the last minute, every 10 s, on Spark, over a generated stream.

    Prints each window when it closes, and in the end checks every answer by sorting all bids.
    """
    with _told(debug):
        from topwater.demo import JsonLines, Lines, run
        from topwater.generate import Bids

        bids = Bids(rows_per_second=rate, seconds=seconds, seed=seed, disorder_ms=2_000)
        display = JsonLines() if as_json else Lines(Console(highlight=False))
        report = run(bids, display, log_file or None)
        if report.wrong:
            raise TopwaterError(
                f"{report.wrong} windows differ from sorting everything",
                fix="this is a bug: please report it with the options you used",
            )


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
