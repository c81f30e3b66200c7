"""Times without a zone are instants by Java's rules, which are Spark's."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from topwater.errors import QueryError
from topwater.streams.time_zones import has_local_times, instants, is_local, zone_of

if TYPE_CHECKING:
    from pathlib import Path

LOCAL = pa.timestamp("us")


def at(text: str, zone: str) -> str:
    told = pa.chunked_array([pa.array([dt.datetime.fromisoformat(text)], LOCAL)])
    [found] = instants(told, zone).to_pylist()
    return str(found.astimezone(dt.UTC).isoformat())[:19]


@pytest.mark.parametrize(
    ("told", "zone", "instant"),
    [
        ("2026-01-15T12:00:00", "Europe/Rome", "2026-01-15T11:00:00"),
        ("2026-07-15T12:00:00", "Europe/Rome", "2026-07-15T10:00:00"),
        ("2026-10-25T02:30:00", "Europe/Rome", "2026-10-25T00:30:00"),  # there twice: the first
        ("2026-03-29T02:30:00", "Europe/Rome", "2026-03-29T01:30:00"),  # skipped: as much later
        ("2026-03-29T02:00:00", "Europe/Rome", "2026-03-29T01:00:00"),
        ("2026-01-15T12:00:00", "UTC", "2026-01-15T12:00:00"),
        ("2026-01-15T12:00:00", "+02:30", "2026-01-15T09:30:00"),
        ("2026-01-15T12:00:00", "GMT-5", "2026-01-15T17:00:00"),
    ],
)
def test_a_local_time_is_an_instant(told: str, zone: str, instant: str) -> None:
    assert at(told, zone) == instant
    # Python's rule for the first of two, and for what is skipped, is the same.
    moment = dt.datetime.fromisoformat(told).replace(tzinfo=zone_of(zone))
    assert moment.astimezone(dt.UTC).isoformat()[:19] == instant


def test_every_half_hour_of_a_year_is_as_in_python() -> None:
    start = dt.datetime.fromisoformat("2026-01-01")
    for zone in ("Australia/Lord_Howe", "America/New_York"):
        local = [start + dt.timedelta(minutes=30 * number) for number in range(2 * 24 * 365)]
        found = instants(pa.chunked_array([pa.array(local, pa.timestamp("ms"))]), zone)
        right = [int(each.replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000) for each in local]
        assert np.array_equal(found.cast(pa.int64()).to_numpy(), right)


def test_days_begin_at_their_own_midnight() -> None:
    days = pa.chunked_array([pa.array([dt.date.fromisoformat("2026-07-01"), None], pa.date32())])
    first, none = instants(days, "Europe/Rome").to_pylist()
    assert first.astimezone(dt.UTC).isoformat() == "2026-06-30T22:00:00+00:00"
    assert none is None


def test_a_zone_that_is_not_known_is_named() -> None:
    with pytest.raises(QueryError, match="Europe/Rmoe") as caught:
        zone_of("Europe/Rmoe")
    assert caught.value.field == "spark.sql.session.timeZone"


def test_which_types_have_no_zone() -> None:
    assert is_local(pa.timestamp("ns"))
    assert is_local(pa.date32())
    assert not any(map(is_local, (pa.timestamp("us", "UTC"), pa.int64(), pa.string())))


@pytest.mark.parametrize("old", [False, True])
def test_the_old_instants_of_spark_have_a_zone(tmp_path: Path, old: bool) -> None:
    """Spark's INT96 are instants in UTC, and Arrow shows them without a zone."""
    table = pa.table({"at": pa.array([1], LOCAL), "n": [1]})
    pq.write_table(table, tmp_path / "a.parquet", use_deprecated_int96_timestamps=old)
    with pq.ParquetFile(tmp_path / "a.parquet") as file:
        assert file.schema_arrow.field("at").type.tz is None
        assert has_local_times(file, "at") is not old
        assert not has_local_times(file, "n")
        assert not has_local_times(file, "absent")
        assert not has_local_times(file, None)
