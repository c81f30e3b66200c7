"""What standing queries must reach, and whether the measured rows do. Arithmetic only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TypeAlias

from topwater_lab.bench.core_targets import Measured, Target

Group: TypeAlias = dict[tuple[str, int | None, bool | str], Measured]
"""The rows of one point by algorithm, buffer and index."""

APPROXIMATE = ("pa",)
"""Those that may err."""

_BEHIND = ("sasf", "snn", "cpm/w")
_FLAT = 1.1
_NOISE = 1.05


def check_targets(rows: Iterable[Measured], growth: Iterable[Measured]) -> list[Target]:
    """All targets, over the rows that have numbers.

    Algorithms are compared by their ratio to the pass of scores next to each, as the speed of a
    shared machine changes between them. Who is to be the fastest may be 5 % behind, for the noise.
    Rows with fewer queries than others of their point are not compared: what all queries share,
    such as a grid, weighs more there.
    """
    measured = [row for row in rows if row["skipped"] is None]
    most: dict[tuple[str, int, int], int] = defaultdict(int)
    for row in measured:
        where = (row["data"], row["d"], row["k"])
        most[where] = max(most[where], row["queries"])
    points: dict[tuple[str, int, int], Group] = defaultdict(dict)
    for row in measured:
        if row["queries"] == most[row["data"], row["d"], row["k"]]:
            where = (row["data"], row["d"], row["k"])
            points[where][row["algorithm"], row["buffer"], row["indexed"]] = row
    groups = list(points.values())
    buffers = sorted({b for group in groups for name, b, _ in group if name == "rapf" and b})
    grown = list(growth)
    return [
        *(
            _scores(groups, name, buffer, most, to)
            for to in ("scores", "numpy")
            for name, buffer, most in (("pa", None, 1.3), *(("rapf", b, 2.0) for b in buffers))
        ),
        *(_linear(grown, name) for name in ("pa", "rapf")),
        _ordered("pa is the fastest", groups, _pa, lambda name: name not in ("pa", "auto")),
        _ordered(
            "rapf is the fastest exact one, but for auto",
            groups,
            _rapf,
            lambda name: name not in (*APPROXIMATE, "rapf", "auto"),
        ),
        _ordered("auto is as fast as rapf", groups, _auto, lambda name: name == "rapf"),
        *(_behind(groups, name) for name in _BEHIND),
        _index_pays(groups, "pa", None),
        *(_index_pays(groups, "rapf", buffer) for buffer in buffers),
        _index_chosen(groups),
        _exact(measured),
    ]


def where(row: Measured) -> str:
    """A point in words.

    Examples
    --------
    >>> where({"data": "uniform", "d": 2, "k": 9})
    'uniform d 2 k 9'
    """
    return f"{row['data']} d {row['d']} k {row['k']}"


def _judge(target: str, values: list[tuple[float, str]], most: float) -> Target:
    if not values:
        return Target(target, None, 0)
    worst, at = max(values)
    missed = [f"{point}: {value:.3g}" for value, point in values if value > most]
    return Target(target, not missed, len(values), worst, at, missed)


def _scores(groups: list[Group], name: str, buffer: int | None, most: float, to: str) -> Target:
    """Without the index: the pass is the limit of those only."""
    found = [group[name, buffer, False] for group in groups if (name, buffer, False) in group]
    told = f"{name}{_with(buffer)} within {most:g} x the pass of scores"
    told += " in NumPy at k 9" if to == "numpy" else " at k 9"
    return _judge(
        told,
        [(row[f"ratio_to_{to}"], where(row)) for row in found if row["k"] == 9],
        most,
    )


def _with(buffer: int | None) -> str:
    return "" if buffer is None else f", buffer {buffer:,}"


def _linear(growth: list[Measured], name: str) -> Target:
    """CPU per query and object, over the least of any smaller number of queries."""
    values = []
    least = None
    for row in sorted(growth, key=lambda row: row["queries"]):
        if row["algorithm"] == name and row["skipped"] is None:
            if least is not None:
                values.append((row["ns_per_score"] / least, f"{row['queries']:,} queries"))
            least = min(least or row["ns_per_score"], row["ns_per_score"])
    told = f"{name}: time per query and object within {_FLAT:g} x that of fewer queries"
    return _judge(told, values, _FLAT)


def _least(group: Group, wanted: Callable[[str], bool]) -> Measured | None:
    found = [row for (name, _, _), row in group.items() if wanted(name)]
    return min(found, key=lambda row: row["ratio_to_scores"], default=None)


def _pa(group: Group) -> Measured | None:
    return _least(group, lambda name: name == "pa")


def _auto(group: Group) -> Measured | None:
    return _least(group, lambda name: name == "auto")


def _rapf(group: Group) -> Measured | None:
    return _least(group, lambda name: name == "rapf")


def _ordered(
    target: str,
    groups: list[Group],
    one: Callable[[Group], Measured | None],
    wanted: Callable[[str], bool],
) -> Target:
    """Its time over that of the fastest other, each with or without the index as is best."""
    values = []
    for group in groups:
        row, other = one(group), _least(group, wanted)
        if row is not None and other is not None:
            point = f"{where(row)}, {other['algorithm']}{_with(other['buffer'])}"
            point += " indexed" if other["indexed"] else ""
            values.append((row["ratio_to_scores"] / other["ratio_to_scores"], point))
    return _judge(target, values, _NOISE)


def _behind(groups: list[Group], name: str) -> Target:
    """The best rapf over the best of the other, from k 9 on."""
    values = []
    for group in groups:
        row, other = _rapf(group), _least(group, lambda found: found == name)
        if row is not None and other is not None and row["k"] >= 9:
            values.append((row["ratio_to_scores"] / other["ratio_to_scores"], where(row)))
    return _judge(f"{name} behind rapf from k 9 on", values, _NOISE)


def _index_pays(groups: list[Group], name: str, buffer: int | None) -> Target:
    values = []
    for group in groups:
        with_, without = (group.get((name, buffer, indexed)) for indexed in (True, False))
        if with_ is not None and without is not None and with_["data"] == "uniform":
            values.append((with_["ratio_to_scores"] / without["ratio_to_scores"], where(with_)))
    told = f"the index pays on uniform data for {name}{_with(buffer)}"
    return _judge(told, values, _NOISE)


def _index_chosen(groups: list[Group]) -> Target:
    """The time with the index left to choose, over the better of with and without it."""
    values = []
    for group in groups:
        for (name, buffer, indexed), row in group.items():
            others = [group.get((name, buffer, choice)) for choice in (True, False)]
            known = [other["ratio_to_scores"] for other in others if other is not None]
            if indexed == "auto" and len(known) == len(others):
                point = f"{where(row)} {name}{_with(buffer)}"
                values.append((row["ratio_to_scores"] / min(known), point))
    told = f"the index is used where it pays: within {_FLAT:g} x the better choice"
    return _judge(told, values, _FLAT)


def _exact(measured: list[Measured]) -> Target:
    rows = [row for row in measured if row["algorithm"] not in APPROXIMATE]
    other = [
        f"{where(row)} {row['algorithm']}{_with(row['buffer'])}" for row in rows if not row["exact"]
    ]
    return Target(
        "all exact ones report the same", not other if rows else None, len(rows), missed=other
    )
