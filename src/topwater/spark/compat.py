"""Everything that Topwater uses of Spark beyond its public API. It is here, and nowhere else.

Each function says what it is for, since which version of Spark it works, and what happens without
it. Over Spark Connect there is no Java in reach, and with the package ``pyspark-client`` no Py4J
either: so neither is imported before it is needed, and what has no way there answers ``None``.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle

from topwater.errors import EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType
    from typing import BinaryIO

    import pyarrow as pa
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
    from pyspark.sql.types import StructType

_UTC = "UTC"


# What travels to the workers.


def pickled(value: object) -> bytes:
    """A value as Spark's own pickler writes it, even one whose class was defined in a notebook.

    Since 4.0, where ``pyspark.cloudpickle`` is a package; Spark documents no pickler. Without it:
    sources and processors of one's own classes could not be sent.
    """
    made: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    return made


def pickle_by_value(module: ModuleType) -> None:
    """Let all that a module defines travel as it is: no other process can import it.

    Since 4.0, as :func:`pickled`. Without it: classes in a file beside a job, and what Spark asks
    where it plans a query, would have to be installed there.
    """
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def is_planning(handle: StatefulProcessorHandle) -> bool:
    """Whether Spark asks a processor only which state it has, and gives it no work.

    Since 4.1. Without it: all of Topwater would be loaded by the process that plans a query, which
    takes two seconds of every start.
    """
    from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorHandleState

    client: Any = handle._statefulProcessorApiClient
    return bool(client.handle_state == StatefulProcessorHandleState.PRE_INIT)


def can_open_late(handle: StatefulProcessorHandle) -> bool:
    """Whether this is a task that may open its state when it needs it: see :func:`opening_late`.

    Since 4.1. Without it, as where a query is planned and in Spark's own tester, state is opened at
    the beginning.
    """
    from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorHandleState

    client = getattr(handle, "_statefulProcessorApiClient", None)
    return client is not None and client.handle_state == StatefulProcessorHandleState.CREATED


@contextlib.contextmanager
def opening_late(handle: StatefulProcessorHandle) -> Iterator[None]:
    """A time in which a processor at work may open a state variable.

    Java opens them only before a processor begins, and takes our word for it. Since 4.1. Without
    it: every task would open a map that most have no use for, which takes it some 20 ms.
    """
    from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorHandleState

    client: Any = handle._statefulProcessorApiClient
    now = client.handle_state
    client.set_handle_state(StatefulProcessorHandleState.CREATED)
    yield
    client.set_handle_state(now)


def arrow_schema(schema: StructType) -> pa.Schema:
    """The columns as Spark hands them to Python, with times in UTC.

    Since 4.0; later it takes a zone. Without it: a query's columns could be checked only when their
    first rows are there.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    make: Any = to_arrow_schema
    if "timezone" in inspect.signature(make).parameters:
        return make(schema, timezone=_UTC)
    return make(schema)


# Java, where it can be reached.


def java(spark: SparkSession) -> Any:
    """The Java of the driver, by the names of its packages; None over Spark Connect.

    Since 1.0. Without it: stage 1 runs in Python, Hadoop's file systems can't be asked, and the
    size of Java's heap is not checked.
    """
    return getattr(spark, "_jvm", None)


def java_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """What a call of Java raises when it fails, if there is Py4J, and other errors.

    Since 1.0. Without it: Java's exceptions that Spark has no class for would look like defects.
    """
    try:
        from py4j.protocol import Py4JError
    except ImportError:
        return others
    return (*others, Py4JError)


def java_objects(spark: SparkSession, values: Sequence[Any]) -> Any:
    """An array of objects in Java.

    Since 1.0. Without it: our classes in Java could not be given their settings.
    """
    context: Any = spark.sparkContext
    array = context._gateway.new_array(context._jvm.java.lang.Object, len(values))
    for at, value in enumerate(values):
        array[at] = value
    return array


def class_loader(spark: SparkSession) -> Any:
    """What knows the classes of the jars that were added to a session, in Java.

    Since 2.0. Without it: our classes could be named in no session that did not start with them.
    """
    session: Any = spark
    return session._jsparkSession.sharedState().jarClassLoader()


def hadoop_settings(spark: SparkSession) -> Any:
    """How Hadoop's file systems are reached, in Java.

    Since 1.0. Without it: checkpoints could be looked at on this machine only.
    """
    context: Any = spark.sparkContext
    return context._jsc.hadoopConfiguration()


def rows_in_java(rows: DataFrame) -> Any:
    """The same rows, in Java.

    Since 1.3. Without it: see :func:`java`.
    """
    return rows._jdf


def rows_of_java(rows: Any, spark: SparkSession) -> DataFrame:
    """Rows that were made in Java.

    Since 1.3. Without it: see :func:`java`.
    """
    from pyspark.sql import DataFrame

    return DataFrame(rows, spark)


def plan_in_java(rows: DataFrame) -> Any:
    """How Spark makes some rows, the last step above all others; None over Spark Connect.

    Since 1.3. Without it: rows that were transformed can't be told from others unless a column of
    ours says so, a second watermark ends the query when it first moves, and a source folder that is
    gone is waited for silently.
    """
    found = getattr(rows, "_jdf", None)
    return None if found is None else found.queryExecution().analyzed()


def query_in_java(query: StreamingQuery) -> Any:
    """The same streaming query, in Java.

    Since 2.0. Without it: a query could not say by itself what to do about what ended it.
    """
    return query._jsq


# The Java that this process starts.


def await_reports(spark: SparkSession, millis: int = 2_000) -> None:
    """Wait for what Spark, in a thread of its own, has to say of micro-batches that are done.

    Since 4.0. Without it, and over Spark Connect: what a listener hears last may be missing.
    """
    context: Any = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty(millis)


def new_context(conf: SparkConf, output: BinaryIO | None = None) -> SparkContext:
    """A new Spark context; with ``output``, all that Java and its workers print goes there.

    Since 3.2, which passes the files on. Without it: Spark prints over what a program shows.

    Raises
    ------
    EnvironmentProblem
        With the client of Spark Connect alone, which starts no Spark.
    """
    try:
        from pyspark import SparkContext
        from pyspark.java_gateway import launch_gateway
    except ImportError as error:
        raise EnvironmentProblem(
            "this Python has the client of Spark Connect only, which can't start Spark",
            fix='pip install "pyspark>=4.1", or connect first: SparkSession.builder.remote("sc://…")',
        ) from error
    if output is None:
        return SparkContext(conf=conf)
    # The workers that Spark starts inherit these too: what they print is not log4j's.
    gateway = SparkContext._gateway or launch_gateway(  # type: ignore[no-untyped-call]
        conf, {"stdout": output, "stderr": output}
    )
    context = SparkContext(conf=conf, gateway=gateway)
    # Its server of accumulators prints a traceback if Java goes first, and does no more.
    if (server := getattr(context, "_accumulatorServer", None)) is not None:
        server.handle_error = lambda *_: None
    return context


def active_context() -> SparkContext | None:
    """The Spark context of this process, whoever started it.

    Since 1.0. Without it: what others started could not be told from what we did.
    """
    try:
        from pyspark import SparkContext
    except ImportError:
        return None
    return SparkContext._active_spark_context


def gateway() -> Any:
    """The way to the Java of this process; None if it has none.

    Since 1.0. Without it: Java could not be ended before the folder that it writes to is removed.
    """
    try:
        from pyspark import SparkContext
    except ImportError:
        return None
    return SparkContext._gateway


pickle_by_value(sys.modules[__name__])  # see topwater.spark.planned_processor
