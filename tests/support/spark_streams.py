"""Files for a stream on Spark, and all that it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame


def collected(rows: DataFrame, checkpoint: str) -> list[tuple[Any, ...]]:
    """What a stream gives until it has no more."""
    found: list[tuple[Any, ...]] = []
    running = (
        rows.writeStream.foreachBatch(lambda batch, _: found.extend(map(tuple, batch.collect())))
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination()
    return found


def written(folder: Path, **files: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_bytes(text)
    return folder
