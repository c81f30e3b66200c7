"""The classes that Spark loads, in one file that Java maps into memory: class_archive.py FILE.

Every process of Java that a test starts reads some twenty thousand classes from jars before its
first answer: a third of its time. Java ignores a file of another Java or of other jars.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

ARCHIVE = Path(sys.prefix) / "spark.jsa"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Runs of seconds end before Java's second compiler pays."""


def java_options(archive: Path = ARCHIVE) -> str:
    """What Java is told in tests, and in the processes that they start."""
    if not archive.exists():
        return QUICK
    return f"{QUICK} -XX:SharedArchiveFile={archive} -Xlog:disable -Xlog:all=off"


def make(archive: Path) -> None:
    """Run a query to its end, and keep the classes that Java had loaded by then."""
    os.environ["SPARK_SUBMIT_OPTS"] = f"{QUICK} -XX:ArchiveClassesAtExit={archive} -Xlog:disable"
    from pyspark import SparkContext

    from tests.support.scenarios import read_stream, run_to_the_end, scenario, written
    from topwater.spark import session, topk

    each = scenario("worth", 7, files=2, rows=100)
    with tempfile.TemporaryDirectory() as folder:
        spark = session("classes", master="local[2]", shuffle_partitions=2)
        events = read_stream(spark, written(Path(folder) / "in", each.files), each.keys)
        rows = topk(events, each.query, each.source, shards=2)
        run_to_the_end(rows, f"{folder}/checkpoint", f"{folder}/sink")
        java = SparkContext._gateway.proc  # type: ignore[union-attr]
        spark.stop()
        java.stdin.close()  # by which it ends by itself, and writes the file
        java.wait(300)


if __name__ == "__main__":
    make(Path(sys.argv[1]).absolute())
