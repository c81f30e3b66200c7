"""The most talked about users, by mentions and followers: rank.py DATA URL."""

import sys

from pyspark.sql import SparkSession

from topwater import TopKQuery, remote, sliding
from topwater.spark import settings, start, topk, watch

QUERY = TopKQuery(
    key="user",
    time="at",
    window=sliding("3 min", "1 min"),
    k=10,
    take={"mentions": "count"},
    score="1000 * mentions + followers",
    lateness="10 s",
    refresh={"remote": "followers", "budget": 50},
)
METRICS = "http://0.0.0.0:9464"  # of the pod: who may reach it is the cluster's matter


def source(url):
    """Where followers are looked up; the token is read from the environment of each executor."""
    return remote.http(
        url,
        value="users[*].followers",
        key="users[*].id",
        headers={"Authorization": "Bearer ${FOLLOWERS_TOKEN}"},
        rate=20,
    )


def main(data, url):
    """Run until the pod is stopped."""
    spark = SparkSession.builder.config(map=settings()).getOrCreate()
    events = spark.readStream.schema("user bigint, at timestamp").json(f"{data}/mentions")
    answers = topk(events, QUERY, source(url), idle="30 s")
    with watch(spark, METRICS):
        running = start(
            answers,
            path=f"{data}/answers",
            checkpoint=f"{data}/state",
            trigger="10 seconds",
            name="top-users",
        )
        running.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
