"""`topwater run`: a query in a file, over files of RDF, with rankings printed as windows close.

A stream is a folder, or a file, whose names say how its lines are written:

================  ==============================================================================
``*.nt``          ``TIME<TAB>TRIPLES``: an event is one line, with any number of triples
``*.nq``          ``TIME<TAB>QUADS``: the same; statements of a line that share a graph are an event
``*.jsonl``       one JSON-LD document a line, whose ``"time"`` says when it was
================  ==============================================================================

A time is in ISO 8601, or in milliseconds since 1970. Empty lines and lines that start with ``#``
are passed over. Next to ``NAME.rq`` there may be ``NAME.toml``, which says where streams and
services are::

    [streams]
    ":S" = "mentions"                        # a folder next to this file

    [services]
    ":BKG" = "https://data.example/sparql"   # or "example:followers", which is started for the run
"""

from __future__ import annotations

import contextlib
import functools
import json
import queue
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer
from rich.text import Text

from topwater.errors import QueryError, TopwaterError
from topwater.terminal import stop_flag, waiting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from rich.console import Console

    from topwater.rspql import Plan
    from topwater.spark.rspql import Rdf

FORMATS = {".nt": "ntriples", ".nq": "nquads", ".jsonl": "jsonld"}
EXAMPLE = "example:"
_ANSWER = ("exact", "candidates", "fetched", "failed", "precision", "ndcg", "missed")
_COUNTS = ("events", "late", "bad_key", "bad_time", "bad_score")


@dataclass(frozen=True, slots=True)
class Job:
    """A query, and where its streams and services are."""

    text: str
    streams: Mapping[str, Path] = field(default_factory=dict)
    services: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def read(path: Path, streams: Sequence[str] = (), services: Sequence[str] = ()) -> Job:
        """A query file, what is written next to it, and what ``NAME=PLACE`` says instead.

        Raises
        ------
        TopwaterError
            If a file can't be read.
        """
        text = _read(path, "the query")
        beside = path.with_suffix(".toml")
        said = _described(beside) if beside.is_file() else {}
        places = {name: path.parent / place for name, place in said.get("streams", {}).items()}
        given = {name: Path(place) for name, place in _pairs(streams, "--stream")}
        asked = {**said.get("services", {}), **dict(_pairs(services, "--service"))}
        return Job(text, {**places, **given}, asked)

    def plan(self) -> Plan:
        """What the query says; what is missing is said at once."""
        from topwater.rspql import full_name, parse

        plan = parse(self.text, services=self.services)
        if plan.windows[0].by == "count":
            raise QueryError(
                "windows by count depend on the order of events, which Spark does not keep",
                field="window",
                fix="write [RANGE PT9M STEP PT3M], or run it in Python: topwater.local.rspql",
            )
        known = {full_name(name, plan.prefixes) for name in self.streams}
        for window in plan.windows:
            if str(window.stream) not in known:
                raise QueryError(
                    f"the stream <{window.stream}> is nowhere",
                    field="--stream",
                    fix=f"pass --stream '<{window.stream}>=FOLDER'",
                )
        for name, place in self.streams.items():
            if not place.exists():
                raise QueryError(
                    f"{place} is not there", field=name, fix=f"pass --stream {name}=FOLDER"
                )
        return plan


class Display(Protocol):
    """Where rankings are shown."""

    def waiting(self, what: str) -> contextlib.AbstractContextManager[Any]:
        """Something slow begins."""

    def window(self, rows: list[dict[str, Any]], plan: Plan) -> None:
        """A window closed."""


def run(job: Job, display: Display, *, once: bool = False, log_file: str | None = None) -> int:
    """Run a query until Ctrl-C, or once over what is there; how many windows were answered.

    Raises
    ------
    QueryError
        If the query can't be run as it is: before Spark starts where that is possible.
    KeyboardInterrupt
        If the user stops it; Spark is shut down first.
    """
    plan = job.plan()
    with contextlib.ExitStack() as stack:
        with display.waiting("starting Spark"):
            from topwater.spark import session

            spark = session("topwater run", log_file=log_file)
        stack.callback(spark.stop)
        windows = 0
        for rows in answered(job, plan, spark, once=once):
            display.window(rows, plan)
            windows += 1
        return windows


def answered(
    job: Job, plan: Plan, spark: SparkSession, *, once: bool
) -> Iterator[list[dict[str, Any]]]:
    """The rows of each window, in order."""
    from topwater.spark import rspql

    with contextlib.ExitStack() as stack:
        services = {name: _service(each, stack) for name, each in job.services.items()}
        streams = {name: _stream(spark, place, once) for name, place in job.streams.items()}
        answers = rspql(spark, plan, streams=streams, services=services)
        yield from _once(answers) if once else _live(answers)


def _once(answers: DataFrame) -> Iterator[list[dict[str, Any]]]:
    """The windows of a table."""
    answers.sparkSession.conf.set("spark.sql.shuffle.partitions", "1")
    yield from _windows([row.asDict() for row in answers.collect()])


def _live(answers: DataFrame) -> Iterator[list[dict[str, Any]]]:
    """Windows as they close, until the user stops it."""
    from topwater.spark import start

    arrived: queue.SimpleQueue[list[dict[str, Any]]] = queue.SimpleQueue()

    def take(batch: DataFrame, _: int) -> None:
        for rows in _windows([row.asDict() for row in batch.collect()]):
            arrived.put(rows)

    with tempfile.TemporaryDirectory(prefix="topwater-run-") as folder, stop_flag() as stop:
        running = start(answers, to=take, checkpoint=f"{folder}/checkpoint")
        while running.isActive and not stop.is_set():
            with contextlib.suppress(queue.Empty):
                yield arrived.get(timeout=0.2)
        running.stop()
        if (error := running.exception()) is not None:
            raise error
        raise KeyboardInterrupt


def _windows(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Rows by window, in order; best first."""
    found: dict[Any, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (row["window_end"], row.get("rank") or 0)):
        found.setdefault(row["window_end"], []).append(row)
    return list(found.values())


def _service(given: Any, stack: contextlib.ExitStack) -> Any:
    """A service as it is registered; an example is started first."""
    settings = {"url": given} if isinstance(given, str) else dict(given)
    place = str(settings.get("url", ""))
    if not place.startswith(EXAMPLE):
        return settings
    if place != f"{EXAMPLE}followers":
        raise QueryError(
            f"{place!r} is unknown", field="services", fix=f"use {EXAMPLE}followers, or an address"
        )
    from topwater.serving import started

    return {**settings, "url": stack.enter_context(started()).sparql}


def _stream(spark: SparkSession, place: Path, once: bool) -> Rdf:
    """A folder or a file as a stream, or as a table."""
    from pyspark.sql import functions as F  # noqa: N812

    from topwater.spark import Rdf

    kind = _format(place)
    folder = place.parent if place.is_file() else place
    pattern = place.name if place.is_file() else f"*{kind}"
    reader = spark.read if once else spark.readStream
    lines = reader.option("pathGlobFilter", pattern).text(str(folder.resolve()))
    lines = lines.where("trim(value) != '' AND NOT startswith(value, '#')")
    parts = F.split("value", "\t", 2)
    told = F.get_json_object("value", "$.time") if kind == ".jsonl" else parts[0]
    text = F.col("value") if kind == ".jsonl" else F.get(parts, F.lit(1))
    whole = F.timestamp_millis(F.expr("try_cast(told AS bigint)"))
    moment = F.coalesce(whole, F.expr("try_cast(told AS timestamp)"))
    events = lines.select(told.alias("told"), text.alias("value"))
    return Rdf(events.select(moment.alias("time"), "value"), format=FORMATS[kind])  # type: ignore[arg-type]


def _format(place: Path) -> str:
    """The ending that tells how lines are written."""
    names = [place] if place.is_file() else sorted(place.iterdir())
    found = {each.suffix for each in names if each.suffix in FORMATS}
    if len(found) != 1:
        kinds = ", ".join(f"*{each}" for each in FORMATS)
        raise QueryError(
            f"{place} has files of {len(found)} kinds that can be read",
            field="streams",
            fix=f"give a folder with files of one kind: {kinds}",
        )
    return found.pop()


def _read(path: Path, what: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TopwaterError(
            f"{what} {path} can't be read: {getattr(error, 'strerror', '') or error}",
            fix="give the path of a text file",
        ) from None


def _described(path: Path) -> dict[str, Any]:
    try:
        said = tomllib.loads(_read(path, "the description"))
    except tomllib.TOMLDecodeError as error:
        raise TopwaterError(f"{path} is no TOML: {error}", fix="correct it") from None
    if unknown := sorted(set(said) - {"streams", "services"}):
        raise QueryError("no such table", field=unknown[0], fix="use [streams] and [services]")
    return said


def _pairs(given: Sequence[str], option: str) -> Iterator[tuple[str, str]]:
    for each in given:
        name, equals, place = each.partition(">=" if each.startswith("<") else "=")
        name += ">" if each.startswith("<") and equals else ""
        if not equals or not name or not place:
            raise QueryError(
                f"{each!r} is no NAME=PLACE", field=option, fix=f"write {option} :S=folder"
            )
        yield name, place


def as_dict(rows: list[dict[str, Any]], plan: Plan) -> dict[str, Any]:
    """A window as plain values."""
    first = rows[0]
    window = {name: _iso(first[name]) for name in ("window_start", "window_end")}
    names = [each.name for each in plan.projection]
    shown = (
        {"triples": first["triples"].splitlines()}
        if plan.form == "construct"
        else {
            "rows": [
                {name: row[name] for name in ("rank", *names)}
                for row in rows
                if row["rank"] is not None
            ]
        }
    )
    told = {name: first[name] for name in (*_ANSWER, *_COUNTS) if first.get(name) is not None}
    return {**window, **shown, **told}


def _iso(when: datetime) -> str:
    return when.astimezone(UTC).isoformat(timespec="milliseconds")


class JsonLines:
    """One JSON object per window, for programs."""

    @contextlib.contextmanager
    def waiting(self, what: str) -> Iterator[None]:  # noqa: ARG002
        """Say nothing."""
        yield

    def window(self, rows: list[dict[str, Any]], plan: Plan) -> None:
        """The whole answer."""
        typer.echo(json.dumps(as_dict(rows, plan)))


class Lines:
    """One line per window, for people; triples as they are."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def waiting(self, what: str) -> contextlib.AbstractContextManager[None]:
        """Say what it is that takes a while."""
        return waiting(self.console, what)

    def window(self, rows: list[dict[str, Any]], plan: Plan) -> None:
        """The time, what is shown, and how right that may be."""
        answer = as_dict(rows, plan)
        line = Text(answer["window_end"][:19].replace("T", " "), style="dim")
        for row in answer.get("rows", ()):
            shown = " ".join(_short(row[each.name], plan) for each in plan.projection)
            line.append(f"  {row['rank']}. {shown}", style="not dim")
        line.append(f"  {_told(answer)}", style="not dim")
        self.console.print(line, soft_wrap=True)
        for triple in answer.get("triples", ()):
            self.console.print(triple, soft_wrap=True, markup=False)


def _told(answer: Mapping[str, Any]) -> str:
    """How right an answer may be, and what could not be used."""
    parts = ["exact"] if answer["exact"] else []
    if "fetched" in answer:
        parts.append(f"{answer['fetched']} looked up")
        if not answer["exact"]:
            parts.append(f"about {answer['precision']:.0%} right")
        if answer["failed"]:
            parts.append(f"{answer['failed']} failed")
    unusable = sum(answer[name] for name in ("bad_key", "bad_time", "bad_score"))
    return ", ".join(parts + ([f"{unusable} unusable"] if unusable else []))


def _short(value: Any, plan: Plan) -> str:
    """A number with two digits, an IRI with a prefix of the query."""
    if isinstance(value, float):
        return f"{value:.2f}".removesuffix(".00")
    text = str(value)
    best = functools.reduce(
        lambda a, b: b if text.startswith(b[1]) and len(b[1]) > len(a[1]) else a,
        plan.prefixes.items(),
        ("", ""),
    )
    return f"{best[0]}:{text[len(best[1]) :]}" if best[1] else text
