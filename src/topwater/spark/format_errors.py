"""What Spark says of a format or a table that it can't use, and what to do about it."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, PySparkException, StreamingQueryException

from topwater.errors import EnvironmentProblem, QueryError
from topwater.spark.compat import java_errors
from topwater.streams.spark_formats import how_to_add

if TYPE_CHECKING:
    from collections.abc import Iterator

_CODE = re.compile(r"^\[([A-Z][A-Z_.]+)\]\s*")
_STATE = re.compile(r"SQLSTATE: \w+.*", re.DOTALL)
_LINKAGE = re.compile(r"java\.lang\.(NoSuch\w+Error|NoClassDefFoundError|AbstractMethodError)\S*")
_NO_FORMAT = ("DATA_SOURCE_NOT_FOUND", "Failed to find the data source", "Failed to find data")
_NO_TABLE = ("TABLE_OR_VIEW_NOT_FOUND", "NoSuchTableException", "SCHEMA_NOT_FOUND")
_BARE_DELTA = "DELTA_CONFIGURE_SPARK_SESSION"
_NO_STREAM = re.compile(r"does not support streamed (reading|writing)")


@contextlib.contextmanager
def format_errors(form: str, table: str = "") -> Iterator[None]:
    """Errors of Spark's, of a format or a table, as ours.

    Raises
    ------
    EnvironmentProblem
        If the session lacks the format, or has it for another version of Spark.
    QueryError
        For whatever else Spark does not accept.
    """
    try:
        yield
    except StreamingQueryException:
        raise  # of a query that ran
    except java_errors(PySparkException) as error:
        known = _error_of(error, form, table)
        if known is None:
            raise
        raise known from error


def _error_of(error: Exception, form: str, table: str) -> EnvironmentProblem | QueryError | None:
    said = str(error)
    named = form or "delta"
    if any(words in said for words in _NO_FORMAT):
        return EnvironmentProblem(
            f"the Spark session has no format {form or 'of this table'}", fix=how_to_add(named)
        )
    if _BARE_DELTA in said:
        return EnvironmentProblem(
            "the Spark session has Delta's package, and not its settings", fix=how_to_add("delta")
        )
    if broken := _LINKAGE.search(said):
        return EnvironmentProblem(
            f"the package of {form or table} is of another version of Spark ({broken[1]})",
            fix=f"take the one for this version: {how_to_add(named)}",
        )
    field = "table" if table else "format"
    if streamed := _NO_STREAM.search(said):
        kind = "write" if streamed[1] == "writing" else "read"
        return QueryError(
            f"{form or table} can't be {'written' if kind == 'write' else 'read'} as a stream",
            field=field,
            fix='write kind = "python" and a function, which gets each micro-batch'
            if kind == "write"
            else "use another format, or a table of one",
        )
    if not isinstance(error, AnalysisException):
        return None
    if table and any(words in said for words in _NO_TABLE):
        return QueryError(
            f"Spark knows no table {table}",
            field="table",
            fix="check the name; catalogs are named in [spark] settings",
        )
    return QueryError(
        f"Spark does not accept {form or table}: {_first_line(said)}",
        field=field,
        fix="check the path and the options",
    )


def _first_line(said: str) -> str:
    """What is said before the plan, without codes."""
    line = next((each for each in said.splitlines() if each.strip()), "")
    return _STATE.sub("", _CODE.sub("", line)).strip()[:300]
