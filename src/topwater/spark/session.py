"""A Spark session that is quiet, private and has the settings that Topwater needs."""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import os
import re
import signal
import sys
import threading
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from topwater.errors import EnvironmentProblem
from topwater.spark.java import find_java, shim
from topwater.spark.run_folder import run_folder
from topwater.spark.session_settings import PACKAGES, Asked, chosen_settings, is_local
from topwater.spark.user_defaults import is_submitted, user_defaults
from topwater.validation import checked_call

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_STATE = "org.apache.spark.sql.execution.streaming"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = f"{_STATE}.state.RocksDBStateStoreProvider"
_OLDEST_PROTOBUF = (6, 33, 5)
_OF_JAVA = ("", "py4j.clientserver", "py4j.java_gateway")  # Py4J logs to these


class _Ours:
    """What :func:`session` started in this process. Nothing else is ever stopped."""

    context: Any = None
    java: Any = None


def settings(*, shuffle_partitions: int = 1) -> dict[str, str]:
    """The settings that a session of your own should have, whatever cluster it runs on.

    Only the first is a must (:func:`require` checks it); the others make micro-batches shorter.

    Parameters
    ----------
    shuffle_partitions
        How many tasks the stateful stage has. Spark records it in the checkpoint: later changes
        have no effect on a query that goes on from there.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> builder = SparkSession.builder.appName("mine").config(map=settings())
    """
    return {
        _PROVIDER: _ROCKSDB,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        # The default manager forks a shell for each checkpoint file when Hadoop's native library
        # is absent, as it is in the pip package: 27 ms a file.
        "spark.sql.streaming.checkpointFileManagerClass": (
            f"{_STATE}.checkpointing.FileSystemBasedCheckpointFileManager"
        ),
        "spark.sql.shuffle.partitions": str(shuffle_partitions),
    }


def require(spark: SparkSession) -> None:
    """Check that a session can run Topwater.

    Raises
    ------
    EnvironmentProblem
        Naming the setting or the package to change.
    """
    provider = spark.conf.get(_PROVIDER, "") or ""
    if not provider.endswith("RocksDBStateStoreProvider"):
        raise EnvironmentProblem(
            "the session keeps its state in a store without timers and typed values",
            fix=f'spark.conf.set("{_PROVIDER}", "{_ROCKSDB}"), or build the session with '
            "topwater.spark.settings()",
        )
    _require_protobuf()


@checked_call()
def session(
    name: str | None = None,
    *,
    master: str | None = None,
    shuffle_partitions: int | None = None,
    quiet: bool = True,
    log_file: str | Path | None = None,
    packages: Sequence[str] = (),
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """A Spark session, started if there is none; on this machine if nothing says otherwise.

    A session that is active already is returned as it is, if it has what :func:`require` asks. What
    is given here wins over what the user told Spark: by ``spark-submit``, by the variable
    ``PYSPARK_SUBMIT_ARGS`` or in ``spark-defaults.conf``. That wins over what is usual here.

    Parameters
    ----------
    name
        Shown by Spark's own tools; ``topwater`` by default.
    master
        Where to run; all cores of this machine by default, each task being tried four times.
    shuffle_partitions
        See :func:`settings`.
    quiet
        Send all that Spark, Java and the Python workers print to the log file; not where
        ``spark-submit`` has started Java, whose logging is the user's.
    log_file
        Where the log goes when ``quiet``. By default it is removed with the session's other
        files when Python ends.
    packages
        Maven coordinates of what Spark is to fetch first, as
        :attr:`topwater.streams.KafkaStream.packages`. Where from is Spark's own business
        (``spark.jars.ivySettings``); what was fetched once is kept. Those that the user named
        are fetched too.
    conf
        More Spark settings. They win over all others.

    Raises
    ------
    EnvironmentProblem
        If Java, a package or a setting is missing, with what to do about it.
    """
    active = running_session()
    if active is not None:
        require(active)
        _require_packages(active, packages)
        return active
    _require_protobuf()
    folder = run_folder()
    _end_at_exit()
    log = Path(log_file).absolute() if log_file else folder / "spark.log"
    asked = Asked(name, master, shuffle_partitions, packages, conf or {})
    there = is_submitted()
    made = chosen_settings(asked, user_defaults(), settings(), None if there else folder)
    chosen = SparkConf(loadDefaults=False).setAll([*made.items()])
    quiet = quiet and not there
    if quiet:
        _log_to_file(chosen, folder, log)
    with _environment(_variables(made, folder, quiet=quiet)), _own_interrupt():
        _start(chosen, log if quiet else None)
    return SparkSession.builder.config(conf=chosen).getOrCreate()


def running_session() -> SparkSession | None:
    """The session that is active, no matter who started it."""
    return SparkSession.getActiveSession()


def _variables(made: Mapping[str, str], folder: Path, *, quiet: bool) -> dict[str, str]:
    """The environment that Java and the Python workers inherit."""
    master = made["spark.master"]
    found = {}
    if is_local(master) or not is_submitted():
        python = made.get("spark.pyspark.python", sys.executable)
        found["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", python)
    if is_local(master):
        found["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
    if quiet:
        found["PYTHONWARNINGS"] = "ignore"
    if is_submitted():
        return found
    java = find_java()
    if java.bundled:
        found["JAVA_HOME"] = str(shim(java, folder / "java"))
    elif java.command.resolve().parts[-2:] == ("bin", "java"):
        # Spark's launcher trusts JAVA_HOME blindly, also one that find_java() had to reject.
        found["JAVA_HOME"] = str(java.command.resolve().parent.parent)
    return found


def _log_to_file(conf: SparkConf, folder: Path, log: Path) -> None:
    """Point Java's logging at ``log``, keeping the Java options that the user gave."""
    properties = folder / "log4j2.properties"
    properties.write_text(
        "rootLogger.level = warn\n"
        "rootLogger.appenderRef.file.ref = file\n"
        "appender.file.type = File\n"
        "appender.file.name = file\n"
        f"appender.file.fileName = {log}\n"
        "appender.file.layout.type = PatternLayout\n"
        "appender.file.layout.pattern = %d{ISO8601} %p %c{1}: %m%n%ex\n"
    )
    option = "spark.driver.extraJavaOptions"
    conf.set(option, f"-Dlog4j2.configurationFile={properties} {conf.get(option, '')}".strip())
    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        # PySpark writes each failed analysis to stderr as JSON, besides raising it.
        PySparkLogger.getLogger(logger).addFilter(_not_in_ours)


def _not_in_ours(_: logging.LogRecord) -> bool:
    """Whether another context is active than the one that is to be quiet."""
    return _Ours.context is None or SparkContext._active_spark_context is not _Ours.context


def _start(conf: SparkConf, log: Path | None) -> None:
    """Start Java and the Spark context, with both outputs of Java going to ``log``."""
    size = log.stat().st_size if log is not None and log.exists() else 0
    had_java = SparkContext._gateway is not None
    try:
        _Ours.context = _context(conf, log)
    except PySparkRuntimeError as error:
        if conf.get(PACKAGES, None) and (missing := _not_found(log, size)):
            raise EnvironmentProblem(
                f"Spark could not fetch {missing}",
                fix="check the version, and that a Maven repository can be reached; "
                "spark.jars.ivySettings names another",
            ) from error
        raise EnvironmentProblem(
            f"Java could not start Spark{_first_words(log, size)}",
            fix="check that `java -version` runs, or start with quiet=False to see everything",
        ) from error
    finally:
        if not had_java:
            _Ours.java = SparkContext._gateway


def _context(conf: SparkConf, log: Path | None) -> SparkContext:
    if log is None:
        return SparkContext(conf=conf)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as sink:
        # The workers that Spark starts inherit these too: what they print is not log4j's.
        gateway = SparkContext._gateway or launch_gateway(  # type: ignore[no-untyped-call]
            conf, {"stdout": sink, "stderr": sink}
        )
    context = SparkContext(conf=conf, gateway=gateway)
    # Its server of accumulators prints a traceback if Java goes first, and does no more.
    if (server := getattr(context, "_accumulatorServer", None)) is not None:
        server.handle_error = lambda *_: None
    return context


@contextlib.contextmanager
def _own_interrupt() -> Iterator[None]:
    """What the program does on Ctrl-C stays as it is.

    A new Spark context handles SIGINT: it cancels all jobs, and raises wherever the main thread
    is, most often in the middle of a call to Java. That suits a program without a handler of its
    own, such as a notebook; one that has a handler wants to end in its own way.
    """
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        here = threading.current_thread() is threading.main_thread()
        if here and before not in (None, signal.default_int_handler):
            signal.signal(signal.SIGINT, before)


def end_session(spark: SparkSession) -> None:
    """Stop a session, even if Java went first: PySpark warns of that, and we know."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        spark.stop()


def kill_java() -> bool:
    """End Java as it is, so that every call to it fails at once; whether there was one to end."""
    process: Any = getattr(SparkContext._gateway, "proc", None)
    if process is None or process.poll() is not None:
        return False
    process.kill()
    return True


def _first_words(log: Path | None, start: int = 0) -> str:
    """The first line after byte ``start`` of the log that is not a warning, after a colon."""
    if log is None or not log.exists():
        return ""
    text = log.read_bytes()[start:].decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip() and "WARN" not in line]
    return f": {lines[0][:300]}" if lines else ""


def _not_found(log: Path | None, start: int) -> str:
    """The packages that the log says are nowhere."""
    if log is None or not log.exists():
        return ""
    text = log.read_bytes()[start:].decode(errors="replace")
    found = re.findall(r":: ([^\s#;]+)#([^\s#;]+);([^\s#;]+): not found", text)
    return ", ".join(dict.fromkeys(":".join(each) for each in found))


def _require_packages(active: SparkSession, packages: Sequence[str]) -> None:
    """What an active session was started without can't be added."""
    known = (active.conf.get(PACKAGES, "") or "").split(",")
    if missing := [each for each in packages if each not in known]:
        raise EnvironmentProblem(
            f"the active session was started without {missing[0]}",
            fix="stop it first, or start it with packages=",
        )


@functools.cache
def _end_at_exit() -> None:
    atexit.register(_end_java)  # after the folder's own: the last one is called first


def _end_java() -> None:
    """End what this process started, before its folder is removed: Java would write on into it."""
    for name in _OF_JAVA:
        logging.getLogger(name).addFilter(not_of_py4j)  # Java may be gone by now
    with contextlib.suppress(Exception):
        _stop_java()


def not_of_py4j(record: logging.LogRecord) -> bool:
    """Whether a record is somebody else's: Py4J also logs to the root, as programs do."""
    return "py4j" not in Path(record.pathname).parts


def _stop_java() -> None:
    """Stop what :func:`session` started, and nothing else."""
    active = SparkContext._active_spark_context
    if active is not None and active is not _Ours.context:
        return
    if active is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            active.stop()
    process: Any = getattr(_Ours.java, "proc", None)
    if process is None:
        return
    _Ours.java.shutdown()
    process.stdin.close()  # Java ends when this pipe does
    process.wait(timeout=10)


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """The process' environment with these variables, put back afterwards."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _require_protobuf() -> None:
    """PySpark's stateful API imports protobuf, needs a recent one, and depends on neither."""
    needed = ".".join(str(part) for part in _OLDEST_PROTOBUF)
    try:
        found = version("protobuf")
    except PackageNotFoundError:
        found = "none"
    parts = tuple(int(part) for part in found.split(".")[:3] if part.isdigit())
    if parts < _OLDEST_PROTOBUF:
        raise EnvironmentProblem(
            f"PySpark needs protobuf {needed} or newer; {found} is installed",
            fix=f'pip install "protobuf>={needed}"',
        )
