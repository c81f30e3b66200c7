"""What one purse for several services must reach, and whether the measured rows do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from topwater_lab.bench.core_targets import Measured, Target

OURS = "worth"
RIVALS = ("fixed split", "TTL caches")
_SHARED = ("ranked key alone", "a copy for each key")
_APART = 5.0
"""Where costs or rates differ by so much or more, one purse must be ahead."""

_AHEAD, _AHEAD_SHARED = 0.05, 0.1
_NOISE = 0.005
_SAME_COST = 1.01


def check_targets(rows: Iterable[Measured]) -> list[Target]:
    """All targets, over the rows that there are."""
    cases: dict[str, dict[str, Measured]] = defaultdict(dict)
    for row in rows:
        cases[row["case"]][row["contender"]] = row
    found = [*cases.values()]
    apart = [case for case in found if case[OURS]["differs"] >= _APART]
    return [
        *(_ahead(found, rival, -_NOISE) for rival in RIVALS),
        *(_ahead(apart, rival, _AHEAD) for rival in RIVALS),
        *(_ahead(found, rival, _AHEAD_SHARED) for rival in _SHARED),
        _no_overspending(found),
        _same_cost(found),
    ]


def _ahead(cases: list[dict[str, Measured]], rival: str, least: float) -> Target:
    """By how much ours is ahead of a rival, at the least."""
    ahead = [
        (case[OURS]["precision"] - case[rival]["precision"], case[OURS]["case"])
        for case in cases
        if rival in case
    ]
    told = f"precision >= {least:+g} next to: {rival}"
    told += f", where something differs {_APART:g} times" if least == _AHEAD else ""
    missed = [f"{at}: {by:+.3f}" for by, at in ahead if by < least]
    return _judged(told, min(ahead, default=None), len(ahead), missed)


def _no_overspending(cases: list[dict[str, Measured]]) -> Target:
    over = [(case[OURS]["most_cost"] - case[OURS]["budget"], case[OURS]["case"]) for case in cases]
    missed = [f"{at}: {more:g} more" for more, at in over if more > 0]
    return _judged(
        "no window costs more than its budget", max(over, default=None), len(over), missed
    )


def _same_cost(cases: list[dict[str, Measured]]) -> Target:
    """No contender has more to spend."""
    ratios = [
        (row["cost"] / row["budget"], f"{row['case']}, {row['contender']}")
        for case in cases
        for row in case.values()
    ]
    missed = [f"{at}: {ratio:.3f}" for ratio, at in ratios if ratio > _SAME_COST]
    told = f"no contender spends more than {_SAME_COST:g} x the budget"
    return _judged(told, max(ratios, default=None), len(ratios), missed)


def _judged(told: str, worst: tuple[float, str] | None, points: int, missed: list[str]) -> Target:
    if worst is None:
        return Target(told, None, 0)
    return Target(told, not missed, points, *worst, missed)
