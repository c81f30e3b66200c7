"""How a source, or a set of queries, travels from the driver to the workers.

Spark turns a large function into a broadcast, which the process that sets up a stateful stage
can't read. So what is large goes as a file of its own.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from topwater.spark.compat import java, pickled
from topwater.spark.run_folder import run_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST = 262_144
Parcel: TypeAlias = bytes | str
"""A pickled value, or the name of the file that holds one."""


def parcel(value: object, spark: SparkSession) -> Parcel:
    """A value made ready to travel, even one whose class was defined in a notebook."""
    made = pickled(value)
    if len(made) <= _MOST:
        return made
    name = f"topwater-parcel-{hashlib.sha256(made).hexdigest()[:32]}"
    path = run_folder() / name  # executors fetch it from here, whenever they start
    path.write_bytes(made)
    if java(spark) is None:  # over Spark Connect a session has files of its own
        spark.addArtifacts(str(path), file=True)
    else:
        spark.sparkContext.addFile(str(path))
    return name


@functools.lru_cache(maxsize=16)
def opened(sent: Parcel) -> Any:
    """The value: one for each worker process, so that a source's connections outlive a batch."""
    packed = sent if isinstance(sent, bytes) else _place(sent).read_bytes()
    return pickle.loads(packed)  # noqa: S301  our own bytes, from the driver


def _place(name: str) -> Path:
    """Where a worker has a file."""
    # Not there with the client of Spark Connect alone; workers have it.
    from pyspark import SparkFiles

    path = Path(SparkFiles.get(name))
    if path.exists():
        return path
    # Over Spark Connect it is in a folder of the session, which a stateful stage is not told. The
    # name says what is in it, so that of any session will do.
    return next(path.parent.glob(f"*/{name}"), path)
