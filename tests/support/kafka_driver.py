"""A query over Kafka as a process of its own: kafka_driver.py JARS PLAIN LOGIN FOLDER.

``PLAIN`` is where everybody may write, ``LOGIN`` is where readers need a password. It is a process
of its own because Java must be started with the connector.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from topwater.spark import session, stream
from topwater.streams import StreamSettings, stream_settings

LOGIN = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="me" password="${KAFKA_PASSWORD}";'
)


def produce(spark: SparkSession, servers: str, payloads: list[str]) -> None:
    rows = spark.createDataFrame([(each,) for each in payloads], "value string").coalesce(1)
    writer = rows.write.format("kafka").option("kafka.bootstrap.servers", servers)
    writer.option("topic", "bids").save()


def read(spark: SparkSession, settings: StreamSettings, folder: Path) -> list[Any]:
    found: list[Any] = []
    running = (
        stream(spark, settings)
        .writeStream.foreachBatch(lambda batch, _: found.extend(map(list, batch.collect())))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination()
    return found


def main(jars: str, plain: str, login: str, folder: str) -> None:
    spark = session("kafka", master="local[2]", conf={"spark.jars": jars})
    told = {"kind": "kafka", "servers": login, "topics": ["bids"], "start": "earliest"}
    told |= {"schema": "n bigint, user string", "topic_column": "topic"}
    settings = stream_settings(
        {
            **told,
            "options": {
                "kafka.security.protocol": "SASL_PLAINTEXT",
                "kafka.sasl.mechanism": "PLAIN",
                "kafka.sasl.jaas.config": LOGIN,
            },
        }
    )
    produce(spark, plain, [*(json.dumps({"n": n, "user": f"u{n % 7}"}) for n in range(1000)), "{"])
    first = read(spark, settings, Path(folder))
    produce(spark, plain, [json.dumps({"n": n, "user": "late"}) for n in range(1000, 1500)])
    second = read(spark, settings, Path(folder))
    table = [list(row) for row in stream(spark, settings, once=True).collect()]
    plan = stream(spark, settings, once=True)._jdf.queryExecution().toString()
    print(json.dumps({"first": first, "second": second, "table": table, "plan": plan}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
