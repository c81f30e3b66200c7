"""Keys as JSON has them."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from topwater.model import plain_key


@pytest.mark.parametrize(
    ("key", "plain"),
    [
        (7, 7),
        ("tea", "tea"),
        (None, None),
        (True, True),
        (Decimal("1.50"), "1.50"),
        (datetime(2026, 11, 18, 7, tzinfo=UTC), "2026-11-18T07:00:00+00:00"),
        (("tea", date(2026, 11, 18)), ["tea", "2026-11-18"]),
    ],
)
def test_keys_are_plain(key: Any, plain: object) -> None:
    assert plain_key(key) == plain
    assert json.loads(json.dumps(plain_key(key))) == plain
