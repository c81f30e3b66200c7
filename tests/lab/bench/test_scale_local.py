"""The benchmark of many keys with few of them."""

from __future__ import annotations

import numpy as np
import pytest

from topwater_lab.bench.scale_local import Computed, LocalPoint, measure, numbers, values_of


@pytest.mark.parametrize("text", [False, True])
def test_a_point_is_measured_and_its_monitor_restored(text: bool) -> None:
    row = measure(LocalPoint(200, text=text, fetched=20, windows=2))
    assert row["same_after_restart"]
    assert (row["case"], row["keys"], row["text"], row["groups"]) == ("local", 200, text, 0)
    for name in ("close_ms", "close_ns_per_key", "batch_ms_p50", "came_bytes", "written_bytes"):
        assert row[name] > 0


def test_groups_of_which_few_have_events() -> None:
    row = measure(LocalPoint(0, groups=200, windows=2))
    assert row["same_after_restart"]
    assert row["groups"] == 200, "none was forgotten"


def test_values_follow_from_the_key_and_the_turn() -> None:
    source = Computed()
    first = source.fetch(np.array(["u00000000007", "u00000000011"], object)).values
    assert first.tolist() == values_of(np.array([7, 11]), 0).tolist()
    source.turn = 7
    assert (source.fetch(np.array([7, 11])).values != first).all()
    assert numbers(np.array(["u1", "u20"], object)).tolist() == [1, 20]
    assert ((first >= 1) & (first < 404)).all()
