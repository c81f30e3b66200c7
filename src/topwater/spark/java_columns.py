"""Columns as our classes in Java take them; None where only Python reads a type as Python does."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DecimalType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampType,
)

from topwater.spark.score_columns import EXACT, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType

_INTEGERS = (ByteType, ShortType, IntegerType, LongType)
_WHOLE_DIGITS = 15  # as many fit into a double


def ticks(schema: StructType, name: str) -> tuple[int, Column] | None:
    """How many of its units make a millisecond, and the time in them."""
    kind = schema[name].dataType
    if isinstance(kind, TimestampType):
        return 1_000, F.unix_micros(quoted(name))
    return (1, quoted(name).cast("bigint")) if isinstance(kind, _INTEGERS) else None


def key(schema: StructType, name: str) -> tuple[bool, Column] | None:
    """Whether keys are text, and the keys; null for bytes that are not text, as Python has it."""
    kind = schema[name].dataType
    if isinstance(kind, StringType):
        return True, F.try_validate_utf8(quoted(name)).cast("binary")
    return (False, quoted(name).cast("bigint")) if isinstance(kind, _INTEGERS) else None


def beats(schema: StructType, name: str | None) -> list[Column] | None:
    """The column of heartbeats, if there is one; None if it is of another type."""
    if name is None:
        return []
    return [quoted(name)] if isinstance(schema[name].dataType, BooleanType) else None


def number(schema: StructType, name: str) -> Column | None:
    """A column of numbers as doubles."""
    kind = schema[name].dataType
    if isinstance(kind, DecimalType):
        return _decimal(quoted(name), kind)
    return quoted(name).cast("double") if isinstance(kind, EXACT) else None


def _decimal(column: Column, kind: DecimalType) -> Column | None:
    """As Arrow does it, which is not always the nearest double: 0.07 becomes 7 * 0.01."""
    if kind.precision > _WHOLE_DIGITS:
        return None
    digits = (column * F.lit(Decimal(10**kind.scale))).cast("bigint").cast("double")
    return digits * F.lit(float(f"1e-{kind.scale}"))
