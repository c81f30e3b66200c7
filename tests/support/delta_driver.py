"""A session with Delta that writes events to a table, or prints the rows of one as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def main(jars: str, what: str, folder: str, *more: str) -> None:
    """Write the lines of files, one commit each; or print what is there."""
    from topwater.spark import session

    spark = session("delta", master="local[2]", conf=DELTA | {"spark.jars": jars})
    if what == "write":
        schema, files = more
        for path in sorted(Path(files).glob("*.json")):
            rows = spark.read.schema(schema).json(str(path))
            rows.coalesce(1).write.format("delta").mode("append").save(folder)
    else:
        found = spark.read.format("delta").load(folder).select("window_end", "rank", "key", "score")
        plain = [row.asDict() for row in found.collect()]
        print(json.dumps([{**row, "window_end": row["window_end"].timestamp()} for row in plain]))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
