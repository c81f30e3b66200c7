"""What a query on Spark must reach, and whether the measured rows do. Arithmetic only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from topwater_lab.bench.core_targets import Measured, Target

_RATIOS = (
    ("generic", 10, "native", 1.0),
    ("generic", 600, "native", 2.5),
    ("generic", 10, "naive", 6.0),
    ("feedback", 10, "native", 1.8),
    ("own-source", 10, "native", 2.3),
    ("own-source", 600, "native", 8.0),
)
_COUNTS = ((10_000, 1.5), (200_000, 3.0))
_FLAT = 1.5


def check_targets(
    rows: Iterable[Measured], state: dict[str, Any], counts: Iterable[Measured] = ()
) -> list[Target]:
    """All targets, over the rows that have numbers."""
    known = {(row["case"], row["window_over_step"]): row for row in rows}
    counted = {row["keys"]: row for row in counts}
    return [
        *(_count(counted, *each) for each in _COUNTS),
        *(_ratio(known, *each) for each in _RATIOS),
        *(_flat(known, case) for case in ("generic", "own-source")),
        _same_answers(known),
        _steady(state),
    ]


def _ratio(
    known: dict[tuple[str, int], Measured], case: str, at: int, peer: str, least: float
) -> Target:
    where = "panes of ten micro-batches" if case == "feedback" else f"window/step {at:,}"
    ratio = known.get((case, at), {}).get(f"ratio_to_{peer}")
    told = f"{case} >= {least:g} x {peer} at {where}"
    return _judged(told, ratio, ratio is not None and ratio >= least, where)


def _count(counted: dict[int, Measured], keys: int, least: float) -> Target:
    where, row = f"{keys:,} keys", counted.get(keys, {})
    ratio, told = row.get("ratio_to_native"), f"counting {keys:,} keys >= {least:g} x native"
    right = row.get("same_answers", True)
    return _judged(told, ratio, right and ratio is not None and ratio >= least, where)


def _flat(known: dict[tuple[str, int], Measured], case: str) -> Target:
    told = f"{case}: cost per event within {_FLAT:g} x from window/step 10 to 1,000"
    near, far = (known.get((case, at), {}).get("batch_ms_p50") for at in (10, 1_000))
    times = None if near is None or far is None else far / near
    return _judged(told, times, times is not None and times <= _FLAT, "window/step 1,000")


def _same_answers(known: dict[tuple[str, int], Measured]) -> Target:
    other = [f"{case} at {at:,}" for (case, at), row in known.items() if not row["same_answers"]]
    reached = not other if known else None
    return Target("same answers as native and naive", reached, len(known), missed=other)


def _steady(state: dict[str, Any]) -> Target:
    """Written bytes and memory, the last third over the first."""
    told = f"state within {_FLAT:g} x over {state['batches']} micro-batches"
    growth = max(
        state[f"{what}_bytes_last"] / max(1.0, state[f"{what}_bytes_first"])
        for what in ("written", "memory")
    )
    return _judged(told, growth, growth <= _FLAT, "the last third")


def _judged(told: str, value: float | None, reached: bool, at: str) -> Target:
    if value is None:
        return Target(told, None, 0)
    missed = [] if reached else [f"{at}: {value:.3g}"]
    return Target(told, reached, 1, value, at, missed)
