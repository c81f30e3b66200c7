"""Whole jobs on real servers: an MQTT broker in, an HTTP service beside it, parquet out."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tests.support.brokers import Broker, publish, running
from tests.support.collected import Collected
from topwater import local, remote
from topwater.cli.starter import mentions
from topwater.jobs import read_job
from topwater.jobs.runner import run
from topwater_lab.experiments.generated_evening import START
from topwater_lab.services import started

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from topwater_lab.services.service_process import Service

pytestmark = pytest.mark.spark
GROUP = "second_session"  # a minute and more, which the warm session has no time for

X = "http://example.org/"
ONE = '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'
QUERY = """
PREFIX : <http://example.org/>
REGISTER RSTREAM :UsersToContact AS
SELECT ?user (COUNT(?n) AS ?mentions) ?followers ((1000 * COUNT(?n) + 0.2 * ?followers) AS ?score)
FROM NAMED WINDOW :W ON :S [RANGE PT3M STEP PT1M]
WHERE {
  WINDOW :W { ?user :mentioned ?n }
  SERVICE :BKG { ?user :followers ?followers }
}
GROUP BY ?user ?followers
ORDER BY DESC(?score) LIMIT 3
WITH BUDGET 7 FETCHES
"""
STREAM = """
kind = "mqtt"
url = "{url}"
topics = ["mentions/#"]
protocol = "3.1.1"
user = "topwater"
"""
SOURCE = """
kind = "http"
url = "{url}/followers?ids={{keys}}&at={{now}}"
value = "users[*].followers"
key = "users[*].id"
"""
SINK = """
[sink]
kind = "parquet"
path = "answers"
"""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with running(Broker(tmp_path / "broker")) as found:
        yield found


@pytest.fixture
def service() -> Iterator[Service]:
    """Counts change as the stream's time goes on, the same in every run."""
    with started(users=100) as found:
        yield found


def events() -> list[tuple[int, int]]:
    """When who was mentioned, in milliseconds; the last one ends the last window that is full."""
    found = [(round(when.timestamp() * 1_000), user) for when, user in mentions()]
    begin = found[0][0] // 60_000 * 60_000
    return [(START // 60_000 * 60_000 + at - begin, user) for at, user in found]


def triple(user: int) -> str:
    return f"<{X}user/{user}> <{X}mentioned> {ONE} ."


def eventually(right: Callable[[], object], seconds: float = 200) -> None:
    end = time.monotonic() + seconds
    while not right():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.2)


def shown(path: Path, *names: str) -> dict[int, list[tuple[Any, ...]]]:
    """What the files say, by the end of the window."""
    if not list(path.glob("batch=*")):
        return {}
    rows = [row for row in pq.read_table(path).to_pylist() if row["rank"] is not None]
    found: dict[int, list[tuple[Any, ...]]] = {}
    for row in sorted(rows, key=lambda row: (row["window_end"], row["rank"])):
        end = round(row["window_end"].replace(tzinfo=UTC).timestamp() * 1_000)
        found.setdefault(end, []).append(tuple(row[name] for name in names))
    return found


def committed(path: Path) -> bool:
    """Whether no micro-batch would be computed, and told of, once more."""
    written = {each.name.removeprefix("batch=") for each in path.glob("batch=*")}
    return written <= {each.name for each in (path / "_checkpoint" / "commits").iterdir()}


def _iso(at: int) -> str:
    return datetime.fromtimestamp(at / 1_000, UTC).isoformat(timespec="milliseconds")


@contextlib.contextmanager
def started_job(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The real program, which does not outlive the block."""
    job = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "topwater", "run", *arguments],
        cwd=folder,
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield job
    finally:
        job.kill()
        job.communicate()


def said_until(job: subprocess.Popen[str], text: str) -> str:
    """What is on stderr up to the line with this text."""
    assert job.stderr is not None
    said = ""
    for line in job.stderr:
        said += line
        if text in line:
            return said
    raise AssertionError(said)


class Publishing(Collected):
    """Publishes once the job has subscribed, which it has when it tells of its checkpoint."""

    publish: Callable[[], None]

    def say(self, text: str) -> None:
        if "is kept in" in text:
            self.publish()


@pytest.mark.timeout(600)
def test_rspql_over_mqtt_with_an_http_source_and_a_restart(
    broker: Broker, service: Service, tmp_path: Path
) -> None:
    source = {"kind": "http", "namespace": f"{X}user/"}
    (tmp_path / "query.rq").write_text(QUERY)
    (tmp_path / "query.toml").write_text(
        f'[streams.":S"]{STREAM.format(url=broker.url)}format = "ntriples"\n'
        f'[services.":BKG"]{SOURCE.format(url=service.url)}namespace = ":user/"\n{SINK}'
    )
    told = events()
    events_sent = [f"{at}\t{triple(user)}".encode() for at, user in told]
    payloads = [("mentions/eu", line) for line in events_sent]
    half = len(told) // 2
    answers = tmp_path / "answers"
    with started_job(tmp_path, "query.rq") as first:
        said = said_until(first, "is kept in")  # and subscribed by then
        publish(broker, payloads[:half])
        eventually(lambda: len(shown(answers)) >= 8 or first.poll() is not None)
        eventually(lambda: committed(answers) or first.poll() is not None)
        first.send_signal(signal.SIGTERM)
        out, rest = first.communicate(timeout=60)
    assert first.returncode == 143, rest
    assert "  1. :user/" in out.splitlines()[0]
    assert f"is kept in {answers / '_checkpoint'}" in said
    assert rest.endswith("stopped\n")
    before = shown(answers)
    publish(broker, payloads[half:])  # while nobody is there
    with started_job(tmp_path, "query.rq", "--json") as second:
        said = said_until(second, "goes on from")
        assert second.stdout is not None
        lines = [second.stdout.readline() for _ in range(19 - len(before))]
        second.send_signal(signal.SIGINT)
        out, rest = second.communicate(timeout=60)
    assert second.returncode == 130, rest
    assert f"goes on from {answers / '_checkpoint'}" in said
    *windows, last = [json.loads(line) for line in [*lines, *out.splitlines()]]
    assert last["summary"]["windows"] == len(windows) == 19 - len(before)
    names = ("rank", "user", "mentions", "followers", "score", "fetched")
    found = shown(answers, *names)
    batch = {"time": [at for at, _ in told], "value": [triple(user) for _, user in told]}
    url = f"{service.url}/followers?ids={{keys}}&at={{now}}"
    asked = {**source, "url": url, "value": "users[*].followers", "key": "users[*].id"}
    expected = local.rspql(QUERY, streams={":S": [batch]}, services={":BKG": asked})
    for answer in list(expected)[:19]:
        rows = [
            (rank, *(row[name] for name in names[1:-1]), 7)
            for rank, row in enumerate(answer.rows, 1)
        ]
        assert found.pop(answer.answer.window.end) == rows
    assert not found


JOB = """
[query]
key = "user"
time = "at"
window = "3 min every 1 min"
take = { mentions = "count" }
score = "1000 * mentions + 0.2 * followers"
k = 3
refresh.remote = "followers"
"""


def test_json_over_mqtt_as_a_job(
    spark: SparkSession, broker: Broker, service: Service, tmp_path: Path
) -> None:
    schema = 'schema = "user bigint, at timestamp"\n'
    (tmp_path / "job.toml").write_text(
        f"{JOB}[stream]{STREAM.format(url=broker.url)}{schema}"
        f"[source]{SOURCE.format(url=service.url)}{SINK}"
    )
    job = read_job(tmp_path / "job.toml")
    told = events()
    payloads = [
        ("mentions/eu", json.dumps({"user": user, "at": _iso(at)}).encode()) for at, user in told
    ]

    def after() -> None:
        if len(display.windows) == 19:
            signal.raise_signal(signal.SIGINT)

    display = Publishing(job, after)
    display.publish = lambda: publish(broker, payloads)
    with pytest.raises(KeyboardInterrupt):
        run(job, display, spark=spark)
    url = f"{service.url}/followers?ids={{keys}}&at={{now}}"
    source = remote.http(url, value="users[*].followers", key="users[*].id")
    batch = {"at": [at for at, _ in told], "user": [user for _, user in told]}
    expected = list(local.run(job.query, [batch], source=source))[:19]
    assert shown(tmp_path / "answers", "rank", "user", "score", "followers") == {
        answer.window.end: [(row.rank, row.key, row.score, row.remote) for row in answer.rows]
        for answer in expected
    }
    assert display.summary.windows == 19
    assert (display.summary.looked_up, display.summary.failed) == (19 * 7, 0)
