"""What many keys and many groups cost, next to few: in this process, and on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from topwater_lab.bench.core_targets import Measured, Target
from topwater_lab.bench.harness import ticking
from topwater_lab.bench.scale_local import LocalPoint, measured

_FETCHED = 20_000
_NS_PER_KEY = {False: 250.0, True: 500.0}
_SMALL_MS = 10.0
_STATE_BYTES = 40_000_000
_WRITTEN = 2.0
_FLAT = 1.5
_LARGE = 500_000


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure.

    Attributes
    ----------
    keys, text_keys
        How many keys a window has, as whole numbers and as text.
    groups
        How many groups are remembered, of which twenty have events.
    windows
        How many are closed at each point.
    """

    keys: tuple[int, ...]
    text_keys: tuple[int, ...]
    groups: tuple[int, ...]
    windows: int = 5

    def points(self) -> list[LocalPoint]:
        """All points, the small ones first."""
        return [
            *(self._point(keys) for keys in self.keys),
            *(self._point(keys, text=True) for keys in self.text_keys),
            *(LocalPoint(0, groups=each, windows=self.windows) for each in self.groups),
        ]

    def _point(self, keys: int, *, text: bool = False) -> LocalPoint:
        return LocalPoint(keys, text, fetched=min(_FETCHED, keys // 10), windows=self.windows)


FULL = Effort((1_000, 10_000, 100_000, 680_000, 1_000_000), (1_000, 680_000), (20, 100, 10_000))
QUICK = Effort((1_000, 10_000, 200_000), (200_000,), (20, 1_000), windows=3)


def bench_scale(effort: Effort, seed: int = 7, *, quiet: bool = False) -> dict[str, Any]:
    """Measure all points.

    Parameters
    ----------
    effort
        How much to measure.
    seed
        Of the streams.
    quiet
        Whether to show no progress.
    """
    points = effort.points()
    rows: list[Measured] = []
    with ticking(len(points), quiet=quiet) as ticker:
        for point, row in zip(points, measured(points, seed), strict=True):
            ticker.step(f"{point.keys:,} keys, {point.groups:,} groups")
            rows.append(row)
    rows = [*_with_ratios(rows)]
    targets = [asdict(target) for target in check_targets(rows)]
    return {"bench": "scale", "seed": seed, "rows": rows, "targets": targets}


def _with_ratios(rows: list[Measured]) -> Iterator[Measured]:
    """Each with what its micro-batch costs, as a multiple of the smallest of its kind."""
    for row in rows:
        kind = (row["case"], row["text"], bool(row["groups"]))
        alike = [
            each for each in rows if (each["case"], each["text"], bool(each["groups"])) == kind
        ]
        small = min(alike, key=lambda each: (each["keys"], each["groups"]))
        yield row | {"ratio_to_small": row["batch_ms_p50"] / small["batch_ms_p50"]}


def check_targets(rows: list[Measured]) -> list[Target]:
    """What many keys and groups may cost, and whether they do."""
    large = [row for row in rows if row["keys"] >= _LARGE and not row["groups"]]
    small = [row for row in rows if row["keys"] == 1_000 and not row["groups"]]
    grouped = [row for row in rows if row["groups"] >= 1_000]
    return [
        *(
            _judged(
                f"closing <= {most:g} ns a key, {'text' if text else 'whole numbers'}",
                [(row["close_ns_per_key"], _where(row)) for row in large if row["text"] == text],
                most,
            )
            for text, most in _NS_PER_KEY.items()
        ),
        _judged(
            f"closing <= {_SMALL_MS:g} ms at 1,000 keys",
            [(row["close_ms"], _where(row)) for row in small],
            _SMALL_MS,
        ),
        _judged(
            f"state <= {_STATE_BYTES // 1_000_000} MB at 680,000 keys",
            [(row["state_bytes"], _where(row)) for row in large if row["keys"] == 680_000],
            _STATE_BYTES,
        ),
        _judged(
            f"written <= {_WRITTEN:g} x what came, {_LARGE:,} keys and more",
            [(row["written_bytes"] / row["came_bytes"], _where(row)) for row in large],
            _WRITTEN,
        ),
        _judged(
            f"groups without events: <= {_FLAT:g} x the same with twenty groups",
            [(row["ratio_to_small"], _where(row)) for row in grouped],
            _FLAT,
        ),
        _judged(
            "the same answers after a restart",
            [(float(not row["same_after_restart"]), _where(row)) for row in rows],
            0.0,
        ),
    ]


def _judged(told: str, values: list[tuple[float, str]], most: float) -> Target:
    if not values:
        return Target(told, None, 0)
    worst, at = max(values)
    missed = [f"{where}: {value:.3g}" for value, where in values if value > most]
    return Target(told, not missed, len(values), worst, at, missed)


def _where(row: Measured) -> str:
    kind = "text keys" if row["text"] else "keys"
    return f"{row['groups']:,} groups" if row["groups"] else f"{row['keys']:,} {kind}"
