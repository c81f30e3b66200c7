"""The part of the loop that spends on several sources, by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from topwater.model import Attempts, Fetched, KeyArray
from topwater.replica.joins.join_settings import JoinSettings
from topwater.replica.joins.joined_refresher import JoinedRefresher, Ranked
from topwater.replica.window_view import Ranking, WindowView
from topwater.scoring import Formula
from topwater.scoring.condition_parser import read_condition
from topwater.windows import sliding

WINDOWS = sliding(3_000, 1_000)


class Desk:
    """Two sources, of which one knows no odd keys and one fails for every seventh."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[int]]] = []

    def most(self, source: str) -> int | None:  # noqa: ARG002
        return None

    def fetch(
        self,
        asked: Sequence[tuple[str, KeyArray]],
        now: int,
        deadline: float | None,  # noqa: ARG002
        again: Mapping[str, Attempts],  # noqa: ARG002
    ) -> list[Fetched]:
        self.asked += [(name, keys.tolist()) for name, keys in asked]
        found = []
        for name, keys in asked:
            values = ((keys.astype(np.int64) * 7 + now // 1_000) % 13 + 1).astype(np.float64)
            ok = keys.astype(np.int64) % 7 != 6 if name == "stock" else np.ones(len(keys), bool)
            found.append(Fetched(values, ok))
        return found


def refresher_of(budget: object, desk: Desk | None = None) -> JoinedRefresher:
    joins = [{"remote": "price", "from": "price"}, {"remote": "stock", "from": "stock", "cost": 2}]
    ranked = Ranked(Formula("sold * price"), read_condition("stock > 3"), WINDOWS, 3)
    return JoinedRefresher(JoinSettings.of(joins, budget), ranked, desk or Desk())


def view_of(window: int, keys: int = 30) -> WindowView:
    names = np.arange(keys)
    sold = {"sold": (names * 5 % 11 + 1).astype(np.float64)}
    end = WINDOWS.window(window).end
    return WindowView(window, end, names, sold, np.full(keys, end - 1))


def played(refresher: JoinedRefresher, windows: range) -> list[Ranking]:
    return [refresher.refresh(view_of(window)) for window in windows]


def test_what_is_spent_is_what_may_be() -> None:
    for ranking in played(refresher_of(20), range(2, 12)):
        assert ranking.spent is not None
        assert 0 < ranking.spent <= 20
        assert ranking.freshness.fetched == len(ranking.look_ups.keys)
        assert 0 <= ranking.freshness.precision <= 1


def test_a_source_that_fails_is_seen_in_the_answer() -> None:
    (ranking,) = played(refresher_of(None), range(2, 3))
    assert ranking.freshness.failed == 4
    assert not ranking.exact
    assert {each.source for each in ranking.look_ups.first} == {"price", "stock"}


def test_a_restart_goes_on_where_it_was() -> None:
    whole = refresher_of({"cost": 20, "per": {"10 s": 90}})
    before = played(whole, range(2, 8))
    first = refresher_of({"cost": 20, "per": {"10 s": 90}})
    again = played(first, range(2, 5))
    second = refresher_of({"cost": 20, "per": {"10 s": 90}})
    second.restore(*first.snapshot())
    again += played(second, range(5, 8))
    for one, other in zip(before, again, strict=True):
        assert one.rows.tolist() == other.rows.tolist()
        assert one.spent == other.spent
        assert one.left == other.left
        assert one.freshness == other.freshness


def test_what_takes_too_much_is_forgotten() -> None:
    refresher = refresher_of(None)
    played(refresher, range(2, 4))
    size = refresher.size
    assert refresher.forget_surplus(size) == 0
    assert refresher.forget_surplus(size // 2) > 0
    assert refresher.size <= size // 2
    assert refresher.forget_surplus(0) > 0
    assert refresher.size == 0


def test_confidence_is_that_all_values_are_right() -> None:
    ranking = played(refresher_of(20), range(2, 12))[-1]
    for cells, confidence, age in zip(
        ranking.remotes, ranking.confidence, ranking.age, strict=True
    ):
        parts = [cell.confidence for cell in cells.values()]
        assert confidence == pytest.approx(np.prod([each for each in parts if each is not None]))
        ages = [cell.age for cell in cells.values()]
        assert age == (-1 if None in ages else max(each for each in ages if each is not None))
