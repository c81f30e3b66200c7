"""Changes that are pushed: what is told, lost, late or told twice never makes an answer wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from tests.support.journal_store import JournalStore
from tests.support.pushed_scene import (
    KEYS,
    STEP,
    VENDORS,
    Change,
    Window,
    beat,
    notice,
    one_value,
    play,
    several,
    windows,
)
from topwater import TopKMonitor, TopKQuery
from topwater.monitor.journal import Journal
from topwater.monitor.notice_settings import NoticeSettings

Spoil = Callable[[Random, list[Window]], list[Window]]

QUERIES = pytest.mark.parametrize("make", [one_value, several])
SEEDS = pytest.mark.parametrize("seed", range(6))
SOURCES = ("source", "shop", "vendors")


def told_in_time(rng: Random, given: list[Window]) -> list[Window]:
    """All that changed is told before the window closes, in any order, some of it twice."""
    found, before = [], list[dict[str, Any]]()
    for place, window in enumerate(given):
        rows = [notice(change) for change in window.changes]
        before += rows
        again = rng.choices(before, k=rng.randint(0, 4)) if before else []
        shuffled = rng.sample(rows + again, len(rows + again))
        beats = [beat((place + 1) * STEP + 1, source) for source in SOURCES]
        found.append(replace(window, notices=shuffled + beats))
    return found


def told_badly(rng: Random, given: list[Window]) -> list[Window]:
    """Some is told late, out of order, twice, as a mark only, or not at all."""
    found = [replace(window, notices=[]) for window in given]
    for window in given:
        for change in window.changes:
            row = notice(change, marks=rng.random() < 0.3)
            for _ in range(rng.choice([0, 1, 1, 2])):
                place = change.time // STEP + rng.choice([0, 0, 1, 3])
                found[min(place, len(found) - 1)].notices.append(row)
    return [replace(each, notices=rng.sample(each.notices, len(each.notices))) for each in found]


def told_within(rng: Random, given: list[Window]) -> list[Window]:
    """All is told, in order of time but for a delay; and a stream that is behind the events."""
    rows = [notice(change) for window in given for change in window.changes]
    comes = [row["time"] + rng.randint(0, 400) for row in rows]
    behind = rng.choice([0, 0, 700, 2_500])
    found = [replace(window, notices=[]) for window in given]
    for at in sorted(range(len(rows)), key=lambda at: comes[at]):
        place = max(0, (comes[at] + behind - 1) // STEP)
        if place < len(found):
            found[place].notices.append(rows[at])
    return found


@QUERIES
@SEEDS
def test_where_all_is_told_all_answers_are_exact_without_a_look_up(
    make: Callable[[], TopKQuery], seed: int
) -> None:
    rng = Random(seed)
    for answer, right in play(make(), told_in_time(rng, windows(rng)), complete=True):
        assert answer.exact
        assert answer.keys == right
        assert answer.freshness is not None
        assert answer.freshness.fetched == 0
        assert answer.freshness.precision == pytest.approx(1.0)


@QUERIES
@SEEDS
@pytest.mark.parametrize(("spoil", "complete"), [(told_badly, False), (told_within, True)])
def test_no_answer_is_called_exact_that_is_not(
    make: Callable[[], TopKQuery], seed: int, spoil: Spoil, complete: bool
) -> None:
    rng = Random(seed)
    given = spoil(rng, windows(rng))
    for answer, right in play(make(), given, complete=complete, delay=400):
        if answer.exact:
            assert answer.keys == right


@pytest.mark.soak
@pytest.mark.parametrize("first", range(1_000, 1_400, 50))
@QUERIES
@pytest.mark.parametrize(("spoil", "complete"), [(told_badly, False), (told_within, True)])
def test_no_answer_is_called_exact_that_is_not_for_long(
    make: Callable[[], TopKQuery], spoil: Spoil, complete: bool, first: int
) -> None:
    for seed in range(first, first + 50):
        test_no_answer_is_called_exact_that_is_not(make, seed, spoil, complete)


@QUERIES
@pytest.mark.parametrize(("spoil", "complete"), [(told_badly, False), (told_within, True)])
@pytest.mark.parametrize("how", ["snapshot", "journal"])
@pytest.mark.parametrize("seed", range(2))
def test_a_restart_before_each_window_changes_nothing(
    make: Callable[[], TopKQuery], spoil: Spoil, complete: bool, how: str, seed: int
) -> None:
    query, rng = make(), Random(seed)
    given = spoil(rng, windows(rng))
    told = NoticeSettings(complete=complete)
    store, journals = JournalStore(), list[Any]()

    def restart(monitor: TopKMonitor, sources: Any) -> TopKMonitor:
        state = monitor.snapshot() if how == "snapshot" else None
        again = TopKMonitor.build(query, state, source=sources, changes=told)
        if how == "journal":
            journal = journals[-1] if journals else Journal(monitor)
            store.write(journal.record("nonce", whole=not journals))
            journals.append(store.rebuilt(again))
        return again

    plain = play(query, given, complete=complete)
    assert play(query, given, complete=complete, restart=restart) == plain


@QUERIES
@SEEDS
def test_without_a_notice_answers_are_as_before(make: Callable[[], TopKQuery], seed: int) -> None:
    query, given = make(), windows(Random(seed))

    def deaf(monitor: TopKMonitor, sources: Any) -> TopKMonitor:
        return TopKMonitor.build(query, monitor.snapshot(), source=sources)

    heard = play(query, given, complete=False)
    assert heard == play(query, given, complete=False, restart=deaf)


def precision(share: float, seed: int, *, complete: bool = False) -> float:
    """How right answers are on average, with such a share of all changes delivered."""
    rng, query = Random(seed), one_value(k=3, refresh={"remote": "price", "budget": 1})
    given = list[Window]()
    for place in range(30):
        at = place * STEP
        events = [(key, at + 1 + each, 7) for each, key in enumerate(KEYS)]
        news = ({"price": rng.random(), "stock": 1.0} for _ in KEYS)
        changes = [Change("shop", key, at + 1, new) for key, new in zip(KEYS, news, strict=True)]
        given.append(Window(events, changes if not place else rng.sample(changes, 3)))
    for place, window in enumerate(given):
        rows = [notice(change) for change in window.changes if rng.random() < share]
        window.notices = [*rows, *(beat((place + 1) * STEP + 1, source) for source in SOURCES)]
    return mean_precision(query, given, complete=complete)


def mean_precision(query: TopKQuery, given: list[Window], *, complete: bool) -> float:
    """How right answers are on average, once the first are out."""
    told = [each for each in play(query, given, complete=complete)[5:] if each[1]]
    right = [len({*answer.keys} & {*best}) / len(best) for answer, best in told]
    return sum(right) / len(right)


def precision_of_several(share: float, seed: int) -> float:
    """The same with two sources, one of them by another key, and a filter on a remote value."""
    rng, given = Random(seed), list[Window]()
    for place in range(24):
        at = place * STEP
        events = [(key, at + 1 + each, VENDORS[each % 3]) for each, key in enumerate(KEYS)]
        goods = [
            Change("shop", key, at + 1, {"price": rng.random(), "stock": float(rng.random() > 0.2)})
            for key in KEYS
        ]
        trust = [Change("vendors", each, at + 1, {"trust": rng.random()}) for each in VENDORS]
        first = not place
        changes = [*goods, *trust] if first else [*rng.sample(goods, 3), *rng.sample(trust, 1)]
        rows = [notice(change) for change in changes if rng.random() < share]
        beats = [beat((place + 1) * STEP + 1, source) for source in SOURCES]
        given.append(Window(events, changes, [*rows, *beats]))
    return mean_precision(several(k=3, budget=3), given, complete=False)


def test_the_more_is_told_the_more_is_right() -> None:
    """Seeds 20 to 25; the thresholds were chosen on seeds 0 to 5."""
    found = {
        share: sum(precision(share, seed) for seed in range(20, 26)) / 6
        for share in (0.0, 0.5, 0.9, 1.0)
    }
    assert found[0.0] + 0.05 < found[0.5] < found[0.9] - 0.05
    assert found[0.9] < found[1.0] == 1.0
    assert precision(1.0, 20, complete=True) == 1.0


def test_the_more_is_told_of_several_sources_the_more_is_right() -> None:
    """Seeds 20 to 22; the thresholds were chosen on seeds 0 to 5."""
    found = {
        share: sum(precision_of_several(share, seed) for seed in range(20, 23)) / 3
        for share in (0.0, 0.5, 0.9, 1.0)
    }
    assert found[0.0] + 0.05 < found[0.5] < found[0.9] - 0.05
    assert found[0.9] < found[1.0] == 1.0
