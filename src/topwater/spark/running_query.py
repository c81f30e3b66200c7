"""A running query: it says what to do about what ended it, and which folder it waits for."""

from __future__ import annotations

import contextlib
import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from topwater.errors import known_fix
from topwater.spark.compat import java_errors, plan_in_java, query_in_java
from topwater.spark.folders import is_there

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FOLDER = re.compile(r"FileSource\[([^*?{\[\]]+)\]")
"""How Spark names a source of files in a plan. A pattern is not a folder, so it can't be gone."""

_LOOK = 10.0  # seconds
_log = logging.getLogger("topwater")
T = TypeVar("T", bound=PySparkException)


class RunningQuery(StreamingQuery):
    """A streaming query as Spark has it, with a word where Spark has none.

    An error that ended it has a note on what to do, where that is known. Spark waits for ever, and
    silently, for files in a folder that was removed: here ``status`` says so, and
    ``awaitTermination`` logs it.

    Parameters
    ----------
    jsq
        The query, in Java.
    spark
        Its session.
    folders
        Where its files come from.
    """

    def __init__(self, jsq: Any, spark: SparkSession, folders: Sequence[str] = ()) -> None:
        super().__init__(jsq)
        self._spark = spark
        self._folders = tuple(folders)
        self._gone: set[str] = set()

    @staticmethod
    def of(query: StreamingQuery, answers: DataFrame) -> StreamingQuery:
        """The same query; one that is not in this process' Java stays as it is."""
        if type(query) is not StreamingQuery:
            return query
        return RunningQuery(query_in_java(query), answers.sparkSession, source_folders(answers))

    def awaitTermination(self, timeout: float | None = None) -> bool | None:  # noqa: N802
        """Wait until the query ends, or for some seconds: then whether it has."""
        until = None if timeout is None else time.monotonic() + timeout
        with noted():
            if not self._folders:
                return super().awaitTermination(timeout)  # type: ignore[arg-type]
            while True:
                left = _LOOK if until is None else until - time.monotonic()
                slept = max(min(left, _LOOK), 0.001)
                if super().awaitTermination(slept):  # type: ignore[arg-type]
                    return None if until is None else True
                if until is not None and time.monotonic() >= until:
                    return False
                self.report_missing()

    def processAllAvailable(self) -> None:  # noqa: N802
        """Wait until all that is there was processed."""
        with noted():
            super().processAllAvailable()

    def exception(self) -> StreamingQueryException | None:
        """What ended the query, if it was an error."""
        found = super().exception()
        return None if found is None else _with_note(found)

    @property
    def status(self) -> dict[str, Any]:
        """What the query is doing."""
        told, gone = super().status, self.missing_folders()
        return {**told, "message": f"Waiting for {gone[0]}, which is gone"} if gone else told

    def missing_folders(self) -> list[str]:
        """Those of the folders with files to come that are not there."""
        with contextlib.suppress(*java_errors()):
            return [each for each in self._folders if not is_there(self._spark, each)]
        return []  # Java is gone, and says so elsewhere

    def report_missing(self, say: Callable[[str], object] = _log.warning) -> None:
        """Say which folders went, and which came back, since the last call."""
        gone = set(self.missing_folders())
        for each in sorted(gone - self._gone):
            say(f"{each} is gone; the query waits until it is there again")
        for each in sorted(self._gone - gone):
            say(f"{each} is there again; new files in it are read")
        self._gone = gone


def source_folders(rows: DataFrame) -> list[str]:
    """The folders from which Spark's own source reads files for these rows."""
    leaves = (node.toString() for node in nodes_of(plan_of(rows)) if node.children().isEmpty())
    found = [_FOLDER.fullmatch(text.strip()) for text in leaves]
    return [*dict.fromkeys(each[1] for each in found if each is not None)]


def plan_of(rows: DataFrame) -> Any:
    """How Spark makes some rows: the last step, above all others; None over Spark Connect."""
    return plan_in_java(rows)


def nodes_of(plan: Any) -> Iterator[Any]:
    """The nodes of a plan, from the last step to the first; none of no plan."""
    todo = [] if plan is None else [plan]
    while todo:
        node = todo.pop()
        yield node
        children = node.children()
        todo += [children.apply(number) for number in reversed(range(children.size()))]


@contextlib.contextmanager
def noted() -> Iterator[None]:
    """Errors of Spark's get a note on what to do about them, where that is known."""
    try:
        yield
    except PySparkException as error:
        _with_note(error)
        raise


def _with_note(error: T) -> T:
    """The error, with what to do about it if that is known."""
    note = f"fix: {known_fix(str(error))}"
    if note != "fix: " and note not in getattr(error, "__notes__", ()):
        error.add_note(note)
    return error
