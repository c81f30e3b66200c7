"""What the user told Spark outside of a program: ``spark-submit``, its variables and its file.

Spark itself reads all of it when it starts Java. Here it is read before, so that settings of ours
stand back behind it.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyspark
from pyspark import SparkConf

_SUBMITTED = "PYSPARK_GATEWAY_PORT"
_OPTIONS = {
    "--master": "spark.master",
    "--name": "spark.app.name",
    "--packages": "spark.jars.packages",
    "--driver-memory": "spark.driver.memory",
    "--driver-java-options": "spark.driver.extraJavaOptions",
    "--executor-memory": "spark.executor.memory",
    "--executor-cores": "spark.executor.cores",
    "--num-executors": "spark.executor.instances",
    "--total-executor-cores": "spark.cores.max",
}
_CONF = ("--conf", "-c")
_FILE = "--properties-file"
_LINE = re.compile(r"((?:[^\s=:\\]|\\.)++)\s*+[=:]?\s*+(.*)")


def is_submitted() -> bool:
    """Whether ``spark-submit`` has started this process, and Java before it."""
    return _SUBMITTED in os.environ


def user_defaults() -> dict[str, str]:
    """Spark's settings as the user has them without any program of ours."""
    if is_submitted():
        from pyspark import SparkContext  # the client of Spark Connect alone has none

        SparkContext.getSystemProperty("spark.master")  # a conf asks Java once it is connected
        return dict(SparkConf().getAll())
    return read_defaults(os.environ)


def read_defaults(environment: Mapping[str, str]) -> dict[str, str]:
    """Those of the file of defaults, and of ``PYSPARK_SUBMIT_ARGS``, which win."""
    arguments = dict(_arguments(shlex.split(environment.get("PYSPARK_SUBMIT_ARGS", ""))))
    file = arguments.pop(_FILE, None)
    return {**_of_file(Path(file) if file else _usual_file(environment)), **arguments}


def _usual_file(environment: Mapping[str, str]) -> Path:
    folder = environment.get("SPARK_CONF_DIR")
    home = environment.get("SPARK_HOME") or Path(pyspark.__file__).parent
    return (Path(folder) if folder else Path(home) / "conf") / "spark-defaults.conf"


def _arguments(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The settings that options stand for; the file of properties by the name of its option."""
    following = iter(words)
    for word in following:
        option, mark, value = word.partition("=")
        if option not in (*_OPTIONS, *_CONF, _FILE):
            continue
        value = value if mark else next(following, "")
        if option in _CONF:
            name, _, value = value.partition("=")
            yield name, value
        else:
            yield _OPTIONS.get(option, option), value


def _of_file(path: Path) -> dict[str, str]:
    """The settings in a file of properties, as Java reads it; none if there is no file."""
    if not path.is_file():
        return {}
    text = re.sub(r"\\\r?\n[ \t]*", "", path.read_text("utf-8"))
    lines = (line.strip() for line in text.splitlines())
    found = (_LINE.fullmatch(line) for line in lines if line and line[0] not in "#!")
    pairs = (each.groups() for each in found if each is not None)
    return {_plain(name): _plain(value) for name, value in pairs if name.startswith("spark.")}


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
