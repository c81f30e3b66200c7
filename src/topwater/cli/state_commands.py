"""``topwater state``: what a query on Spark remembers, and for how many shards."""

from __future__ import annotations

from typing import Annotated

import typer

from topwater.cli.command_group import ShowOrChange
from topwater.cli.terminal import Debug, Quiet, examples_of, plain_errors
from topwater.show.console import progress

Checkpoint = Annotated[
    str, typer.Argument(help="The checkpoint of a query, or the folder that a job writes to.")
]

app = typer.Typer(
    cls=ShowOrChange,
    help="What a query on Spark remembers: show it, or give it to other shards.\n\n"
    "topwater state FOLDER is short for topwater state show FOLDER.",
    epilog=examples_of(
        "topwater state show answers  # of a job that writes to answers/",
        "topwater state rescale answers --shards 16",
    ),
    no_args_is_help=True,
)


@app.command(
    epilog=examples_of(
        "topwater state show answers  # of a job that writes to answers/",
        "topwater state show answers/_checkpoint --json",
    )
)
def show(
    checkpoint: Checkpoint,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per shard and nothing else.")
    ] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """What a query on Spark remembers: its windows, candidates and replica, shard by shard.

    Of standing queries: how many there are, and how many objects they refer to.
    """
    with plain_errors(debug):
        from topwater.spark import session
        from topwater.spark.state import located, state_lines

        place = located(checkpoint)
        with progress("starting Spark", quiet):
            spark = session("topwater state", master="local[1]")
            shown = state_lines(spark, place, as_json=as_json)
    typer.echo("\n".join(shown))


@app.command(
    epilog=examples_of(
        "topwater state rescale answers --shards 16  # of a job that writes to answers/",
        "topwater state rescale s3a://bucket/checkpoint --shards 4",
    )
)
def rescale(
    checkpoint: Checkpoint,
    shards: Annotated[int, typer.Option(help="How many shards the query is to have.")],
    partitions: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many tasks; by default as many as shards, if that was so before."
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="Of the ranking, where the query has several.")] = "",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Let a query that was stopped go on with another number of shards, and forget nothing.

    The checkpoint is rewritten beside the old one, takes its place when it is complete, and the old
    one is kept under another name. start() and topwater run do the same by themselves.
    """
    with plain_errors(debug):
        from topwater.spark import rescale as rescale_checkpoint
        from topwater.spark import session
        from topwater.spark.state import located

        place = located(checkpoint)
        with progress("starting Spark", quiet):
            spark = session("topwater state")
        with progress("rewriting the checkpoint", quiet):
            done = rescale_checkpoint(spark, place, shards, partitions=partitions, name=name)
    if done is None:
        typer.echo(f"{place} is for {shards} shards already")
    else:
        typer.echo(f"{place} is now for {done.shards} shards; for {done.before} it is {done.kept}")
