"""``topwater bench``: the commands. What they measure is imported when they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from topwater.cli.terminal import Debug, Quiet, examples_of, plain_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console
    from rich.table import Table

app = typer.Typer(help="Measure, on this machine.", no_args_is_help=True)

_COMMAS = "with commas between; all if left out"

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer points, in under a minute.")]
Seed = Annotated[int, typer.Option(min=0, help="Another seed, another stream.")]


@app.callback()
def bench() -> None:
    """Measure, on this machine."""


@app.command(
    epilog=examples_of(
        "topwater bench core --quick  # under a minute",
        "topwater bench core --json > core.json",
    )
)
def core(
    as_json: AsJson = False,
    quick: Quick = False,
    quiet: Quiet = False,
    lists: Annotated[
        str, typer.Option(help="Which lists and engines, with commas between; all if left out.")
    ] = "",
    seed: Seed = 7,
    debug: Debug = False,
) -> None:
    """All candidate lists, DuckDB and Polars over the published grid of windows, steps and k.

    Speed is a ratio to one numpy.max over the same scores. Takes about a quarter of an hour.
    """
    from topwater_lab.bench.core_speed import FULL, QUICK, bench_core

    names = [name.strip() for name in lists.split(",") if name.strip()]
    with plain_errors(debug):
        report = bench_core(QUICK if quick else FULL, names, seed=seed, quiet=quiet)
    _report(report, as_json, _show, "targets of panes")


@app.command(
    epilog=examples_of(
        "topwater bench spark --quick",
        "topwater bench spark --json > spark.json",
    )
)
def spark(
    as_json: AsJson = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer rows and runs, in some minutes.")
    ] = False,
    quiet: Quiet = False,
    rows: Annotated[
        int | None,
        typer.Option(
            min=0,
            show_default=False,
            help="Rows in all, up to 2 million per micro-batch. By default 10 million, or 2 "
            "million with --quick.",
        ),
    ] = None,
    seed: Seed = 7,
    debug: Debug = False,
) -> None:
    """A query on Spark next to Spark's own means, over the same files, in one session.

    Ratios are of the median micro-batch, to a pass that only reads, to the best native form and to
    the obvious one. Takes about twenty minutes.
    """
    from topwater_lab.bench import spark_speed
    from topwater_lab.bench.spark_tables import show

    effort = spark_speed.quick if quick else spark_speed.full
    with plain_errors(debug):
        chosen = effort() if rows is None else effort(rows)
        report = spark_speed.bench_spark(chosen, seed=seed, quiet=quiet)
    _report(report, as_json, show, "targets on Spark")


@app.command(
    epilog=examples_of(
        "topwater bench remote --quick",
        "topwater bench remote --json > remote.json",
    )
)
def remote(
    as_json: AsJson = False,
    quick: Quick = False,
    quiet: Quiet = False,
    seed: Seed = 7,
    debug: Debug = False,
) -> None:
    """Answers on time while a real service misbehaves, and how well its rate limit is used.

    The service runs on this machine, in a process of its own. Takes about three minutes.
    """
    from topwater_lab.bench.remote_punctuality import FULL, QUICK, bench_remote
    from topwater_lab.bench.remote_tables import show

    with plain_errors(debug):
        report = bench_remote(QUICK if quick else FULL, seed=seed, quiet=quiet)
    _report(report, as_json, show, "targets of remote sources")


@app.command(
    epilog=examples_of(
        "topwater bench standing --quick",
        "topwater bench standing --data uniform --k 9 --algorithms pa,snn  # a part",
        "topwater bench standing --errors --runs 20  # how often pa errs",
    )
)
def standing(
    as_json: AsJson = False,
    quick: Quick = False,
    quiet: Quiet = False,
    errors: Annotated[
        bool,
        typer.Option("--errors", help="Measure how often pa errs, instead of how fast all are."),
    ] = False,
    runs: Annotated[int, typer.Option(min=2, help="How many, with --errors.")] = 200,
    data: Annotated[str, typer.Option(help=f"Which streams, {_COMMAS}, as uniform.")] = "",
    k: Annotated[str, typer.Option("--k", help=f"Which k, {_COMMAS}.")] = "",
    d: Annotated[str, typer.Option("--d", help=f"Which numbers of dimensions, {_COMMAS}.")] = "",
    algorithms: Annotated[
        str,
        typer.Option(help=f"Which of them, {_COMMAS}; rapf is always there, to compare with."),
    ] = "",
    seed: Seed = 7,
    debug: Debug = False,
) -> None:
    """Thousands of standing queries at once, by every algorithm, with and without the index.

    Speed is a ratio to one compiled pass that only computes all scores. Takes about an hour; the
    options choose a part.
    """
    from topwater_lab.bench.standing_tables import show, show_errors

    with plain_errors(debug):
        part = (data, k, d, algorithms)
        report = _errors(quick, runs, seed, quiet) if errors else _speed(quick, part, seed, quiet)
    _report(report, as_json, show_errors if errors else show, "targets of standing queries")


@app.command(
    epilog=examples_of(
        "topwater bench scale --quick",
        "topwater bench scale --json > scale.json",
    )
)
def scale(
    as_json: AsJson = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer points, in about three minutes.")
    ] = False,
    quiet: Quiet = False,
    seed: Seed = 7,
    debug: Debug = False,
) -> None:
    """Up to a million keys in a window and ten thousand groups: closing, state, restart, memory.

    A query with a remote part: in one process a point, and on Spark, next to Spark's own count over
    the same files. Takes about eight minutes.
    """
    from topwater_lab.bench.scale_growth import FULL, QUICK, bench_scale
    from topwater_lab.bench.scale_tables import show

    with plain_errors(debug):
        report = bench_scale(QUICK if quick else FULL, seed=seed, quiet=quiet)
    _report(report, as_json, show, "targets of many keys and groups")


@app.command(
    epilog=examples_of(
        "topwater bench shards --quick",
        "topwater bench shards --json > shards.json",
    )
)
def shards(
    as_json: AsJson = False,
    quick: Quick = False,
    quiet: Quiet = False,
    seed: Seed = 100,
    debug: Debug = False,
) -> None:
    """How precise answers are with 4 and 16 shards, next to one with the same budget.

    Skewed keys, values that change; in this process. With one purse for all shards, and with the
    budget divided evenly. Takes some minutes.
    """
    from topwater_lab.bench.shard_precision import FULL, QUICK, bench_shards, show

    with plain_errors(debug):
        report = bench_shards(QUICK if quick else FULL, seed=seed, quiet=quiet)
    _report(report, as_json, show, "targets of shards")


@app.command(
    epilog=examples_of(
        "topwater bench wallet --quick",
        "topwater bench wallet --json > wallet.json",
    )
)
def wallet(
    as_json: AsJson = False,
    quick: Quick = False,
    quiet: Quiet = False,
    seed: Seed = 1_000,
    debug: Debug = False,
) -> None:
    """How precise answers are with one purse for two services, next to what costs as much.

    Next to the best fixed share of the budget for each service and the best TTL caches, both found
    in hindsight; and to choosing by ranked keys where these share entries. In worlds where costs
    and change rates are equal and where they differ, with a filter, and with foreign keys; in this
    process. Takes about twenty minutes. Seeds below ten are those that it was designed on.
    """
    from topwater_lab.bench.wallet_precision import FULL, QUICK, bench_wallet, show

    with plain_errors(debug):
        report = bench_wallet(QUICK if quick else FULL, seed=seed, quiet=quiet)
    _report(report, as_json, show, "targets of one purse")


def _errors(quick: bool, runs: int, seed: int, quiet: bool) -> dict[str, Any]:
    from topwater_lab.bench.standing_errors import bench_errors, full
    from topwater_lab.bench.standing_errors import quick as few

    return bench_errors(few() if quick else full(runs), seed=seed, quiet=quiet)


def _speed(quick: bool, part: tuple[str, ...], seed: int, quiet: bool) -> dict[str, Any]:
    from topwater_lab.bench.standing_runs import part_of
    from topwater_lab.bench.standing_speed import FULL, QUICK, bench_standing

    return bench_standing(part_of(QUICK if quick else FULL, *part), seed=seed, quiet=quiet)


def _report(
    report: dict[str, Any],
    as_json: bool,
    show: Callable[[dict[str, Any], Console], None],
    title: str,
) -> None:
    """The report as JSON, or as tables: what was measured, then what it should have been."""
    if as_json:
        from topwater_lab.bench.harness import write_json

        write_json(report)
        return
    from rich.console import Console

    console = Console(highlight=False)
    show(report, console)
    _show_targets(report["targets"], title, console)


def _show(report: dict[str, Any], console: Console) -> None:
    console.print(_rows_table(report["rows"]))
    if (memory := report["memory"]) is None:
        return
    console.print(
        f"memory: {memory['objects']:,} objects through a window of {memory['window']:,}: "
        f"{memory['full_window_bytes']:,} bytes when it was full, {memory['end_bytes']:,} at the "
        f"end, {memory['growth_bytes']:,} more",
        soft_wrap=True,
    )


def _show_targets(targets: list[dict[str, Any]], title: str, console: Console) -> None:
    console.print(_targets_table(targets, title))
    for target in targets:
        for kind in ("missed", "impossible"):
            for point in target[kind]:
                console.print(f"{kind}: {target['target']}: {point}", soft_wrap=True)


def _rows_table(rows: list[dict[str, Any]]) -> Table:
    from rich.table import Table

    from topwater_lab.bench.harness import short

    table = Table(
        title="objects per second, ns of CPU per object, and candidates as multiples of k",
        title_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
    )
    for column in ("window", "step", "k"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("list", no_wrap=True)
    for column in ("per s", "of max", "ns", "peak", "mean", "least"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("note")
    for row in rows:
        kept = (row["candidates"], row["mean_candidates"], row["expected_candidates"])
        table.add_row(
            *(short(row[column]) for column in ("window", "step", "k")),
            row["list"],
            *(short(row[c]) for c in ("objects_per_s", "ratio_to_max", "cpu_ns_per_object")),
            *(short(None if value is None else value / row["k"]) for value in kept),
            row["skipped"] or row["form"] or "",
        )
    return table


def _targets_table(targets: list[dict[str, Any]], title: str) -> Table:
    from rich.table import Table

    from topwater_lab.bench.harness import short

    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in ("target", "verdict", "points", "worst", "at"):
        table.add_column(column, no_wrap=column in ("verdict", "worst"))
    words = {True: "reached", False: "missed", None: "not measured"}
    for target in targets:
        table.add_row(
            target["target"],
            words[target["reached"]],
            f"{target['points']} (+{len(target['impossible'])} impossible)"
            if target["impossible"]
            else str(target["points"]),
            short(target["worst"]),
            target["at"] or "-",
        )
    return table
