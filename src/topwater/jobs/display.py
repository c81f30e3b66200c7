"""What a run shows: windows as they close, what it is doing meanwhile, and a summary."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

from topwater.model import Counts, Freshness, plain_key
from topwater.problems import NEVER, tally
from topwater.show.console import plain, waiting

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from topwater.jobs.job import Job
    from topwater.rspql import Plan
    from topwater.spark.metrics import Progress

Rows: TypeAlias = Sequence[Mapping[str, Any]]
"""The rows of one window, of one group: best first."""

_COUNTS = [each.name for each in fields(Counts)]
_SHOWN = ("exact", "candidates", *(each.name for each in fields(Freshness)), *_COUNTS)
_CELLS = ("rank", "key", "score", "remote", "age", "confidence", "assumed")
_UNUSABLE = ("bad_key", "bad_time", "bad_score", "before_start")


@dataclass(slots=True)
class Summary:
    """What a run did."""

    windows: int = 0
    events: int = 0
    late: int = 0
    bad: int = 0
    looked_up: int = 0
    failed: int = 0
    without_number: int = 0
    nothing_usable: int = 0
    problems: dict[str, int] = field(default_factory=dict)

    def count(self, progress: Progress) -> None:
        """What a micro-batch did, by Spark's figures: its rows need not be here."""
        self.windows += progress.windows
        self.events += progress.events
        self.late += progress.late
        self.bad += sum(getattr(progress, name) for name in _UNUSABLE)
        self.looked_up += progress.fetched
        self.failed += progress.failed
        self.without_number += progress.bad_values
        self.nothing_usable += progress.nothing_usable
        for reason, keys in progress.problems.items():
            self.problems[reason] = self.problems.get(reason, 0) + keys

    def add(self, rows: Rows) -> None:
        """One more window."""
        first = rows[0]
        self.windows += 1
        self.events += first["events"]
        self.late += first["late"]
        self.bad += sum(first[name] for name in _UNUSABLE)
        self.looked_up += first["fetched"] or 0
        self.failed += first["failed"] or 0
        self.without_number += first.get("bad") or 0
        self.nothing_usable += bool(first.get("nothing_usable"))
        for reason, keys in dict(first.get("problems") or {}).items():
            self.problems[reason] = self.problems.get(reason, 0) + keys

    @property
    def usable(self) -> int:
        """How many look-ups brought a number."""
        return self.looked_up - self.failed - self.without_number

    def __str__(self) -> str:
        """One line."""
        parts = [f"{self.windows:,} windows, {self.events:,} events"]
        parts += [f"{self.late:,} late", f"{self.bad:,} unusable"]
        if self.looked_up:
            parts.append(f"{self.looked_up:,} look-ups, {self._outcome}")
        return ", ".join(parts)

    @property
    def _outcome(self) -> str:
        """What came of the look-ups."""
        if self.usable <= 0:
            return "none of them with a usable value"
        without = self.without_number
        told = f", {without:,} without a usable value" if without else ""
        return f"{self.failed:,} of them failed{told}"

    @property
    def problem(self) -> str:
        """What is wrong with the source; nothing if it gave something usable in every window."""
        if not self.nothing_usable:
            return ""
        why = tally(self.problems.items())
        if self.usable <= 0:
            return f"none of {self.looked_up:,} look-ups gave a usable value ({why})"
        windows = f"{self.nothing_usable:,} of {self.windows:,} windows"
        return f"nothing usable came from the source in {windows} ({why})"


def windows_of(
    rows: Sequence[Mapping[str, Any]], groups: Sequence[str] | None = None
) -> list[Rows]:
    """Rows by window and group, in order; best first. Late rows are in no window.

    ``groups`` are the columns of the groups, where there are several.
    """
    found: dict[Any, list[Mapping[str, Any]]] = {}
    ranked = [row for row in rows if row.get("kind", "answer") == "answer"]
    for row in sorted(ranked, key=lambda row: row.get("rank") or 0):
        # Not by the local time that Spark gives: an hour of autumn has the same as the one before.
        group = tuple(row.get(name) for name in groups or ("group",))
        place = (row["window_end"].timestamp(), group)
        found.setdefault(place, []).append(row)
    return [found[place] for place in sorted(found, key=lambda place: (place[0], str(place[1])))]


def as_dict(rows: Rows, job: Job) -> dict[str, Any]:
    """A window as plain values, for JSON."""
    first = rows[0]
    found: dict[str, Any] = {name: _iso(first[name]) for name in ("window_start", "window_end")}
    if first.get("group") is not None:
        found["group"] = plain_key(first["group"])
    elif isinstance(job.query.group_by, tuple) and job.plan is None:
        found["group"] = [plain_key(first[name]) for name in job.query.group_by]
    if "triples" in first:
        found["triples"] = first["triples"].splitlines()
    else:
        found["rows"] = [_row(row, job) for row in rows if row["rank"] is not None]
    found |= {name: first[name] for name in _SHOWN if first.get(name) is not None}
    if first.get("problems"):
        found["problems"] = dict(first["problems"])
    if first.get("spent") is not None:
        found |= {"spent": first["spent"], "left": dict(first.get("left") or {})}
    return found


def _row(row: Mapping[str, Any], job: Job) -> dict[str, Any]:
    if job.plan is not None:
        return {name: row[name] for name in ("rank", *(each.name for each in job.plan.projection))}
    values = dict(zip(job.query.names_taken, _contributed(row), strict=False))
    values |= {name: cell["value"] for name, cell in (row.get("remotes") or {}).items()}
    names = (*job.query.key_columns, *_CELLS) if isinstance(job.query.key, tuple) else _CELLS
    cells = {name: row[name] for name in names if row.get(name) is not None}
    for name in (*job.query.key_columns, "key"):
        if name in cells:
            cells[name] = plain_key(cells[name])
    return {**cells, **values}


def _contributed(row: Mapping[str, Any]) -> Sequence[Any]:
    """What the stream said: texts where there are such, and else numbers."""
    numbers = row["values"] or ()
    texts = row.get("texts") or [None] * len(numbers)
    return [n if text is None else text for n, text in zip(numbers, texts, strict=False)]


def _iso(when: datetime) -> str:
    return when.astimezone(UTC).isoformat(timespec="milliseconds")


class Display:
    """Where a run shows what it does.

    Parameters
    ----------
    job
        Whose windows are shown.
    out
        Where windows go, as lines; None for nowhere.
    words
        Where everything else goes; None for nowhere.
    as_json
        Whether windows and the summary are JSON.
    """

    def __init__(
        self, job: Job, out: Console | None, words: Console | None, *, as_json: bool = False
    ) -> None:
        self._job = job
        self._out = out
        self._words = words
        self._as_json = as_json
        self._status: Status | None = None
        self._rows = 0
        self._by_batch = False
        self.summary = Summary()

    @property
    def watched(self) -> bool:
        """Whether it shows windows."""
        return self._out is not None

    def waiting(self, what: str) -> contextlib.AbstractContextManager[None]:
        """Something slow begins."""
        return contextlib.nullcontext() if self._words is None else waiting(self._words, what)

    def say(self, text: str) -> None:
        """Something that the user should know."""
        if self._words is not None:
            self._words.print(text, soft_wrap=True, markup=False)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """While windows are awaited: on a terminal, a line that says how it goes.

        They are counted by what Spark says of each micro-batch, since not all may be shown.
        """
        self._by_batch = True
        if self._words is None or not self._words.is_terminal:
            yield
            return
        with self._words.status("waiting for events…") as self._status:
            yield
        self._status = None

    def counted(self, progress: Progress) -> None:
        """A micro-batch is done."""
        self.summary.count(progress)
        self._rows += progress.rows
        if self._status is not None and self._rows:
            told = f"rows read: {self._rows:,}, windows closed: {self.summary.windows:,}"
            self._status.update(f"{told}… Ctrl-C ends it")

    def window(self, rows: Rows) -> None:
        """A window closed."""
        if not self._by_batch:
            self.summary.add(rows)
        if self._out is None:
            return
        answer = as_dict(rows, self._job)
        if self._as_json:
            typer.echo(json.dumps(answer))
            return
        self._out.print(line_of(answer, self._job), soft_wrap=True)
        for triple in answer.get("triples", ()):
            self._out.print(plain(triple), soft_wrap=True, markup=False)

    def end(self) -> None:
        """No more windows will come."""
        if self._as_json and self._out is not None:
            typer.echo(json.dumps({"summary": asdict(self.summary)}))
        else:
            self.say(str(self.summary))

    def show_problem(self) -> None:
        """Say what was wrong with the source, if anything was."""
        if self.summary.problem:
            self.say(f"problem: {self.summary.problem}")


def display_of(job: Job, *, as_json: bool = False, quiet: bool = False) -> Display:
    """Windows on stdout, everything else on stderr; on a terminal both share one console."""
    from rich.console import Console

    out = Console(highlight=False)
    words = out if out.is_terminal and not as_json else Console(stderr=True, highlight=False)
    hidden = quiet and job.sink.kind != "console"
    return Display(job, None if hidden else out, None if quiet else words, as_json=as_json)


def line_of(answer: Mapping[str, Any], job: Job) -> Any:
    """A window as one line: the time, what is shown, and how right that may be."""
    from rich.text import Text

    line = Text(answer["window_end"][:19].replace("T", " "), style="dim")
    if "group" in answer:
        line.append(f"  {plain(str(answer['group']))}:", style="not dim")
    for row in answer.get("rows", ()):
        line.append(f"  {row['rank']}. {plain(_row_text(row, job))}", style="not dim")
    if not answer.get("rows", True):
        without = answer.get("without_value")
        nothing = f"none of {without:,} items has a value" if without else "nothing"
        line.append(f"  {nothing}", style="not dim")
    line.append(f"  {_quality(answer)}", style="italic not dim")
    if answer.get("nothing_usable"):
        why = tally(answer.get("problems", {}).items())
        line.append(f"  PROBLEM: nothing usable came from the source ({why})", style="bold red")
    return line


def _row_text(row: Mapping[str, Any], job: Job) -> str:
    if job.plan is None:
        assumed = row.get("assumed", NEVER)
        why = "" if assumed == NEVER else f", {assumed}"
        several = job.query.key_columns if isinstance(job.query.key, tuple) else ("key",)
        key = ", ".join(str(row[name]) for name in several)
        return f"{key} ({short(row['score'])}{why})"
    return " ".join(short(row[each.name], job.plan) for each in job.plan.projection)


def _quality(answer: Mapping[str, Any]) -> str:
    """How right an answer may be, and what could not be used."""
    parts = ["exact"] if answer["exact"] else []
    if "fetched" in answer:
        parts.append(f"{answer['fetched']} looked up")
        if not answer["exact"] and not answer.get("nothing_usable"):
            parts.append(f"about {answer['precision']:.0%} right")
        if answer["failed"]:
            parts.append(f"{answer['failed']} failed")
        if answer.get("bad"):
            parts.append(f"{answer['bad']} without a usable value")
    unusable = sum(answer.get(name, 0) for name in _UNUSABLE)
    if answer.get("skipped_files"):
        parts.append(f"{answer['skipped_files']} files skipped")
    parts += [f"{answer['late']} late"] if answer.get("late") else []
    return ", ".join(parts + ([f"{unusable} unusable"] if unusable else []))


def short(value: Any, plan: Plan | None = None) -> str:
    """A number with two digits, an IRI with a prefix of the query.

    Examples
    --------
    >>> short(2.0), short(12_345.678), short("ann")
    ('2', '12,345.68', 'ann')
    """
    if isinstance(value, float):
        return f"{value:,.2f}".removesuffix(".00")
    text = str(value)
    best = functools.reduce(
        lambda a, b: b if text.startswith(b[1]) and len(b[1]) > len(a[1]) else a,
        () if plan is None else plan.prefixes.items(),
        ("", ""),
    )
    return f"{best[0]}:{text[len(best[1]) :]}" if best[1] else text
