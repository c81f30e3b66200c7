"""A stream made up on the spot: bids on lots, the same for the same settings, anywhere.

Row i is a pure function of (settings, i). So any cut of the stream into batches, tasks or
restarts gives the same rows, and both hosts and all checks can use one stream without storing it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from topwater.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from topwater.model import Millis

SCHEMA = pa.schema(
    [
        ("time", pa.timestamp("us", tz="UTC")),
        ("key", pa.string()),
        ("value", pa.float64()),
    ]
)
"""What every batch looks like: when, on which lot, how much."""

_Bits = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Bids:
    """Bids on lots: a few lots draw most bids, and a few bids are far above the rest.

    Parameters
    ----------
    rows_per_second
        Bids per second of event time.
    seconds
        How much event time the whole stream covers.
    seed
        Another seed, another stream.
    lots
        How many lots there are.
    disorder_ms
        By how much a bid may be older than one that came before it.
    origin_ms
        Event time just before the first bid, which comes in the millisecond after it.

    Examples
    --------
    >>> bids = Bids(rows_per_second=2, seconds=60)
    >>> len(bids)
    120
    >>> bids.batch(40, 60).equals(bids.batch(0, 120).slice(40, 20))
    True
    """

    rows_per_second: int = 1_000
    seconds: int = 600
    seed: int = 7
    lots: int = 10_000
    disorder_ms: Millis = 0
    origin_ms: Millis = 1_767_225_600_000  # 2026-01-01T00:00:00Z

    def __post_init__(self) -> None:
        for field in fields(self):
            least = 0 if field.name in ("seed", "disorder_ms", "origin_ms") else 1
            value = getattr(self, field.name)
            if not isinstance(value, int) or value < least:
                raise QueryError(
                    f"must be a whole number of at least {least}, not {value!r}",
                    field=field.name,
                    fix=f"give {least} or more",
                )

    def __len__(self) -> int:
        return self.rows_per_second * self.seconds

    def batch(self, start: int, end: int) -> pa.RecordBatch:
        """Rows ``start`` to ``end``, the latter excluded.  O(end - start)."""
        rows = np.arange(start, min(end, len(self)), dtype=np.uint64)
        micros = pa.array(self._time(rows) * 1_000, pa.int64()).view(SCHEMA.field("time").type)
        columns = [
            micros,
            _names(self.lots).take(pa.array(self._lot(rows))),
            pa.array(self._value(rows)),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)

    def batches(self, size: int = 65_536) -> Iterator[pa.RecordBatch]:
        """The whole stream, in batches of ``size`` rows."""
        return (self.batch(start, start + size) for start in range(0, len(self), size))

    def _time(self, rows: _Bits) -> npt.NDArray[np.int64]:
        """Arrivals are evenly spaced; each happened up to ``disorder_ms`` before it arrived."""
        arrival = self.origin_ms + 1 + rows.astype(np.int64) * 1_000 // self.rows_per_second
        if not self.disorder_ms:
            return arrival
        delay = (self._uniform(rows, 3) * (self.disorder_ms + 1)).astype(np.int64)
        return cast("npt.NDArray[np.int64]", np.maximum(arrival - delay, self.origin_ms + 1))

    def _lot(self, rows: _Bits) -> npt.NDArray[np.int64]:
        """The third power crowds the low numbers; the stride spreads the popular lots."""
        popularity = (self._uniform(rows, 1) ** 3 * self.lots).astype(np.int64)
        return popularity * 7_919 % self.lots

    def _value(self, rows: _Bits) -> npt.NDArray[np.float64]:
        """Pareto with exponent 2, from 10 up, in whole cents: ties do happen."""
        return cast(
            "npt.NDArray[np.float64]", np.round(10 / np.sqrt(1 - self._uniform(rows, 2)), 2)
        )

    def _uniform(self, rows: _Bits, draw: int) -> npt.NDArray[np.float64]:
        """One number in [0, 1) per row: SplitMix64, a generator with random access.

        Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014.
        """
        key = np.uint64((self.seed * 4 + draw) * 0xD1342543DE82EF95 % 2**64)
        bits = (rows + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + key
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(31)
        return cast("npt.NDArray[np.float64]", (bits >> np.uint64(11)) * 2.0**-53)


@functools.lru_cache(maxsize=4)
def _names(lots: int) -> pa.StringArray:
    return pa.array([f"lot-{lot:04}" for lot in range(lots)])


def bids_from(options: dict[str, Any]) -> Bids:
    """Bids with settings given as text, as a command line or Spark hands them over.

    Examples
    --------
    >>> bids_from({"rows_per_second": "5", "seconds": "60"}).rows_per_second
    5
    """
    known = {field.name for field in fields(Bids)}
    for name, value in options.items():
        if name not in known:
            raise QueryError("unknown", field=name, fix=f"use: {', '.join(sorted(known))}")
        if not str(value).isdecimal():
            raise QueryError(f"{value!r} is not a whole number", field=name, fix="give digits only")
    return Bids(**{name: int(value) for name, value in options.items()})
