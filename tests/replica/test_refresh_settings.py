"""What is looked up, as far as the settings decide it."""

from __future__ import annotations

from typing import Any

import pytest

from topwater.errors import QueryError
from topwater.replica import RefreshSettings

CHOICES = [
    ({}, ""),
    ({"budget": None}, "every"),
    ({"policy": "at-bsm", "budget": None}, "every"),
    ({"policy": "asm"}, "candidates"),
    ({"policy": "at-asm"}, "candidates"),
    ({"policy": "wsj-asm"}, "every candidates"),
    ({"policy": "gnr-asm"}, "every candidates"),
    ({"policy": "asm", "refresh_from": "window"}, "every candidates"),
    ({"policy": "wsj-asm", "refresh_from": "candidates"}, "candidates"),
    ({"policy": "ttl:2 min", "budget": {"deadline": "1 s"}}, ""),
    ({"policy": "wst"}, "nothing"),
    ({"policy": "at-wst", "budget": None}, "nothing"),
]


@pytest.mark.parametrize(("given", "read"), CHOICES)
def test_what_is_read_whatever_the_window_holds(given: dict[str, Any], read: str) -> None:
    settings = RefreshSettings("followers", **given)
    assert settings.reads_every_key == ("every" in read)
    assert settings.reads_all_candidates == ("candidates" in read)
    assert settings.reads_nothing == ("nothing" in read)


@pytest.mark.parametrize("given", [given for given, _ in CHOICES])
def test_settings_survive_a_round_trip(given: dict[str, Any]) -> None:
    settings = RefreshSettings("followers", **given)
    assert RefreshSettings.of(settings.to_dict()) == settings


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"remote": "", "policy": "lru"}, "refresh.remote"),
        ({"remote": "f", "policy": "lru", "budget": 0}, "may fetch nothing"),
        ({"remote": "f", "policy": "wbm", "estimator": None}, "needs change rates"),
        ({"remote": "f", "spare": -1}, "spare"),
        ({"remote": "f", "default": float("nan")}, "default"),
        ({"policy": "lru"}, "names no remote value"),
    ],
)
def test_what_can_not_be_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(QueryError, match=told):
        RefreshSettings.of(given)
