"""A snapshot is opened and closed again without a change."""

from __future__ import annotations

import pytest

from tests.support.scenarios import scenario, snapshots
from topwater.monitor.ranking_state import RankingState


@pytest.mark.parametrize("name", ["each", "count", "worth", "listed"])
def test_what_is_opened_can_be_closed(name: str) -> None:
    each = scenario(name, 3)
    state = snapshots(each, 1)[0]
    opened = RankingState.unpack(state)
    assert (opened.replica is not None) == (each.query.refresh is not None)
    assert opened.pack(each.query) == state
