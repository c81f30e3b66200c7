"""A folder as Spark's streaming sink writes it: files, and a log of those that are committed."""

from __future__ import annotations

import json
import shutil
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.live_made import MINUTE, START

COMPACT = 10


def rows_of(minute: int, *keys: str, **more: Any) -> list[dict[str, Any]]:
    """The rows of one window."""
    closes = START + (minute + 1) * MINUTE
    return [
        {
            "window_start": _moment(closes - MINUTE),
            "window_end": _moment(closes),
            "rank": rank,
            "key": key,
            "score": 100.0 / rank,
            "time": _moment(closes - 1),
            "exact": True,
            "events": 5,
            **more,
        }
        for rank, key in enumerate(keys, 1)
    ]


def _moment(millis: int) -> datetime:
    return datetime.fromtimestamp(millis / 1_000, UTC)


class Sink:
    """Writes batches of answers, each a file, then commits it."""

    def __init__(self, folder: Path, form: Literal["parquet", "json"] = "parquet") -> None:
        self.folder = folder
        self.form = form
        self.number = 0
        self._told: list[str] = []

    def commit(self, minute: int, *keys: str, **more: Any) -> Path:
        """A batch with one window, named in the log."""
        path = self.write(rows_of(minute, *keys, **more))
        self.log(path)
        return path

    def write(self, rows: list[dict[str, Any]], inside: str = "") -> Path:
        """A file that is not committed."""
        name = f"part-00000-{uuid.uuid4()}-c000.{self.form}"
        path = self.folder / inside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.form == "parquet":
            pq.write_table(pa.Table.from_pylist(rows), path)
        else:
            lines = [json.dumps(row, default=datetime.isoformat) for row in rows]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def log(self, *paths: Path) -> None:
        """Commit files. Every tenth log names all files so far, as Spark's do."""
        entries = [
            json.dumps(
                {
                    "path": path.as_uri(),
                    "size": 1,
                    "isDir": False,
                    "modificationTime": path.stat().st_mtime_ns // 1_000_000,
                    "blockReplication": 1,
                    "blockSize": 1,
                    "action": "add",
                }
            )
            for path in paths
        ]
        self._told += entries
        compact = self.number % COMPACT == COMPACT - 1
        folder = self.folder / "_spark_metadata"
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{self.number}.compact" if compact else str(self.number)
        unfinished = folder / f".{name}.tmp"
        unfinished.write_text("\n".join(["v1", *(self._told if compact else entries)]), "utf-8")
        unfinished.rename(folder / name)
        self.number += 1

    def clear(self) -> None:
        """Remove all, as before a stream that starts from nothing."""
        shutil.rmtree(self.folder)
        self.number, self._told = 0, []
