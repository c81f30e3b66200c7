"""The command line. Each command is a thin shell around a function that Python can call too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from topwater.errors import TopwaterError
from topwater.evaluate.bench_cli import app as bench
from topwater.evaluate.experiment_cli import app as experiment
from topwater.terminal import Debug, told

app = typer.Typer(
    name="topwater",
    help="Continuous top-k answers over event streams, on Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.add_typer(bench, name="bench")
app.add_typer(experiment, name="experiment")

examples = typer.Typer(help="Services on this machine to try sources against.")
app.add_typer(examples, name="serve-example", no_args_is_help=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

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
    with told(debug):
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
    with told(debug):
        from topwater.spark import read_state, session
        from topwater.spark.state import lines

        spark = session("topwater state", master="local[1]")
        found = read_state(spark, checkpoint)
        shown = [json.dumps(each.to_dict()) for each in found] if as_json else lines(found)
        typer.echo("\n".join(shown))


@app.command()
def run(
    query: Annotated[Path, typer.Argument(help="A file with a query in RSP-QL.")],
    stream: Annotated[
        list[str] | None, typer.Option(metavar="NAME=PATH", help="A folder or file of RDF lines.")
    ] = None,
    service: Annotated[
        list[str] | None, typer.Option(metavar="NAME=URL", help="A SPARQL endpoint.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Answer what is there, and end.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per window and nothing else.")
    ] = False,
    log_file: Annotated[str, typer.Option(help="Keep Spark's log in this file.")] = "",
    debug: Debug = False,
) -> None:
    """Run a query in RSP-QL over files to which more may come, until Ctrl-C.

    Lines are "TIME<TAB>TRIPLES" in *.nt, "TIME<TAB>QUADS" in *.nq, or JSON-LD with a "time" in
    *.jsonl. Streams and services may also be written down next to the query: NAME.toml.
    """
    with told(debug):
        from topwater.running import Job, JsonLines, Lines
        from topwater.running import run as run_query

        display = JsonLines() if as_json else Lines(Console(highlight=False))
        job = Job.read(query, stream or (), service or ())
        run_query(job, display, once=once, log_file=log_file or None)


@app.command()
def explain(
    query: Annotated[str, typer.Argument(help="A file with a query in RSP-QL; - reads stdin.")],
    debug: Debug = False,
) -> None:
    """What a query would do: its windows, list and budget; what is exact, and why."""
    with told(debug):
        from topwater.rspql import explain as explained

        typer.echo(explained(_text_of(query)))


def _text_of(path: str) -> str:
    try:
        if path == "-":
            return typer.get_text_stream("stdin", encoding="utf-8").read()
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise TopwaterError(
            f"{path} can't be read: {error}", fix="give the path of a text file in UTF-8"
        ) from None


@examples.callback()
def _examples() -> None:
    """Services on this machine to try sources against."""


@examples.command()
def followers(
    port: Annotated[int, typer.Option(help="On 127.0.0.1; 0 for any that is free.")] = 8765,
    users: Annotated[int, typer.Option(help="How many users: their keys start at 1000.")] = 400,
    seed: Annotated[int, typer.Option(help="Another seed, other users.")] = 0,
    latency: Annotated[float, typer.Option(help="Seconds before each answer.")] = 0.0,
    rate: Annotated[float, typer.Option(help="Requests a second; 0 for no limit.")] = 0.0,
    burst: Annotated[int, typer.Option(help="Requests at once; 0 for a tenth of the rate.")] = 0,
    faults: Annotated[float, typer.Option(help="The share of requests that go wrong.")] = 0.0,
    fault: Annotated[str, typer.Option(help="How all requests go wrong, as hangs or 503.")] = "",
    speed: Annotated[float, typer.Option(help="How fast counts change; 0: not at all.")] = 1.0,
    debug: Debug = False,
) -> None:
    """How many followers users have: an HTTP API and a SPARQL endpoint, until Ctrl-C.

    GET /followers?ids=1000,1001 knows up to 100 users a request, /users/1000 one, and /sparql
    answers SPARQL 1.1. GET /stats tells how many requests were answered and refused.
    """
    with told(debug):
        from topwater.serving import ServiceSettings, serve

        settings = ServiceSettings(
            port=port,
            users=users,
            seed=seed,
            latency=latency,
            rate=rate or None,
            burst=burst or None,
            faults=faults,
            fault=fault or None,
            speed=speed,
        )
        serve(settings, typer.echo)
