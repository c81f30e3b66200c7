"""The command line. Each command is a thin shell around a function that Python can call too."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from topwater.cli import completion, state_commands
from topwater.cli.command_group import Commands
from topwater.cli.terminal import Debug, LivePort, LookUp, Quiet, examples_of, plain_errors

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="TABLE.NAME=VALUE",
        help="Another value for a setting of the job.",
        autocompletion=completion.settings,
    ),
]

app = typer.Typer(
    name="topwater",
    cls=Commands,
    help="Continuous top-k answers over event streams, on Spark.",
    epilog=examples_of(
        "topwater demo  # see it work, in a minute",
        "topwater init mine && cd mine && topwater run job.toml  # a job of your own",
        "topwater --install-completion  # let the shell complete commands",
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


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


@app.command(
    epilog=examples_of(
        "topwater init mine  # a job over a recorded stream and an example service",
        "topwater init mine --rspql  # the same, with the query in RSP-QL",
        "cd mine && topwater run job.toml",
    )
)
def init(
    folder: Annotated[Path, typer.Argument(help="The folder to make; it must not hold files.")],
    rspql: Annotated[bool, typer.Option("--rspql", help="Write the query in RSP-QL.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a starter project that runs as it stands, with a comment on every setting."""
    with plain_errors(debug):
        from topwater.cli.starter import start_project

        made = start_project(folder, rspql=rspql)
        if not quiet:
            typer.echo("\n".join(made.lines()))


@app.command(
    epilog=examples_of(
        "topwater run job.toml",
        "topwater run job.toml --check  # is all there that it needs?",
        "topwater run job.toml --check --key ann  # and what is ann's value?",
        "topwater run job.toml --set query.k=10 --set sink.path=elsewhere",
        "topwater run job.toml --live  # and watch it in a browser",
        "topwater run query.rq --stream :S=mentions --service :BKG=example:followers",
        "topwater run job.toml --once --json > windows.jsonl",
    )
)
def run(
    job: Annotated[
        Path,
        typer.Argument(
            help="A job in TOML or YAML, or a query in RSP-QL (*.rq).",
            autocompletion=completion.job_files,
        ),
    ],
    stream: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=PATH", help="For RSP-QL: a folder or file of RDF lines."),
    ] = None,
    service: Annotated[
        list[str] | None, typer.Option(metavar="NAME=URL", help="For RSP-QL: a SPARQL endpoint.")
    ] = None,
    file: Annotated[
        list[str] | None,
        typer.Option(metavar="IRI=PATH", help="For RSP-QL: a file of RDF that FROM names."),
    ] = None,
    setting: Settings = None,
    once: Annotated[bool, typer.Option("--once", help="Answer what is there, and end.")] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Check everything, say what would run, and end. No Spark."),
    ] = False,
    key: LookUp = None,
    live: Annotated[bool, typer.Option("--live", help="Serve the live page.")] = False,
    port: LivePort = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per window, and the summary.")
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="No progress, nor windows that go to a sink anyway."),
    ] = False,
    log_file: Annotated[str, typer.Option(help="Keep Spark's log in this file.")] = "",
    debug: Debug = False,
) -> None:
    """Run a job on Spark until Ctrl-C: a query, a stream, a source and a sink, all in a file.

    A job is described in TOML or YAML; `topwater init` writes one. A query in RSP-QL runs over
    folders of RDF: lines are "TIME<TAB>TRIPLES" in *.nt, "TIME<TAB>QUADS" in *.nq, or JSON-LD
    with a "time" in *.jsonl. Its streams, services and sink may stand beside it, in NAME.toml.
    """
    with plain_errors(debug):
        from topwater.jobs import read_job
        from topwater.jobs.display import display_of
        from topwater.jobs.preflight import checked
        from topwater.jobs.runner import run as run_job

        more = [] if port is None else [f"live.port={port}"]
        found = read_job(
            job,
            streams=stream or (),
            services=service or (),
            files=file or (),
            settings=[*(setting or ()), *more],
        )
        display = display_of(found, as_json=as_json, quiet=quiet)
        if check:
            checked(found, display, as_json=as_json, key=key)
        else:
            live = live or port is not None
            run_job(found, display, once=once, live=live, log_file=log_file or None)


@app.command(
    epilog=examples_of(
        "topwater explain job.toml",
        "topwater explain query.rq",
        "topwater explain job.toml --set query.refresh.policy=lru --json",
    )
)
def explain(
    job: Annotated[
        str,
        typer.Argument(
            help="A job, or a query in RSP-QL; - reads a query from stdin.",
            autocompletion=completion.job_files,
        ),
    ],
    setting: Settings = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what it would do as one JSON object.")
    ] = False,
    debug: Debug = False,
) -> None:
    """What a job or a query would do: its windows, list and budget; what is exact, and why."""
    with plain_errors(debug):
        from topwater.jobs.explanation import explained_file

        typer.echo(explained_file(job, setting or (), as_json=as_json))


@app.command(
    epilog=examples_of(
        "topwater plan job.toml --recording fetched.jsonl",
        "topwater plan job.toml --recording followers.csv --budgets 1,3,7,15 --json",
        "topwater plan job.toml --recording fetched.jsonl --set query.k=10",
    )
)
def plan(
    job: Annotated[
        Path,
        typer.Argument(help="A job over recorded events.", autocompletion=completion.job_files),
    ],
    recording: Annotated[
        Path,
        typer.Option(
            help="What the remote values were: a file that `record` wrote, or a table (*.csv, "
            "*.parquet) with the columns of the key, the remote value and the time."
        ),
    ],
    budgets: Annotated[str, typer.Option(help="Numbers of look-ups a window to try.")] = "1,3,7,15",
    accuracy: Annotated[
        float | None,
        typer.Option(help="Also find how few look-ups reach this accuracy, such as 0.9."),
    ] = None,
    setting: Settings = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """What each budget would bring, tried on a recording before anybody pays for a look-up.

    For each number of look-ups a window: how right the answers are, what they claim, what a day
    costs; and how long the entries of a cache may live that is as right, and what that costs.
    """
    with plain_errors(debug):
        from topwater.jobs.plan_report import planned, print_plan

        found = planned(
            job, recording, budgets, accuracy=accuracy, settings=setting or (), quiet=quiet
        )
        print_plan(found, as_json=as_json)


@app.command(
    epilog=examples_of(
        "topwater live answers --open  # what a stream writes to the folder answers",
        "topwater live answers --port 0 --title 'Top users'",
    )
)
def live(
    place: Annotated[str, typer.Argument(help="The folder that a stream writes answers to.")],
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="The port to listen on; 0 for any that is free.")
    ] = 8787,
    host: Annotated[str, typer.Option(help="127.0.0.1 lets nobody else read it.")] = "127.0.0.1",
    opened: Annotated[bool, typer.Option("--open", help="Open the browser.")] = False,
    title: Annotated[str, typer.Option(help="The title of the page; by default the folder.")] = "",
    known_as: Annotated[
        list[str] | None, typer.Option(help="A name under which a proxy serves this page.")
    ] = None,
    debug: Debug = False,
) -> None:
    """A page in the browser: rankings as they are written to a folder, and how fresh they are.

    Reads parquet or JSON as Spark's sinks write them, without Spark, until Ctrl-C. A process of
    its own: it stays when the stream is stopped, and shows on when it is started again.
    """
    with plain_errors(debug):
        import webbrowser

        from topwater.live.live_process import watch

        watch(
            place,
            typer.echo,
            host=host,
            port=port,
            title=title,
            known_as=known_as or (),
            opened=webbrowser.open if opened else None,
        )


app.add_typer(state_commands.app, name="state")
