"""When a micro-batch begins."""

from __future__ import annotations

from typing import Any

import pytest

from topwater.errors import QueryError
from topwater.jobs.trigger import trigger_of


@pytest.mark.parametrize("given", ["available_now", "available now", "availableNow"])
def test_an_end_when_all_was_read(given: str) -> None:
    assert trigger_of(given) == {"availableNow": True}


@pytest.mark.parametrize("given", ["often", "0 s", "-1 s", 5, None, "real_time"])
def test_what_is_no_trigger(given: Any) -> None:
    with pytest.raises(QueryError) as caught:
        trigger_of(given)
    assert caught.value.field == "trigger"
    assert "available_now" in caught.value.fix
