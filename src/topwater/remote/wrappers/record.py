"""Write down what a source was asked and what it said, to be replayed later.

One line of JSON for each fetch::

    {"at": 120000, "keys": ["a", "b"], "values": [3.0, null], "why": ["", "late"], "seconds": 0.2}

``why`` is there only where a key failed; a value that is null without a reason is a key that the
remote side does not know. Where a look-up gives several values, ``columns`` has them by name, and
``values`` are those of the first column of numbers.
"""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from topwater.errors import QueryError
from topwater.model import Fetched, KeyArray, Millis, plain_key
from topwater.protocols import Source
from topwater.redaction import redacted
from topwater.remote.known_changes import Steps
from topwater.remote.wrappers.wrapper import Around
from topwater.validation import shown

_log = logging.getLogger("topwater")


class Recording(Around):
    """Appends each fetch to a file. Several processes may write to the same one.

    Parameters
    ----------
    source
        What to record.
    path
        Where to. It is made when the first fetch comes, and never emptied.
    """

    def __init__(self, source: Source, path: str | Path) -> None:
        super().__init__(source)
        if not isinstance(path, str | Path):
            raise QueryError(
                f"{shown(path)} is not a path", field="record", fix="name the file to write to"
            )
        self.path = Path(path)
        self._at: Millis | None = None
        self._warned = False

    def seek(self, now: Millis) -> None:
        """Record the event time of the evaluation, rather than the time on the wall."""
        self._at = now
        super().seek(now)

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys``, written down."""
        got = self.source.fetch(keys, deadline)
        at = time.time_ns() // 1_000_000 if self._at is None else self._at
        try:
            self._write(json.dumps(_line(at, keys, got), allow_nan=False) + "\n")
        except OSError as error:
            if not self._warned:
                _log.warning("what is fetched can't be recorded: %s", redacted(str(error)))
            self._warned = True
        return got

    def _write(self, line: str) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            # In one piece, so that lines of several processes do not mix.
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)


def _line(at: Millis, keys: KeyArray, got: Fetched) -> dict[str, Any]:
    names = [plain_key(key) for key in keys.tolist()]
    line: dict[str, Any] = {"at": at, "keys": names, "values": _plain(got.values)}
    if got.columns:
        line["columns"] = {name: _plain(column) for name, column in got.columns.items()}
    if not got.ok.all():
        why = np.where(got.ok, "", np.where(got.reasons() == "", "broken", got.reasons()))
        line["why"] = why.tolist()
    line["seconds"] = got.seconds
    return line


def _plain(column: KeyArray) -> list[float | str | None]:
    texts = column.dtype == object
    return [value if texts or math.isfinite(value) else None for value in column.tolist()]


def recorded(path: str | Path) -> Steps:
    """What a recording knows of the remote side, for :class:`topwater.remote.Replay`.

    A read sees what was said last, at its own time or before. Keys that failed tell nothing.

    Raises
    ------
    QueryError
        If the file is not a recording, or no key in it was answered.
    """
    fetches = _Fetches()
    for number, text in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        try:
            fetches.add(json.loads(text))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise QueryError(
                f"line {number} of {path} is not a fetch",
                field="path",
                fix="use a file of Recording",
            ) from None
    if not fetches.keys:
        raise QueryError(f"{path} has no value in it", field="path", fix="use a file of Recording")
    return fetches.steps()


class _Fetches:
    """What the lines of a recording say of keys that were answered."""

    def __init__(self) -> None:
        self.times: list[Millis] = []
        self.keys: list[Any] = []
        self.values: list[Any] = []
        self.columns: dict[str, list[Any]] = {}

    def add(self, line: Mapping[str, Any]) -> None:
        """Take note of one fetch; nothing of a line that is not one."""
        why = line.get("why", [""] * len(line["keys"]))
        rows = list(zip(line["keys"], line["values"], why, strict=True))
        fine = [row for row, (_, _, reason) in enumerate(rows) if not reason]
        values = [math.nan if rows[row][1] is None else float(rows[row][1]) for row in fine]
        columns = {
            name: [column[row] for row in fine] for name, column in line.get("columns", {}).items()
        }
        # A read sees what lies strictly before its time; here it should see what was said then.
        self.times += [int(line["at"]) - 1] * len(fine)
        for name in {**self.columns, **columns}:
            before = self.columns.setdefault(name, [None] * len(self.keys))
            before += columns.get(name, [None] * len(fine))
        self.keys += [rows[row][0] for row in fine]
        self.values += values

    def steps(self) -> Steps:
        """All of it."""
        whole = all(isinstance(key, int) for key in self.keys)
        if any(isinstance(key, list) for key in self.keys):
            raise QueryError(
                "was recorded for keys of several columns, which can't be played back",
                field="path",
                fix="use a recording for keys of one column",
            )
        return Steps.of(
            np.array(self.times, np.int64),
            np.array(self.keys, np.int64 if whole else object),
            np.array(self.values),
            {name: _column(values) for name, values in self.columns.items()},
        )


def _column(values: list[Any]) -> KeyArray:
    """Texts if there is one among them, or else numbers."""
    if any(isinstance(value, str) for value in values):
        return np.array(values, object)
    return np.array([math.nan if value is None else value for value in values], np.float64)
