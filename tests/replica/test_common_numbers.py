"""What belongs to no key, divided among shards and joined again."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.model import Shard
from topwater.replica.common_numbers import divided_numbers, joined_numbers
from topwater.replica.ways_to_move import RING, WaysToMove


def ring(*numbers: float) -> str:
    return b64encode(np.array(numbers, np.float16).tobytes()).decode()


def opened(packed: str) -> list[float]:
    found: list[float] = np.frombuffer(b64decode(packed), np.float16).tolist()
    return found


def values(*sums: float, of: str = "") -> dict[str, Any]:
    found = WaysToMove().facts()
    rings = [of or ring(1.0, -2.0, 3.0)] * len(found["rings"])
    return {**found, "sums": [[*sums], [*sums]] if sums else None, "rings": rings}


def numbers(tokens: float = 7.0, **known: Any) -> dict[str, Any]:
    purse = {"tokens": tokens, "seconds_per_fetch": 0.2, "offers": [3.0, 1.0], "windows": 9.0}
    told = {"purse": purse, "arrivals": 40, "values": values(), "rates": [0.25, 0.75]}
    looks = {"sums": [[8.0, 4.0, 2.0, 80.0], [6.0, 6.0, 3.0, 600.0]]}
    return told | {"noise": looks} | known


@given(tokens=st.integers(0, 50), shards=st.integers(1, 16))
def test_all_shards_have_as_many_tokens_as_one(tokens: int, shards: int) -> None:
    whole = numbers(tokens + 0.25)
    parts = [divided_numbers(whole, Shard(each, shards), 3) for each in range(shards)]
    assert sum(part["purse"]["tokens"] for part in parts) == tokens
    again = joined_numbers(parts, 40)
    assert again["purse"]["tokens"] == tokens
    assert np.allclose(again["purse"]["offers"], whole["purse"]["offers"])
    assert again["purse"]["windows"] == 9.0
    assert (again["arrivals"], parts[0]["arrivals"]) == (40, 3)
    assert again["rates"] == pytest.approx([0.25, 0.75])
    assert np.allclose(again["noise"]["sums"], whole["noise"]["sums"])


@given(weight=st.integers(8, 10**6), shards=st.integers(1, 16))
def test_a_belief_is_the_same_and_as_firm_as_before(weight: int, shards: int) -> None:
    whole = numbers(values=values(float(weight), 5.0, 0.3 * weight, 0.5 * weight))
    parts = [divided_numbers(whole, Shard(each, shards), 0) for each in range(shards)]
    for part in parts:
        model = WaysToMove()
        model.restore_facts(part["values"])
        assert (model.mean, model.memory) == pytest.approx((5.0, 0.6))
        assert model.learnt == (weight > 8)
    again = joined_numbers(parts, 40)["values"]
    for name in ("sums", "prior", "sizes", "scores", "gaps"):
        assert np.allclose(again[name], whole["values"][name])
    assert opened(again["rings"][0])[-1] == 3.0


def test_shards_that_have_learnt_nothing_do_not_count() -> None:
    known = values(10.0, 4.0, 1.0, 2.0)
    assert joined_numbers([numbers(), numbers()], 0)["values"] == values()
    assert joined_numbers([numbers(), numbers(values=known)], 0)["values"] == known


def test_all_shards_go_on_with_the_scale_that_more_changes_speak_for() -> None:
    def part(weight: float, *, on: bool, positive: bool = True) -> dict[str, Any]:
        # Changes of 4, or of a tenth.
        powers = {"on": on, "positive": positive, "sums": [10.0, 5.0 if on else -5.0, 40.0, 1.0]}
        sizes = [[6.0] * 4, [0.6 if on else 24.0] * 4]
        told = values(weight, 4.0, 1.0, 2.0) | {"powers": powers, "sizes": sizes}
        return numbers(values=told)

    most = joined_numbers([part(10.0, on=False), part(30.0, on=True)], 0)["values"]
    assert most["powers"] == {"on": True, "positive": True, "sums": [10.0, 2.5, 40.0, 1.0]}
    assert most["sizes"] == pytest.approx(np.array([[6.0] * 4, [0.6] * 4]))
    least = joined_numbers([part(30.0, on=False), part(10.0, on=True)], 0)["values"]
    assert not least["powers"]["on"]
    assert least["sizes"] == pytest.approx(np.array([[6.0] * 4, [24.0] * 4]))
    bad = joined_numbers([part(10.0, on=False, positive=False), part(30.0, on=True)], 0)["values"]
    assert (bad["powers"]["on"], bad["powers"]["positive"]) == (False, False)
    assert bad["sizes"] == pytest.approx(np.array([[6.0] * 4, [24.0] * 4]))


def test_of_what_was_seen_the_latest_is_kept() -> None:
    told = [ring(*(sign * at for at in range(200))) for sign in (1.0, -1.0)]
    parts = [numbers(values=values(9.0, 0.0, 1.0, 1.0, of=each)) for each in told]
    found = opened(joined_numbers(parts, 0)["values"]["rings"][0])
    assert len(found) == RING
    assert {*found[-2:]} == {199.0, -199.0}
    assert min(map(abs, found)) == 200 - RING / 2
