"""Several remote values, foreign keys, filters and text: the same as everything from scratch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.joined_scene import Step, Told, play, query_of, ranked, steps
from tests.support.journal_store import JournalStore
from topwater.monitor import Monitor, build_monitor
from topwater.monitor.journal import Journal

BUDGETS: list[Any] = [12, 40, {"cost": 15, "per": {"2 s": 40}}, {"per": {"1 min": 200}}]


def pairs(told: Told) -> list[tuple[Any, float]]:
    return [(row.key, row.score) for row in told.answer.rows]


def close(told: Told, k: int) -> bool:
    right = ranked(told.events, told.known, k)
    shown = pairs(told)
    return [key for key, _ in shown] == [key for key, _ in right] and all(
        score == pytest.approx(other) for (_, score), (_, other) in zip(shown, right, strict=True)
    )


@settings(max_examples=25)
@given(steps(), st.booleans())
def test_without_a_limit_it_is_what_is_computed_from_scratch(
    given_steps: list[Step], by_team: bool
) -> None:
    query = query_of(group_by="team") if by_team else query_of()
    for told in play(query, given_steps):
        assert close(told, query.k)
        fresh = told.answer.freshness
        assert fresh is not None
        assert told.answer.exact or fresh.nothing_usable


@settings(max_examples=12)
@given(steps())
def test_rows_say_what_the_stream_and_the_sources_said_last(given_steps: list[Step]) -> None:
    for told in play(query_of(), given_steps):
        for row in told.answer.rows:
            last = max((e for e in told.events if e.product == row.key), key=lambda each: each.at)
            assert row.values[1:] == (last.vendor, last.title)
            goods = told.known.shop[str(row.key)]
            assert row.remotes["price"].value == goods["price"]
            assert row.remotes["maker"].value == goods.get("maker")
            assert row.remotes["trust"].value == told.known.vendors[last.vendor or -1]
            assert {each.age for each in row.remotes.values()} == {0}
            assert row.remote is None
            assert row.age == 0


@settings(max_examples=25)
@given(steps(), st.sampled_from(BUDGETS))
def test_with_a_limit_an_answer_that_is_called_exact_is(
    given_steps: list[Step], budget: Any
) -> None:
    query = query_of(budget=budget)
    for told in play(query, given_steps):
        if told.answer.exact:
            assert close(told, query.k)
        if query.joins and query.joins.budget.cost is not None:
            assert (told.answer.spent or 0) <= query.joins.budget.cost


@settings(max_examples=12)
@given(steps(), st.sampled_from(BUDGETS), st.booleans())
def test_a_restart_before_each_window_changes_nothing(
    given_steps: list[Step], budget: Any, by_team: bool
) -> None:
    query = query_of(budget=budget, **({"group_by": "team"} if by_team else {}))

    def restart(monitor: Monitor, sources: Any) -> Monitor:
        return build_monitor(query, monitor.snapshot(), source=sources)

    plain = [told.answer for told in play(query, given_steps)]
    again = [told.answer for told in play(query, given_steps, restart=restart)]
    assert plain == again


@settings(max_examples=12)
@given(steps(), st.sampled_from(BUDGETS), st.booleans())
def test_a_journal_read_back_before_each_window_changes_nothing(
    given_steps: list[Step], budget: Any, by_team: bool
) -> None:
    """As Spark keeps the state: a head and chunks, of which a new monitor is made."""
    query = query_of(budget=budget, **({"group_by": "team"} if by_team else {}))
    store = JournalStore()
    journals: list[Journal[Any]] = []

    def restart(monitor: Any, sources: Any) -> Monitor:
        # The first one begins with a monitor that holds something already.
        journal = journals.pop() if journals else Journal(monitor)
        store.write(journal.record("nonce", whole=not store.written))
        journals.append(store.rebuilt(build_monitor(query, source=sources)))
        again: Monitor = journals[0].monitor
        return again

    plain = [told.answer for told in play(query, given_steps)]
    assert plain == [told.answer for told in play(query, given_steps, restart=restart)]
