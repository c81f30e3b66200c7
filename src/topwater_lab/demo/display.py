"""The demo in a terminal: a small table that fills as windows close; or JSON for programs."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.live import Live
from rich.table import Table
from rich.text import Text

from topwater.show.console import waiting
from topwater_lab.demo.contenders import METRICS, TABLE, Contender, Field, Metric, Verdict, mean
from topwater_lab.demo.findings import Report
from topwater_lab.demo.scene import K, Remote, Scene
from topwater_lab.demo.sentences import closing
from topwater_lab.demo.window_comparison import Window, described, label

if TYPE_CHECKING:
    from rich.console import Console

    from topwater.model import Answer, Key

_HIT, _MISS = "●", "○"
_ROWS = 12
"""Windows that a terminal shows at a time."""


class Lines:
    """For people: on a terminal a table of the last windows, elsewhere one line for each.

    Quiet, it tells only how it ended.
    """

    def __init__(self, console: Console, scene: Scene, *, quiet: bool = False) -> None:
        self.console = console
        self.scene = scene
        self._quiet = quiet
        self._names: list[str] = []
        self._windows: list[Window] = []
        self._live: Live | None = None

    def waiting(self, what: str) -> contextlib.AbstractContextManager[None]:
        """Say what it is that takes a while."""
        self.end()
        return contextlib.nullcontext() if self._quiet else waiting(self.console, what)

    def live(self, url: str) -> None:
        """Where to watch."""
        if not self._quiet:
            self._print(f"watch it live: {url}")

    def begin(self, remote: Remote, others: Field) -> None:
        """What is asked, and whom; and who else answers."""
        if self._quiet:
            return
        self._names = [self.scene.policy, *(label(each) for each in others.finalists)]
        width = max(map(len, self._names))
        lines = [
            f"{self.scene.asked} {self.scene.budget} look-ups a window.",
            remote.in_words,
            "",
            f"  {self.scene.policy:{width}}  on Spark: what Topwater looks up",
            *(f"  {label(each):{width}}  {described(each, others)}" for each in others.finalists),
        ]
        said = f"{_HIT} has one of the {K} users who are truly best (best first), {_MISS} misses it"
        self._print("\n".join([*lines, "", f"{said}\n"]))
        if self.console.is_terminal:
            self._live = Live(self._table(), console=self.console, auto_refresh=False)
            self._live.start()
        else:
            self._print("  ".join(["window  ", "the true five           ", *self._names]))

    def window(self, window: Window) -> None:
        """The true ranking, and what each contender shows."""
        if self._quiet:
            return
        self._windows.append(window)
        if self._live is not None:
            self._live.update(self._table(), refresh=True)
            return
        marks = [
            f"{_marks(each, window.truth).plain:{len(name)}}"
            for name, each in zip(self._names, window.columns, strict=True)
        ]
        self._print("  ".join([_clock(window.answer), _keys(window.truth), *marks]).rstrip())

    def report(self, report: Report, path: Path) -> None:
        """How right it was, how right others were, and what each look-up won."""
        self.end()
        self.console.print()
        self.console.print(_standings(report))
        self._print("\n" + "\n".join(closing(report)))
        self._print(f"\nthe report: {path.resolve().as_uri()}")
        self._print("next: topwater demo --budget 3, topwater init mine, or README.md")

    def note(self, text: str) -> None:
        """On a line of its own."""
        self._print(text)

    def end(self) -> None:
        """Leave the terminal as it was."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _print(self, text: str) -> None:
        self.console.print(text, soft_wrap=True, markup=False)

    def _table(self) -> Table:
        """The last windows, and the means of all so far."""
        table = Table(box=None, show_footer=True, pad_edge=False)
        done = len(self._windows)
        table.add_column("window", f"{done} of {self.scene.windows}", no_wrap=True)
        table.add_column("the true five", "nDCG so far", no_wrap=True)
        for at, name in enumerate(self._names):
            so_far = mean(window.columns[at].ndcg for window in self._windows)
            table.add_column(name, f"{so_far:.3f}" if done else "", no_wrap=True)
        for window in self._windows[-_ROWS:]:
            marks = [_marks(each, window.truth) for each in window.columns]
            table.add_row(_clock(window.answer), _keys(window.truth), *marks)
        return table


def _marks(verdict: Verdict, true: tuple[Key, ...]) -> Text:
    text = Text()
    for key in true:
        hit = key in verdict.keys
        text.append(_HIT if hit else _MISS, style="green" if hit else "dim")
    return text


def _keys(keys: tuple[Key, ...]) -> str:
    return " ".join(str(key) for key in keys)


def _clock(answer: Answer) -> str:
    return datetime.fromtimestamp(answer.window.end / 1_000, UTC).strftime("%H:%M:%S")


def _standings(report: Report) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for name in ("nDCG@5", "precision@5", "look-ups\na window"):
        table.add_column(name, justify="right")
    for name in ("nDCG", "precision"):
        table.add_column(f"{name} won\na look-up", justify="right")
    for each in report.contenders:
        table.add_row(
            label(each),
            f"{each.ndcg:.3f}",
            f"{each.precision:.3f}",
            f"{each.fetches:.1f}" if each.name != TABLE else "all, once",
            *(won(each, metric, report) for metric in METRICS),
            style="bold" if each is report.ours else "",
        )
    return table


def won(each: Contender, metric: Metric, report: Report) -> str:
    """What a look-up won over the table that is never refreshed."""
    gain = each.gain(metric, over=report.others.table)
    return "" if gain is None else f"{gain:+.4f}"


class JsonLines:
    """One JSON object per window, for programs, and one for the report."""

    @contextlib.contextmanager
    def waiting(self, what: str) -> Iterator[None]:  # noqa: ARG002
        """Say nothing."""
        yield

    def live(self, url: str) -> None:
        """Say nothing."""

    def begin(self, remote: Remote, others: Field) -> None:  # noqa: ARG002
        """Say nothing, unless something is missing."""
        if remote.service is None:
            self.note(remote.in_words)

    def window(self, window: Window) -> None:
        """The whole answer, how right it was, and how right others were."""
        truth = {"keys": window.truth, **_verdict(window.ours)}
        rivals = {name: _verdict(each) for name, each in window.rivals.items()}
        told = as_dict(window.answer) | {"truth": truth, "rivals": rivals}
        typer.echo(json.dumps(told))

    def report(self, report: Report, path: Path) -> None:
        """All figures."""
        typer.echo(json.dumps({"report": report.to_dict() | {"written": str(path.resolve())}}))

    def note(self, text: str) -> None:
        """Where it is not in the way."""
        typer.echo(text, err=True)

    def end(self) -> None:
        """Say nothing."""


def _verdict(verdict: Verdict) -> dict[str, float]:
    return {name: getattr(verdict, name) for name in ("ndcg", "precision", "fetched")}


def as_dict(answer: Answer) -> dict[str, Any]:
    """An answer as plain values, with times in ISO 8601."""
    cells = ("rank", "key", "score", "values", "remote", "age", "confidence")
    return {
        "window_start": _iso(answer.window.start),
        "window_end": _iso(answer.window.end),
        "top": [
            {name: getattr(row, name) for name in cells} | {"time": _iso(row.time)}
            for row in answer.rows
        ],
        "exact": answer.exact,
        "candidates": answer.candidates,
        "freshness": None if answer.freshness is None else asdict(answer.freshness),
        "looked_up": [asdict(look_up) for look_up in answer.looked_up],
        "counts": asdict(answer.counts),
    }


def _iso(when: int) -> str:
    return datetime.fromtimestamp(when / 1_000, UTC).isoformat(timespec="milliseconds")
