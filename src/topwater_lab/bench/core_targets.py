"""What `panes` must reach, and whether the measured rows do. Arithmetic only, no measuring."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Measured: TypeAlias = dict[str, Any]
"""A row of the benchmark, as it is in JSON."""

_MOST_CANDIDATES = 3.5


@dataclass(frozen=True, slots=True)
class Target:
    """One target: at how many points it applies, where it is worst, and where it is missed.

    Attributes
    ----------
    reached
        Whether it holds at every point where it can; ``None`` if no point tells.
    worst, at
        The value nearest to the limit, or furthest beyond it, and where.
    missed, impossible
        The points where it does not hold, and those where nothing could make it hold.
    """

    target: str
    reached: bool | None
    points: int
    worst: float | None = None
    at: str | None = None
    missed: list[str] = field(default_factory=list)
    impossible: list[str] = field(default_factory=list)


def check_targets(rows: Iterable[Measured]) -> list[Target]:
    """All targets, over the rows that have numbers."""
    by_list: dict[str, dict[tuple[int, int, int], Measured]] = defaultdict(dict)
    for row in rows:
        if row["skipped"] is None:
            by_list[row["list"]][row["window"], row["step"], row["k"]] = row
    panes = list(by_list["panes"].values())
    return [
        *(
            _speed(panes, least, per_k)
            for least, per_k in ((0.3, 10_000), (0.15, 1_000), (0.06, 100))
        ),
        _speed_at(panes),
        _flat(panes, "CPU", lambda row: float(row["cpu_ns_per_object"])),
        _flat(panes, "passes of max", lambda row: 1 / float(row["ratio_to_max"])),
        _candidates(panes, "mean"),
        _candidates(panes, "peak"),
        _less_cpu(panes, by_list["sma"]),
        *(_ahead(panes, by_list[name], name) for name in ("duckdb", "polars")),
        *(_same_answers(by_list[name], name) for name in ("duckdb", "polars")),
    ]


def where(row: Measured) -> str:
    """A point in words.

    Examples
    --------
    >>> where({"window": 10_000, "step": 1_000, "k": 10})
    'window 10,000 step 1,000 k 10'
    """
    return f"window {row['window']:,} step {row['step']:,} k {row['k']:,}"


def _judge(
    target: str,
    values: list[tuple[float, str]],
    holds: Callable[[float], bool],
    *,
    larger_is_worse: bool,
    impossible: Iterable[str] = (),
) -> Target:
    if not values:
        return Target(target, None, 0, impossible=list(impossible))
    worst, at = (max if larger_is_worse else min)(values)
    missed = [f"{point}: {value:.3g}" for value, point in values if not holds(value)]
    return Target(target, not missed, len(values), worst, at, missed, list(impossible))


def _speed(panes: list[Measured], least: float, per_k: int) -> Target:
    chosen = [row for row in panes if row["step"] >= per_k * row["k"]]
    return _judge(
        f"ratio to max >= {least:g} where step/k >= {per_k:,}",
        [(row["ratio_to_max"], where(row)) for row in chosen],
        lambda ratio: ratio >= least,
        larger_is_worse=False,
    )


def _speed_at(panes: list[Measured]) -> Target:
    return _judge(
        "ratio to max >= 0.1 at step 1,000, k 10",
        [(r["ratio_to_max"], where(r)) for r in panes if (r["step"], r["k"]) == (1_000, 10)],
        lambda ratio: ratio >= 0.1,
        larger_is_worse=False,
    )


def _flat(panes: list[Measured], unit: str, cost: Callable[[Measured], float]) -> Target:
    """The same step and k over all windows: the dearest over the cheapest.

    In CPU time, and in units of the maximum's pass next to each measurement, as the machine's
    speed may change between them.
    """
    groups: dict[tuple[int, int], list[Measured]] = defaultdict(list)
    for row in panes:
        groups[row["step"], row["k"]].append(row)
    values = []
    for (step, k), group in groups.items():
        costs = [cost(row) for row in group]
        sizes = [row["window"] for row in group]
        if len(group) > 1:
            point = f"step {step:,} k {k:,}, windows {min(sizes):,} to {max(sizes):,}"
            values.append((max(costs) / min(costs), point))
    return _judge(
        f"{unit} per object within 1.5x over all windows of the same step and k",
        values,
        lambda times: times <= 1.5,
        larger_is_worse=True,
    )


def _candidates(panes: list[Measured], which: str) -> Target:
    """Where the smallest set that any exact list can keep is larger, no list can reach it."""
    column = {"mean": "mean_candidates", "peak": "candidates"}[which]
    values, impossible = [], []
    for row in panes:
        minimum = row["expected_candidates"] / row["k"]
        if minimum <= _MOST_CANDIDATES:
            values.append((row[column] / row["k"], where(row)))
        else:
            impossible.append(f"{where(row)}: the minimum is {minimum:.3g} k on average")
    return _judge(
        f"candidates ({which}) <= {_MOST_CANDIDATES} k",
        values,
        lambda times: times <= _MOST_CANDIDATES,
        larger_is_worse=True,
        impossible=impossible,
    )


def _less_cpu(panes: list[Measured], sma: dict[tuple[int, int, int], Measured]) -> Target:
    values = [
        (row["cpu_ns_per_object"] / sma[point]["cpu_ns_per_object"], where(row))
        for row in panes
        if (point := (row["window"], row["step"], row["k"])) in sma
    ]
    return _judge(
        "CPU per object <= 0.15 of sma's",
        values,
        lambda part: part <= 0.15,
        larger_is_worse=True,
    )


def _ahead(panes: list[Measured], rival: dict[tuple[int, int, int], Measured], name: str) -> Target:
    """By the smaller of two speed-ups.

    One takes the engine's CPU time as spread evenly over its threads, which flatters it; the
    other is on the wall.
    """
    values = []
    for row in panes:
        other = rival.get((row["window"], row["step"], row["k"]))
        if other is not None:
            columns = ("objects_per_s", "wall_objects_per_s")
            values.append((min(row[c] / other[c] for c in columns), where(row)))
    return _judge(f"faster than {name}", values, lambda times: times > 1, larger_is_worse=False)


def _same_answers(rival: dict[tuple[int, int, int], Measured], name: str) -> Target:
    return _judge(
        f"same answers as {name}",
        [(float(row["same_answers"]), where(row)) for row in rival.values()],
        bool,
        larger_is_worse=False,
    )
