"""``topwater experiment``: the papers' experiments, run again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from topwater.cli.terminal import Debug, Quiet, examples_of, plain_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from topwater_lab.experiments.evening import Counts

app = typer.Typer(help="Run the papers' experiments again.", no_args_is_help=True)

Data = Annotated[
    str,
    typer.Option(help="The folder of a recording; TOPWATER_DATA, or a generated one, if left out."),
]
Out = Annotated[Path, typer.Option(help="Where the report goes.")]
Quick = Annotated[bool, typer.Option("--quick", help="A few cells only.")]
OnSpark = Annotated[bool, typer.Option("--spark", help="Run in parallel through Spark.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON and nothing else.")]


@app.callback()
def experiment() -> None:
    """Run the papers' experiments again."""


@app.command(
    epilog=examples_of(
        "topwater experiment acquatop --quick",
        "topwater experiment acquatop --counts true --out out/true",
    )
)
def acquatop(
    data: Data = "",
    out: Out = Path("out/acquatop"),
    quick: Quick = False,
    counts: Annotated[
        str, typer.Option(help="paper: at most one mention per user and slide; true: all.")
    ] = "paper",
    spark: OnSpark = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """AcquaTop's experiments 0 to 4: all policies, five data sets, medians.

    Writes report.html, records.parquet and summary.json.
    """
    from topwater_lab.experiments import acquatop as experiments
    from topwater_lab.experiments.experiment_report import acquatop_page
    from topwater_lab.experiments.parallel_runs import run_jobs

    folder = _folder(data)
    with plain_errors(debug):
        chosen = _counts(counts)
        jobs = experiments.jobs(folder, chosen, quick=quick)
        records = run_jobs(jobs, spark=spark, quiet=quiet)
    results = experiments.Results.of(records, chosen)
    about = f"{_source(folder)}, {counts} counts, {experiments.DATA_SETS} data sets a cell."
    page = acquatop_page(records, results, experiments.sweeps(quick=quick), about)
    summary = results.summary()
    _write(out, page, records, summary)
    lines = _closures("worth", summary["closure"])
    lines += _closures("worth, carried over", summary["closure_carry_over"])
    _end(out, summary, as_json, lines)


@app.command(
    epilog=examples_of(
        "topwater experiment acqua --quick",
        "topwater experiment acqua --json > summary.json",
    )
)
def acqua(
    data: Data = "",
    out: Out = Path("out/acqua"),
    quick: Quick = False,
    spark: OnSpark = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """ACQUA's Tables 1 and 2: join accuracy by proposer and ranker, over 60 windows."""
    from topwater_lab.experiments import acqua as experiments
    from topwater_lab.experiments.experiment_report import acqua_page
    from topwater_lab.experiments.parallel_runs import run_jobs

    folder = _folder(data)
    with plain_errors(debug):
        records = run_jobs(experiments.jobs(folder, quick=quick), spark=spark, quiet=quiet)
    summary = experiments.summary(records)
    about = f"{_source(folder)}, the first {experiments.EVALUATIONS} windows."
    _write(out, acqua_page(summary, about), records, summary)
    _end(out, summary, as_json, [])


@app.command(
    epilog=examples_of(
        "topwater experiment worlds --quick",
        "topwater experiment worlds --json > worlds.json",
        "topwater experiment worlds --setpoint",
        'topwater experiment worlds --errors --only "levels; cold sum, moving"',
    )
)
def worlds(
    quick: Quick = False,
    design: Annotated[
        bool, typer.Option("--design", help="On the seeds that beliefs were designed with.")
    ] = False,
    setpoint: Annotated[
        bool,
        typer.Option("--setpoint", help="As few look-ups as reach an accuracy of 0.9, instead."),
    ] = False,
    errors: Annotated[
        bool,
        typer.Option("--errors", help="Only worth, on ten seeds, with standard errors."),
    ] = False,
    only: Annotated[str, typer.Option(help="Worlds for --errors, between semicolons.")] = "",
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """All policies in made-up worlds: values that walk, drift, storm; keys never met before."""
    from topwater_lab.experiments import set_points, world_errors, world_runs
    from topwater_lab.experiments.world_report import lines
    from topwater_lab.experiments.worlds import DESIGN_SEEDS, REPORTING_SEEDS

    seeds = DESIGN_SEEDS if design else REPORTING_SEEDS
    with plain_errors(debug):
        if errors:
            held = world_errors.trials(seeds, set_point=setpoint, quick=quick, only=only)
            outcomes = world_errors.outcomes(held, quiet=quiet)
            report, table = world_errors.report(outcomes), world_errors.lines(outcomes)
        elif setpoint:
            found = set_points.rows(set_points.trials(seeds, quick=quick), quiet=quiet)
            report, table = set_points.report(found), set_points.lines(found)
        else:
            cells = world_runs.cells(world_runs.contests(seeds, quick=quick), quiet=quiet)
            report, table = world_runs.report(cells), lines(cells)
    if as_json:
        typer.echo(json.dumps(report, allow_nan=False))
        return
    for line in table:
        typer.echo(line)


def _folder(data: str) -> str:
    return data or os.environ.get("TOPWATER_DATA", "")


def _source(folder: str) -> str:
    return f"The recording in {Path(folder).name}" if folder else "A generated recording"


def _counts(text: str) -> Counts:
    from topwater.errors import QueryError
    from topwater_lab.experiments.evening import Counts

    for known in get_args(Counts):
        if text == known:
            return cast("Counts", known)
    raise QueryError(f"{text!r} is unknown", field="counts", fix="use: paper or true")


def _write(out: Path, page: str, records: pa.Table, summary: dict[str, Any]) -> None:
    import pyarrow.parquet as pq

    out.mkdir(parents=True, exist_ok=True)
    (out / "report.html").write_text(page, encoding="utf-8")
    (out / "summary.json").write_text(json.dumps(summary, indent=1, allow_nan=False) + "\n")
    pq.write_table(records, out / "records.parquet")


def _end(out: Path, summary: dict[str, Any], as_json: bool, lines: Sequence[str]) -> None:
    if as_json:
        typer.echo(json.dumps(summary, allow_nan=False))
        return
    for line in lines:
        typer.echo(line)
    typer.echo(f"report: {out / 'report.html'}")


def _closures(who: str, closure: dict[str, float | None]) -> list[str]:
    return [
        f"gap closed by {who}, {metric}: {'no gap' if share is None else f'{share:.0%}'}"
        for metric, share in closure.items()
    ]
