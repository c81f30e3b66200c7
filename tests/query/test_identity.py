"""What may change while a query lives, and what may not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from topwater import StateError, TopKQuery, sliding
from topwater.query.identity import (
    foreign,
    keeps_enough,
    require_same_identity,
    require_same_settings,
    tuned,
)

REMOTE = {"remote": "followers", "budget": 3}
SETTINGS: dict[str, Any] = {
    "key": "user",
    "time": "at",
    "window": sliding("60 s", "30 s"),
    "take": {"n": "count", "v": "last(v)"},
    "score": "n * followers + v",
    "k": 5,
    "refresh": REMOTE,
}
EVENTS: dict[str, Any] = {**SETTINGS, "take": "each", "score": "v", "refresh": None}
LISTED: dict[str, Any] = {
    **SETTINGS,
    "take": {"v": "last(v)"},
    "score": "followers + v",
    "list": "panes+n",
}


def changed(settings: dict[str, Any] = SETTINGS, **other: Any) -> TopKQuery:
    return TopKQuery(**{**settings, **other})


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("key", {"key": "team"}),
        ("time", {"time": "seen"}),
        ("window", {"window": sliding("60 s", "20 s")}),
        ("take", {"take": {"n": "count", "v": "max(v)"}}),
        ("group_by", {"group_by": "team"}),
        ("refresh.remote", {"refresh": {"remote": "fans"}, "score": "n * fans + v"}),
        ("refresh.remote", {"refresh": None, "score": "n + v"}),
    ],
)
def test_what_is_counted_is_the_identity(name: str, other: dict[str, Any]) -> None:
    found = foreign(changed(), changed(**other))
    assert found is not None
    assert found.name == name
    with pytest.raises(StateError, match=f"the state belongs to another query: its {name} is"):
        require_same_identity(changed(), changed(**other))


def test_a_list_that_forgets_keys_can_not_be_left() -> None:
    free = changed(LISTED, list=None)
    found = foreign(free, changed(LISTED))
    assert found is not None
    assert str(found) == "list: None → panes+n"
    assert foreign(changed(LISTED), changed(LISTED, list="topk+n")) is None


@pytest.mark.parametrize(
    "other",
    [
        {"k": 7},
        {"score": "2 * n + followers"},
        {"refresh": {**REMOTE, "budget": {"fetches": 10, "accuracy": 0.9}}},
        {"refresh": {**REMOTE, "policy": "wbm", "aim": "accuracy", "hint": True, "spare": 3}},
        {"refresh": {**REMOTE, "memory": "1 MB", "default": 0.0, "seed": 4}},
        {"lateness": "5 s", "late": "use", "jump": "2 h", "empty_windows": 3, "heartbeat": "idle"},
        {"order": "smallest"},
    ],
)
def test_all_the_rest_is_tuning(other: dict[str, Any]) -> None:
    assert foreign(changed(), changed(**other)) is None
    told = tuned(changed(), changed(**other))
    assert told
    with pytest.raises(StateError, match=r"other settings: (k|score|refresh|lateness)"):
        require_same_settings(changed(), changed(**other))


def test_differences_are_named_one_by_one() -> None:
    other = changed(k=2, refresh={**REMOTE, "budget": 9})
    assert [*map(str, tuned(changed(), other))] == ["k: 5 → 2", "refresh.budget.fetches: 3 → 9"]
    assert tuned(other, other) == []
    require_same_settings(other, other)


def test_aggregates_are_kept_of_every_key() -> None:
    assert keeps_enough(changed(), changed(k=500, score="followers"))


@pytest.mark.parametrize(
    ("other", "enough"),
    [
        ({"k": 5, "lateness": "1 s"}, True),
        ({"k": 4}, True),
        ({"list": "mintopk"}, False),
        ({"k": 6}, False),
        ({"score": "2 * v"}, False),
        ({"order": "smallest"}, False),
    ],
)
def test_of_events_the_best_are_kept(other: dict[str, Any], *, enough: bool) -> None:
    assert keeps_enough(changed(EVENTS), changed(EVENTS, **other)) is enough


@pytest.mark.parametrize(
    ("other", "enough"),
    [
        ({"k": 4}, True),
        ({"k": 6}, False),
        ({"list": "topk+n"}, False),
        ({"score": "followers + 2 * v"}, False),
    ],
)
def test_a_list_keeps_k_and_spare(other: dict[str, Any], *, enough: bool) -> None:
    assert keeps_enough(changed(LISTED), changed(LISTED, **other)) is enough


JOINED: dict[str, Any] = {
    **SETTINGS,
    "score": "n * followers * trust",
    "refresh": [{"remote": "followers", "from": "api"}, {"remote": "trust", "from": "db"}],
    "budget": {"cost": 5},
}


def test_of_several_remote_values_all_settings_are_the_identity() -> None:
    for other in (changed(JOINED, budget={"cost": 6}), changed()):
        found = foreign(changed(JOINED), other)
        assert found is not None
        assert found.name.startswith("refresh")
    assert foreign(changed(JOINED), changed(JOINED, k=2, where="trust > 0.5")) is None


def test_a_smaller_spare_is_kept() -> None:
    before = changed(LISTED)
    assert before.single is not None
    spared = replace(before, refresh=replace(before.single, spare=2))
    assert keeps_enough(before, spared)
    assert not keeps_enough(spared, before)
