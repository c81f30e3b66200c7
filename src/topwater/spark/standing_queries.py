"""Standing queries as rows of a DataFrame, and changes of them as rows of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import IntegralType, LongType, StringType

from topwater.errors import QueryError
from topwater.validation import shown, unknown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

    from topwater.model import Key
    from topwater.standing import Standing, StandingQuery

FIELDS = ("name", "k", "window", "score")
OPERATIONS = ("register", "change", "cancel")
_SCHEMA = "name {name}, k int, window string, score string"
_FIX = "make the rows with standing_queries(), or have the columns name, k, window and score"


def standing_queries(spark: SparkSession, queries: Iterable[StandingQuery]) -> DataFrame:
    """Queries as a DataFrame, one row each, as :func:`topwater.spark.standing` takes them.

    Parameters
    ----------
    spark
        A session.
    queries
        Their names are all texts, or all whole numbers.

    Returns
    -------
    DataFrame
        ``name``; ``k``; ``window``, a number of objects (``"1000"``) or a duration
        (``"600000 ms"``); and ``score``, as JSON. In rows made by other means the score may also
        be a formula, as ``"price / stars"``.
    """
    rows = [_row(query) for query in queries]
    kinds = {type(row[0]) for row in rows}
    if len(kinds) > 1:
        raise QueryError(
            "some names are texts and some are numbers",
            field="queries.name",
            fix="use one of the two for all",
        )
    name = "bigint" if kinds == {int} else "string"
    return spark.createDataFrame(rows, _SCHEMA.format(name=name))


def _row(query: StandingQuery) -> tuple[Key, int, str, str]:
    told = query.to_dict()
    return told["name"], told["k"], str(told["window"]), json.dumps(told["score"])


def collected(queries: DataFrame | Iterable[StandingQuery]) -> list[StandingQuery]:
    """The queries that rows stand for. Raises for the first one that can't be used."""
    if isinstance(queries, Iterable):
        return list(queries)
    if queries.isStreaming:
        raise QueryError(
            "the queries to begin with are a table, and this is a stream",
            field="queries",
            fix="give what changes later as changes=",
        )
    check_columns(queries.schema, FIELDS, "queries")
    return [query_of(row.asDict()) for row in queries.select(*FIELDS).collect()]


def query_of(row: Mapping[str, Any]) -> StandingQuery:
    """The query that a row stands for.

    Examples
    --------
    >>> query_of({"name": "near", "k": 3, "window": "10 min", "score": "abs(x - 2)"}).width
    600000
    """
    name = row.get("name")
    absent = [field for field in FIELDS if row.get(field) is None]
    if absent:
        raise QueryError(
            f"the query {name!r} has none", field=f"queries.{absent[0]}", fix="give each query one"
        )
    from topwater.standing import StandingQuery  # compiled loops: only for those who use them

    try:
        return StandingQuery(row["name"], row["k"], _window(row["window"]), _score(row["score"]))
    except QueryError as error:
        raise QueryError(
            f"of the query {name!r}: {error.problem}", field="queries", fix=error.fix
        ) from None


def _window(given: int | str) -> int | str:
    return int(given) if str(given).strip().isdecimal() else given


def _score(given: str) -> Any:
    """A formula, or what a score's ``to_dict`` gave, as JSON."""
    if not given.lstrip().startswith("{"):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError) as error:
        raise QueryError(
            f"{shown(given)} is not JSON: {error}",
            field="score",
            fix="write a formula, or json.dumps(score.to_dict())",
        ) from None


def apply(standing: Standing, change: Mapping[str, Any]) -> None:
    """Do what a row of the feed asks for. Raises QueryError if that can't be done."""
    operation = change.get("op")
    if operation == "cancel":
        standing.cancel(change["name"])
    elif operation == "register":
        standing.register(query_of(change))
    elif operation == "change":
        standing.change(query_of(change))
    else:
        raise unknown(operation, OPERATIONS, "op")


def check_columns(schema: StructType, names: Iterable[str], field: str) -> None:
    """Raise unless a table of queries, or a feed of changes, has these columns."""
    missing = [name for name in names if name not in schema.names]
    if missing:
        raise QueryError(
            f"there is no column {missing[0]!r}; there are: {', '.join(schema.names)}",
            field=field,
            fix=_FIX,
        )


def name_type(queries: Iterable[StandingQuery], changes: StructType | None) -> str:
    """The type of the names. Raises unless all of them have the same."""
    kinds = {"bigint" if isinstance(query.name, int) else "string" for query in queries}
    if changes is not None:
        kinds.add(_kind(changes["name"].dataType))
    if len(kinds) > 1:
        raise QueryError(
            "some names are texts and some are numbers",
            field="queries.name" if changes is None else "changes.name",
            fix="use one of the two for all",
        )
    return kinds.pop() if kinds else "string"


def _kind(kind: DataType) -> str:
    if isinstance(kind, IntegralType | LongType):
        return "bigint"
    if isinstance(kind, StringType):
        return "string"
    raise QueryError(
        f"names can't be of type {kind.simpleString()}",
        field="changes.name",
        fix="cast them to text, or to whole numbers",
    )
