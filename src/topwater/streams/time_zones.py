"""What a time without a zone means: the local time of a zone, as Spark's session has it."""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from topwater.errors import QueryError

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")
_OF_UTC = ("UTC", "GMT", "UT", "Z", "Etc/UTC")


def zone_of(name: str) -> tzinfo:
    """A zone by its name, as Spark writes it.

    Raises
    ------
    QueryError
        If there is no such zone here.

    Examples
    --------
    >>> zone_of("GMT+2"), zone_of("UTC")
    (datetime.timezone(datetime.timedelta(seconds=7200)), datetime.timezone.utc)
    """
    if name in _OF_UTC:
        return UTC
    if found := _OFFSET.fullmatch(name):
        sign, hours, minutes = found.groups()
        ahead = timedelta(hours=int(hours), minutes=int(minutes or 0))
        return timezone(ahead if sign == "+" else -ahead)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise QueryError(
            f"the time zone {name!r} is not known here",
            field="spark.sql.session.timeZone",
            fix="name it as the IANA database does: Europe/Rome",
        ) from error


def is_local(kind: pa.DataType) -> bool:
    """Whether values of a type are times without a zone, or days."""
    return pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None)


def has_local_times(file: pq.ParquetFile, name: str | None) -> bool:
    """Whether the times in a column of a file have no zone.

    Arrow says so of those that Spark wrote as ``INT96``, too, which are instants.
    """
    at = -1 if name is None else file.schema_arrow.get_field_index(name)
    if at < 0 or not is_local(file.schema_arrow.field(at).type):
        return False
    columns = (file.schema.column(number) for number in range(len(file.schema)))
    return all(each.physical_type != "INT96" for each in columns if each.path == name)


def instants(column: pa.ChunkedArray, zone: str) -> pa.ChunkedArray:
    """Local times of a zone, or the midnights of its days, as instants.

    As in Java, and so in Spark: where clocks are put back, a time that is there twice is the first
    of the two; where they are put forward, one that is skipped is as much later.
    """
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    unit = column.type.unit
    told = column.cast(pa.int64())
    found = zone_of(zone)
    if isinstance(found, timezone):
        ahead = pa.scalar(found.utcoffset(None), pa.duration(unit)).cast(pa.int64())
    else:
        near = pc.assume_timezone(column, zone, ambiguous="earliest", nonexistent="earliest")
        ahead = pc.subtract(pc.local_timestamp(near).cast(pa.int64()), near.cast(pa.int64()))
    return pc.subtract(told, ahead).cast(pa.timestamp(unit, "UTC"))
