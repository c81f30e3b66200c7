"""Standing queries of every kind, events for them, and what they tell as rows."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from topwater.scoring import Euclidean, Formula, WeightedDistance, WeightedSum
from topwater.standing import Results, StandingQuery

if TYPE_CHECKING:
    from collections.abc import Sequence


START = 1_700_000_000_000


Told = tuple[Any, ...]


def random_queries(rng: np.random.Generator, size: int) -> list[StandingQuery]:
    """Of every kind: four scores, windows by count and by time."""
    found = []
    for number in range(size):
        point = {"x": float(rng.random()), "y": float(rng.random())}
        weights = {"x": float(rng.random()) + 0.1, "y": 0.5}
        score = [
            Euclidean(point),
            WeightedDistance(point, weights),
            WeightedSum(weights),
            Formula(f"x * {point['x']:.3f} - y / (x + 1)", order="smallest"),
        ][number % 4]
        n = int(rng.integers(5, 80))
        window: int | str = n if number % 8 < 4 else f"{n * 20} ms"
        found.append(StandingQuery(f"q{number}", int(rng.integers(1, 6)), window, score))
    return found


def events_of(rng: np.random.Generator, size: int) -> pa.Table:
    times = START + np.cumsum(rng.integers(1, 40, size))
    # Steps, so that scores tie and queries have to look at who is younger.
    x, y = (rng.random((2, size)) * 50).round() / 50
    who = [f"e{number}" for number in range(size)]
    at = pa.array(times * 1000, pa.timestamp("us", tz="UTC"))
    return pa.table({"at": at, "who": who, "x": x, "y": y})


def cut(rng: np.random.Generator, table: pa.Table, ends: Sequence[int]) -> list[pa.Table]:
    """Files that end there, shuffled inside: a micro-batch puts its events in order."""
    parts = [table.slice(a, b - a) for a, b in itertools.pairwise(ends)]
    return [part.take(rng.permutation(part.num_rows)) for part in parts]


def objects(table: pa.Table) -> dict[str, np.ndarray]:
    """What ``Standing.add`` takes."""
    times = table.column("at").cast(pa.int64()).to_numpy() // 1000
    keys = np.array(table.column("who").to_pylist(), object)
    return {
        "x": table.column("x").to_numpy(),
        "y": table.column("y").to_numpy(),
        "time": times,
        "key": keys,
    }


def rows_of(found: Results) -> list[Told]:
    names = ("query", "key", "score", "position", "time", "at")
    return list(zip(*(getattr(found, name).tolist() for name in names), strict=True))
