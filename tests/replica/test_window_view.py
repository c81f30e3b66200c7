"""A window's rows in order, and what an answer tells of how its budget was spent."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

from tests.support.looping import MINUTE, Loop, query_of
from topwater.local import run
from topwater.model import LOOK_UPS, Answer, FloatArray, IntArray, KeyArray, LookUp, Window
from topwater.replica import WindowView
from topwater.replica.policies import rankers
from topwater.tables import keys_to_arrow
from topwater.testing import Scripted
from topwater.windows import tumbling

EVERY = [name for name in rankers if not rankers[name].needs_truth]


def test_a_look_up_tells_what_was_known_and_what_came() -> None:
    source = Scripted({"a": [(0, 1.0), (MINUTE + 9, 2.0)], "b": [(0, 5.0)], "c": []})
    loop = Loop(query_of(policy="lru", budget=3, window=tumbling("1 min")), source)
    loop.ingest([("a", 1), ("b", 2), ("c", 3)])
    assert sorted(loop.answer().looked_up, key=lambda each: str(each.key)) == [
        LookUp("a", None, 1.0, ok=True),
        LookUp("b", None, 5.0, ok=True),
        LookUp("c", None, None, ok=True),
    ]
    source.failing.add("b")
    loop.ingest([("a", MINUTE + 1), ("b", MINUTE + 2)])
    again = {each.key: each for each in loop.answer().looked_up}
    assert again == {
        "a": LookUp("a", 1.0, 2.0, ok=True),
        "b": LookUp("b", 5.0, None, ok=False),
    }
    assert again["a"].changed
    assert not again["b"].changed


def test_a_number_that_is_none_is_no_value() -> None:
    source = Scripted({"a": [(0, 1.0), (MINUTE + 9, math.inf)]})
    loop = Loop(query_of(policy="lru", budget=1, window=tumbling("1 min")), source)
    loop.ingest([("a", 1)])
    loop.answer()
    loop.ingest([("a", MINUTE + 1)])
    assert loop.answer().looked_up == (LookUp("a", 1.0, None, ok=True),)


@pytest.mark.parametrize("policy", EVERY)
def test_they_are_what_was_fetched_in_the_order_of_the_policy(policy: str) -> None:
    rng = np.random.default_rng(3)
    source = Scripted({key: [(0, float(key))] for key in range(12)})
    loop = Loop(query_of(policy=policy, budget=4, window=tumbling("1 min")), source)
    for minute in range(6):
        keys = rng.integers(0, 12, 30).tolist()
        loop.ingest([(key, minute * MINUTE + 1 + at) for at, key in enumerate(keys)])
        before = len(source.calls)
        answer = loop.answer()
        asked = [key for keys in source.calls[before:] for key in keys]
        assert [each.key for each in answer.looked_up] == asked
        assert answer.freshness is not None
        assert answer.freshness.fetched == len(asked)
        assert all(type(each.key) is int for each in answer.looked_up)


def test_of_very_many_only_the_first_are_told() -> None:
    source = Scripted({key: [(0, float(key))] for key in range(80)})
    loop = Loop(query_of(budget=None, window=tumbling("1 min")), source)
    loop.ingest([(key, 1 + key) for key in range(80)])
    answer = loop.answer()
    assert answer.freshness is not None
    assert (answer.freshness.fetched, len(answer.looked_up)) == (80, LOOK_UPS)


def test_each_group_tells_its_own() -> None:
    query = replace(query_of(policy="lru", budget=2, window=tumbling("1 min")), group_by="team")
    events = {"who": ["a", "b", "c"], "at": [1, 2, 3], "team": ["red", "red", "blue"]}
    source = Scripted({"a": 1.0, "b": 2.0, "c": 3.0})
    found = {answer.group: answer.looked_up for answer in run(query, [events], source=source)}
    assert {each.key for each in found["red"]} == {"a", "b"}
    assert found["blue"] == (LookUp("c", None, 3.0, ok=True),)


def test_it_is_plain_in_json() -> None:
    answer = Answer(Window(0, 0, 9), (), looked_up=(LookUp("a", None, 1.5, ok=True),))
    assert answer.to_dict()["looked_up"] == (
        {"key": "a", "before": None, "after": 1.5, "ok": True},
    )


@dataclass(frozen=True)
class Shelf:
    """Keys by slot, as an index gives them."""

    keys: KeyArray

    def keys_at(self, slots: IntArray) -> KeyArray:
        return np.asarray(self.keys[slots])

    def arrow_at(self, slots: IntArray) -> pa.Array:
        return keys_to_arrow(self.keys[slots])


def drawn_view(seed: int, *, text: bool, lazy: bool) -> tuple[WindowView, FloatArray]:
    """Few distinct scores and times, so that keys decide often; some rows have no score."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 60))
    keys = rng.permutation(1_000)[:count]
    keys = np.array([f"ü{key}" for key in keys.tolist()], object) if text else keys
    scores = rng.choice([0.0, -0.0, 1.0, 2.0, np.nan, np.inf], count)
    times = rng.integers(1, 4, count)
    if not lazy:
        return WindowView(0, 9, keys, {}, times), scores
    slots = rng.permutation(2 * count)[:count]
    shelf = np.full(2 * count, keys[0] if count else 0, keys.dtype)
    shelf[slots] = keys
    return WindowView(0, 9, Shelf(shelf), {}, times, slots), scores


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_the_best_are_those_of_the_full_sort(seed: int, text: bool, lazy: bool) -> None:
    view, scores = drawn_view(seed, text=text, lazy=lazy)
    full = np.lexsort((view.keys, -view.last_event, -scores))
    full = full[np.isfinite(scores[full])]
    assert view.best_first(scores).tolist() == full.tolist()
    for most in (0, 1, 5, len(full), len(view) + 1):
        assert view.best_first(scores, most).tolist() == full[:most].tolist(), most
        some = np.flatnonzero(np.arange(len(view)) % 3 != seed % 3)
        right = full[np.isin(full, some)][:most]
        assert view.best_first(scores, most, some).tolist() == right.tolist(), most
    assert view.keys_at(full).tolist() == view.keys[full].tolist()
