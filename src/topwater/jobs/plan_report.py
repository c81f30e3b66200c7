"""A plan of budgets for a job: made from its files, and shown as a table and a few sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from topwater.errors import QueryError
from topwater.jobs.budget_plan import BudgetPlan, PlannedBudget, budget_plan
from topwater.jobs.job import Job
from topwater.jobs.loader import read_job
from topwater.jobs.recorded_events import events_of
from topwater.jobs.recorded_values import Names, values_from
from topwater.show.console import progress
from topwater.validation import span, whole_of

if TYPE_CHECKING:
    from rich.table import Table

_HEADS = ("look-ups\na window", "precision", "nDCG", "claims", "look-ups\na day")
_CACHE_HEADS = ("a cache as right\nhas a TTL of", "and look-ups\na day")


def planned(
    path: Path,
    recording: Path,
    budgets: str,
    *,
    accuracy: float | None = None,
    settings: Sequence[str] = (),
    quiet: bool = False,
) -> BudgetPlan:
    """Try budgets on the events of a job and a recording of its remote values.

    Parameters
    ----------
    path, settings
        The job's file, and other values for its settings.
    recording
        What the remote values were.
    budgets
        Numbers of look-ups a window, with commas.
    accuracy
        How right answers are to be, to find how many look-ups that takes.
    quiet
        Say nothing meanwhile.
    """
    from topwater.spark import session

    numbers = _budgets(budgets)
    job = read_job(path, settings=settings)
    remote = values_from(recording, _names(job))
    with progress("reading the events, with Spark", quiet):
        events = events_of(job, session("topwater plan"))

    def say(what: str) -> None:
        if not quiet:
            typer.echo(f"trying: {what}", err=True)

    with job.written.blamed("query"):
        return budget_plan(job.query, events, remote, numbers, say, accuracy)


def print_plan(plan: BudgetPlan, *, as_json: bool) -> None:
    """Print a plan."""
    if as_json:
        typer.echo(json.dumps(plan.to_dict()))
        return
    from rich.console import Console

    console = Console(highlight=False)
    console.print(table(plan))
    for line in sentences(plan):
        console.print(line)


def table(plan: BudgetPlan) -> Table:
    """A row for each budget, and the cache that is as right beside it."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for head in (*_HEADS, *_CACHE_HEADS):
        made.add_column(head, justify="right")
    for row in plan.rows:
        made.add_row(*_cells(row))
    return made


def sentences(plan: BudgetPlan) -> Iterator[str]:
    """What the table is of, and what follows from it."""
    yield (
        f"{plan.windows:,} windows, {plan.keys:,} keys. Reading every value for every window "
        f"would cost {_number(plan.every_key)} look-ups a day."
    )
    if plan.unknown_keys:
        yield (
            f"The recording does not have {plan.unknown_keys:,} of the keys: they are in no answer."
        )
    if any(row.ttl is None for row in plan.rows):
        yield "A TTL of none: in the time recorded, no value need be read twice to be as right."
    if plan.target is not None:
        enough = plan.enough
        if enough is None:
            yield f"No budget tried reaches the accuracy of {plan.target:g}: try more look-ups."
        else:
            yield f"{enough} look-ups a window reach the accuracy of {plan.target:g}."
    if plan.by_accuracy is not None:
        found, trial = plan.by_accuracy, plan.by_accuracy.trial
        yield (
            f"As few look-ups as make answers {found.accuracy:g} right by their own estimates, "
            f"at most {found.at_most:,} a window, are {_number(trial.look_ups_a_day)} a day: "
            f"precision {trial.precision:.3f}, nDCG {trial.ndcg:.3f}."
        )


def _cells(row: PlannedBudget) -> Iterator[str]:
    trial = row.trial
    yield str(row.budget)
    yield from (f"{share:.3f}" for share in (trial.precision, trial.ndcg, trial.said_precision))
    yield _number(trial.look_ups_a_day)
    yield "none" if row.ttl is None else span(row.ttl)
    yield _number(row.cache.look_ups_a_day)


def _number(count: float) -> str:
    return f"{count:,.0f}"


def _names(job: Job) -> Names:
    query = job.query
    if query.single is None:
        raise job.written.error(
            "has no remote part, so there is nothing to look up"
            if query.joins is None
            else "has several remote values, and only one is planned for",
            ("query", "refresh"),
            'write refresh = {remote = "followers"}',
        )
    if isinstance(query.key, tuple):
        raise job.written.error(
            "has several columns, and budgets are tried with keys of one",
            ("query", "key"),
            "name one column for the plan",
        )
    return Names(query.key, query.single.remote, query.time)


def _budgets(given: str) -> list[int]:
    fix = "write numbers with commas: 1,3,7,15"
    try:
        numbers = [int(each) for each in given.split(",")]
    except ValueError:
        raise QueryError(
            f"{given!r} is not a list of numbers", field="--budgets", fix=fix
        ) from None
    return [whole_of(each, "--budgets", 1, fix=fix) for each in numbers]
