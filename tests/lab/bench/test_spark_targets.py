"""What a query on Spark must reach, judged by rows with known numbers."""

from __future__ import annotations

from typing import Any

from topwater_lab.bench.spark_targets import check_targets

STATE = {
    "batches": 30,
    "written_bytes_first": 100.0,
    "written_bytes_last": 110.0,
    "memory_bytes_first": 100.0,
    "memory_bytes_last": 100.0,
}


def measured(case: str, at: int, **more: Any) -> dict[str, Any]:
    usual = {"batch_ms_p50": 100.0, "ratio_to_native": 1.0, "ratio_to_naive": None}
    return {"case": case, "window_over_step": at, "same_answers": True} | usual | more


def test_targets() -> None:
    rows = [
        measured("generic", 10, ratio_to_naive=6.0),
        measured("generic", 600, ratio_to_native=2.4),
        measured("generic", 1_000, batch_ms_p50=151.0),
        measured("own-source", 10, ratio_to_native=2.3, same_answers=False),
    ]
    counts = [
        {"keys": 10_000, "ratio_to_native": 1.5, "same_answers": True},
        {"keys": 200_000, "ratio_to_native": 3.5, "same_answers": False},
    ]
    found = {target.target: target.reached for target in check_targets(rows, STATE, counts)}
    assert found == {
        "counting 10,000 keys >= 1.5 x native": True,
        "counting 200,000 keys >= 3 x native": False,
        "generic >= 1 x native at window/step 10": True,
        "generic >= 2.5 x native at window/step 600": False,
        "generic >= 6 x naive at window/step 10": True,
        "feedback >= 1.8 x native at panes of ten micro-batches": None,
        "own-source >= 2.3 x native at window/step 10": True,
        "own-source >= 8 x native at window/step 600": None,
        "generic: cost per event within 1.5 x from window/step 10 to 1,000": False,
        "own-source: cost per event within 1.5 x from window/step 10 to 1,000": None,
        "same answers as native and naive": False,
        "state within 1.5 x over 30 micro-batches": True,
    }
    grown = check_targets([], STATE | {"memory_bytes_last": 151.0})[-1]
    assert (grown.reached, grown.missed) == (False, ["the last third: 1.51"])
