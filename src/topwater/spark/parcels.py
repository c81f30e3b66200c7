"""How a source travels from the driver to the workers.

Spark turns a large function into a broadcast, which the process that sets up a stateful stage
can't read. So a large source goes as a file of its own.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pyspark import SparkFiles, cloudpickle

from topwater.spark.session import run_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from topwater.protocols import Source

_MOST = 262_144
Parcel: TypeAlias = bytes | str
"""A pickled source, or the name of the file that holds one."""


def parcel(source: Source | None, spark: SparkSession) -> Parcel | None:
    """A source made ready to travel, also one whose class was defined in a notebook."""
    if source is None:
        return None
    made: bytes = cloudpickle.dumps(source)  # type: ignore[no-untyped-call]
    if len(made) <= _MOST:
        return made
    name = f"topwater-source-{hashlib.sha256(made).hexdigest()[:32]}"
    path = run_folder() / name  # executors fetch it from here, whenever they start
    path.write_bytes(made)
    spark.sparkContext.addFile(str(path))
    return name


@functools.lru_cache(maxsize=16)
def opened(sent: Parcel) -> Source:
    """The source: one for each worker process, so that its connections outlive a micro-batch."""
    packed = sent if isinstance(sent, bytes) else Path(SparkFiles.get(sent)).read_bytes()
    made: Source = pickle.loads(packed)  # noqa: S301  our own bytes, from the driver
    return made
