"""Kafka itself, with Spark's connector: both are fetched first, so it is for the long suite."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest

from tests.support.brokers import wait_for_port
from tests.support.ports import free_port
from topwater.errors import EnvironmentProblem
from topwater.spark.java import find_java

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

JARS = Path(pyspark.__file__).parent / "jars"
BROKER = ("org.apache.kafka", "kafka_2.13", "4.1.0")
CONNECTOR = [
    # The newest that there are where this was written: they need not be of one version.
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    ("org.apache.kafka", "kafka-clients", "3.9.0"),
    ("org.apache.commons", "commons-pool2", "2.12.0"),
]


def fetched(folder: Path, package: tuple[str, str, str], *more: str) -> None:
    """A package from Maven, by the tool that Spark itself uses."""
    command = [str(find_java().command), "-cp", f"{JARS}/*", "org.apache.ivy.Main"]
    command += ["-cache", str(folder / "cache"), "-confs", "default", "-dependency", *package]
    command += ["-retrieve", f"{folder}/jars/[artifact]-[revision].[ext]", *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)  # noqa: S603
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.fixture(scope="module")
def connector(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("connector")
    for package in CONNECTOR:
        fetched(folder, package, "-notransitive")
    return ",".join(str(jar) for jar in (folder / "jars").glob("*.jar"))


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A broker: where everybody may write, and where readers need a password."""
    folder = tmp_path_factory.mktemp("kafka")
    fetched(folder, BROKER)
    plain, login, controller = free_port(), free_port(), free_port()
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    told = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{login},"
        f"CONTROLLER://127.0.0.1:{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
        "SASL_PLAINTEXT:SASL_PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{module} required "
        'user_me="hunter2";',
        "log.dirs": folder / "logs",
        "offsets.topic.replication.factor": 1,
    }
    config = folder / "server.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in told.items()))
    java = [str(find_java().command), "-Xmx512m", "-cp", f"{folder}/jars/*"]
    formatting = ["kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c"]
    subprocess.run([*java, *formatting, str(config)], check=True, capture_output=True)  # noqa: S603
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*java, "kafka.Kafka", str(config)], stdout=log, stderr=log)  # noqa: S603
    try:
        wait_for_port(login, process, 120)
        yield f"127.0.0.1:{plain}", f"127.0.0.1:{login}"
    finally:
        process.kill()
        process.wait(10)


def test_a_query_that_goes_on(connector: str, kafka: tuple[str, str], tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "tests.support.kafka_driver", connector, *kafka, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "KAFKA_PASSWORD": "hunter2"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    first = [[n, f"u{n % 7}", "bids"] for n in range(1000)]
    second = [[n, "late", "bids"] for n in range(1000, 1500)]
    assert told["first"] == [*first, [None, None, "bids"]]
    assert told["second"] == second
    assert told["table"] == [*first, [None, None, "bids"], *second]
    assert "hunter2" not in done.stdout + done.stderr


def test_a_package_that_is_nowhere(tmp_path: Path) -> None:
    code = (
        "from topwater.spark import session\n"
        "session(packages=['org.apache.spark:spark-sql-kafka-0-10_2.13:0.0.0'],"
        f" conf={{'spark.jars.ivy': {str(tmp_path)!r}}})"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300
    )
    last = done.stderr.strip().splitlines()[-2:]
    said = f"{EnvironmentProblem.__module__}.{EnvironmentProblem.__name__}: Spark could not fetch"
    assert last[0] == f"{said} org.apache.spark:spark-sql-kafka-0-10_2.13:0.0.0"
    assert last[1].startswith("  fix: check the version")
