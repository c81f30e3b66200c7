"""What many keys and groups may cost, and whether the measured rows do. Arithmetic only."""

from __future__ import annotations

from collections.abc import Callable

from topwater_lab.bench.core_targets import Measured, Target

_NS_PER_KEY = {False: 250.0, True: 500.0}
_SMALL_MS = 10.0
_STATE_BYTES = 40_000_000
_WRITTEN = 2.0
_BEYOND = 8 * 2**20
_FLAT = 1.5
_LARGE = 500_000
_RESTART_S = 10.0
_GROWTH = 1.1


def check_targets(rows: list[Measured]) -> list[Target]:
    """All targets, over the rows that have numbers."""
    local = [row for row in rows if row["case"] == "local"]
    spark = [row for row in rows if row["case"] == "spark"]
    churn = [row for row in rows if row["case"] == "churn"]
    return [*_in_process(local), *_on_spark(spark), _of_churn(churn)]


def _of_churn(rows: list[Measured]) -> Target:
    return _judged(
        f"new keys all the time: nothing grows by more than {_GROWTH - 1:.0%} after the bound",
        rows,
        lambda row: row["growth"],
        _GROWTH,
    )


def _in_process(rows: list[Measured]) -> list[Target]:
    large = [row for row in rows if row["keys"] >= _LARGE and not row["groups"]]
    small = [row for row in rows if row["keys"] == 1_000 and not row["groups"]]
    grouped = [row for row in rows if row["groups"] >= 1_000]
    return [
        *(
            _judged(
                f"closing <= {most:g} ns a key, {'text' if text else 'whole numbers'}",
                [row for row in large if row["text"] == text],
                lambda row: row["close_ns_per_key"],
                most,
            )
            for text, most in _NS_PER_KEY.items()
        ),
        _judged(
            f"closing <= {_SMALL_MS:g} ms at 1,000 keys",
            small,
            lambda row: row["close_ms"],
            _SMALL_MS,
        ),
        _judged(
            f"state <= {_STATE_BYTES // 1_000_000} MB at 680,000 keys",
            [row for row in large if row["keys"] == 680_000],
            lambda row: row["state_bytes"],
            _STATE_BYTES,
        ),
        _judged(
            f"written <= {_WRITTEN:g} x what came, {_LARGE:,} keys and more",
            large,
            lambda row: row["written_bytes"] / row["came_bytes"],
            _WRITTEN,
        ),
        _judged(
            f"groups without events: <= {_FLAT:g} x the same with twenty groups",
            grouped,
            lambda row: row["ratio_to_small"],
            _FLAT,
        ),
        _judged(
            "the same answers after a restart",
            rows,
            lambda row: float(not row["same_after_restart"]),
            0.0,
        ),
    ]


def _on_spark(rows: list[Measured]) -> list[Target]:
    keyed = [row for row in rows if not row["groups"]]
    most = max((row["keys"] for row in keyed), default=0)
    few = [row for row in keyed if row["keys"] > row["drawn"] and row["shards"] == 1]
    return [
        _judged(
            f"Spark: micro-batch <= {_FLAT:g} x that of a query that remembers few keys",
            few,
            lambda row: row["ratio_to_small"],
            _FLAT,
        ),
        _judged(
            f"Spark: written <= {_WRITTEN:g} x what came, median",
            rows,
            lambda row: row["written_to_came"],
            _WRITTEN,
        ),
        _judged(
            f"Spark: no micro-batch writes more than {_BEYOND >> 20} MB beyond twice what came",
            rows,
            lambda row: row["written_beyond"],
            _BEYOND,
        ),
        _judged(
            f"Spark: restart <= {_RESTART_S:g} s above an empty one",
            [row for row in keyed if row["keys"] == most],
            lambda row: row["restart_s"],
            _RESTART_S,
        ),
        _judged(
            f"Spark: groups without events: <= {_FLAT:g} x the same with twenty groups",
            [row for row in rows if row["groups"] >= 1_000],
            lambda row: row["ratio_to_small"],
            _FLAT,
        ),
    ]


def _judged(
    told: str, rows: list[Measured], value: Callable[[Measured], float], most: float
) -> Target:
    if not rows:
        return Target(told, None, 0)
    values = [(value(row), _where(row)) for row in rows]
    worst, at = max(values)
    missed = [f"{where}: {found:.3g}" for found, where in values if found > most]
    return Target(told, not missed, len(values), worst, at, missed)


def _where(row: Measured) -> str:
    if row["groups"]:
        return f"{row['groups']:,} groups"
    kind = "text keys" if row["text"] else "keys"
    drawn = row.get("drawn", row["keys"])
    events = f", events of {drawn:,}" if drawn != row["keys"] else ""
    shards = f", {row['shards']} shards" if row["shards"] > 1 else ""
    return f"{row['keys']:,} {kind}{events}{shards}"
