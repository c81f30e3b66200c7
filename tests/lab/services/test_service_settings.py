"""How an example service may be set."""

from __future__ import annotations

from typing import Any

import pytest

from topwater.errors import QueryError
from topwater_lab.services.service_settings import ServiceSettings


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"port": 65_536}, "port"), ({"port": "80"}, "port"), ({"users": 0}, "users"),
        ({"seed": -1}, "seed"), ({"latency": float("nan")}, "latency"),
        ({"faults": 1.5}, "faults"), ({"fault": "nothing"}, "fault"), ({"rate": 0}, "rate"),
        ({"burst": 0}, "burst"), ({"speed": -1}, "speed"), ({"users": True}, "users"),
    ],
)  # fmt: skip
def test_settings_that_can_not_work(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(QueryError) as caught:
        ServiceSettings(**settings)
    assert caught.value.field == field
