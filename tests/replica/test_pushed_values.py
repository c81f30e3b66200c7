"""What was told is written as if it had been looked up, and never over what is newer."""

from __future__ import annotations

import numpy as np
import pytest

from topwater import remote
from topwater.replica import Refresher, RefreshSettings, WindowView
from topwater.replica.notices import ALL, BLIND, LOST, STALE, VALUE, NoticeDesk, beat_of
from topwater.replica.notices import notice_table as table
from topwater.replica.refresher import ONLY
from topwater.scoring import Formula
from topwater.windows import tumbling


class Scene:
    """A refresher over three keys, and a source that can be changed."""

    def __init__(self, *, complete: bool, reads: bool = False) -> None:
        self.true = {"a": 1.0, "b": 2.0, "c": 3.0}
        policy = {"policy": "worth", "budget": None} if reads else {"policy": "wst"}
        settings = RefreshSettings.of({"remote": "price", **policy})
        source = remote.memory(self.true)
        self.refresher = Refresher(settings, Formula("n * price"), tumbling(10), 2, source)
        self.desk = NoticeDesk(frozenset({ONLY}) if complete else frozenset())
        self.refresher.listen(self.desk)
        self.window = -1

    def tell(self, *rows: tuple[str | None, int, int, float]) -> None:
        keys, times, kinds, values = zip(*rows, strict=True)
        columns = {"source": [ONLY] * len(rows), "key": keys, "time": times, "kind": kinds}
        self.desk.add(table({**columns, "value price": values}))

    def close(self) -> dict[str, tuple[float, int, bool]]:
        """The value of each key, since when it is known, and whether it was said to be stale."""
        self.window += 1
        end = 10 * (self.window + 1)
        keys = np.array(["a", "b", "c"], object)
        view = WindowView(self.window, end, keys, {"n": np.ones(3)}, np.full(3, end - 5))
        self.ranking = self.refresher.refresh(view)
        replica = self.refresher.replica
        slots = replica.find(keys)
        columns = (replica.value[slots], replica.fetched[slots], replica.hints[slots] >= 2**40)
        rows = zip(*(each.tolist() for each in columns), strict=True)
        return dict(zip(keys.tolist(), rows, strict=True))


NAN = float("nan")


def scene(*, complete: bool) -> Scene:
    """All keys are known as of 10, and nothing is looked up."""
    found = Scene(complete=complete)
    found.refresher.seed_replica(np.array(["a", "b", "c"], object), np.array([1.0, 2, 3]), 10)
    found.close()
    return found


@pytest.mark.parametrize("complete", [False, True])
def test_only_what_is_newer_is_written(complete: bool) -> None:
    here = scene(complete=complete)
    here.tell(("a", 15, VALUE, 7.0), ("a", 12, VALUE, 6.0), ("b", 9, VALUE, 9.0))
    found = here.close()
    assert found["a"] == (7.0, 15, False)
    assert found["b"] == (2.0, 10, False)
    assert dict(here.ranking.notices) == {"late": 1, "outdated": 1, "told": 1}


@pytest.mark.parametrize("complete", [False, True])
def test_a_mark_counts_unless_something_newer_is_known(complete: bool) -> None:
    here = scene(complete=complete)
    here.tell(("a", 15, STALE, NAN), ("b", 5, STALE, NAN), ("c", 12, STALE, NAN))
    here.tell(("c", 14, VALUE, 8.0))
    found = here.close()
    assert [found[key][2] for key in "abc"] == [True, False, False]
    slots = here.refresher.replica.find(np.array(["a"], object))
    assert here.refresher._estimates.stale(slots, 20).tolist() == [1.0]
    here.tell(("a", 25, VALUE, 8.0))
    assert here.close()["a"] == (8.0, 25, False)


def test_silence_confirms_what_is_known_where_all_is_told() -> None:
    here = scene(complete=True)
    here.tell(("a", 15, STALE, NAN))
    here.desk.add(beat_of(21))
    found = here.close()
    assert {key: row[1] for key, row in found.items()} == {"a": 10, "b": 20, "c": 20}
    assert not here.ranking.exact
    here.tell(("a", 22, VALUE, 5.0))
    here.desk.add(beat_of(31))
    here.close()
    assert here.ranking.exact


def test_a_notice_after_its_silence_was_taken_for_an_answer_still_counts() -> None:
    here = scene(complete=True)
    here.desk.add(beat_of(21))
    assert here.close()["a"] == (1.0, 20, False)
    here.tell(("a", 15, VALUE, 5.0))
    assert here.close()["a"] == (5.0, 15, False)


@pytest.mark.parametrize("kind", [BLIND, LOST])
def test_what_changed_and_is_not_known_makes_all_doubtful(kind: int) -> None:
    here = scene(complete=True)
    here.tell((None, 15, kind, NAN))
    here.desk.add(beat_of(21))
    assert {row[1] for row in here.close().values()} == {10}


def test_a_table_that_was_emptied_marks_all() -> None:
    here = scene(complete=False)
    here.tell((None, 15, ALL, NAN))
    assert all(row[2] for row in here.close().values())


def test_two_values_of_one_time_are_not_certain() -> None:
    here = scene(complete=True)
    here.tell(("a", 15, VALUE, 7.0), ("a", 15, VALUE, 8.0), ("b", 15, VALUE, 5.0))
    here.tell(("b", 15, VALUE, 5.0))
    found = here.close()
    assert found["a"] == (8.0, 15, True)
    assert found["b"] == (5.0, 15, False)


def test_rates_are_those_of_changes_that_nobody_tells_of() -> None:
    here = Scene(complete=False, reads=True)
    for turn in range(1, 40):
        # What is told is so before the look-up: so no look-up ever finds a change.
        here.true["a"] = float(turn)
        here.tell(("a", 10 * turn - 9, VALUE, float(turn)), ("b", 10 * turn - 9, STALE, NAN))
        here.true["b"] = float(turn)
        here.close()
    replica, rates = here.refresher.replica, here.refresher.learners.beliefs.rates
    slots = replica.find(np.array(["a", "b", "c"], object))
    seconds = np.full(3, 10.0)
    stale = rates.stale(rates.of(slots), seconds, np.zeros(3, np.int64))
    told, marked, still = stale.tolist()
    assert told == pytest.approx(still, abs=0.05)
    assert marked < 0.6
