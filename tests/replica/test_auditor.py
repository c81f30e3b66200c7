"""Who is drawn, with which chance, and what is made of what came."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.election_scene import refresher_of, view_of
from tests.support.looping import MINUTE, Loop, query_of, random_events, random_script
from topwater.errors import QueryError
from topwater.model import Answer
from topwater.replica import Refresher, RefreshSettings, WindowView
from topwater.replica.auditor import _Chances
from topwater.replica.look_ups import LookUps
from topwater.testing import Scripted

NONE = LookUps(np.empty(0, np.int64))


def scene(**more: Any) -> tuple[Refresher, WindowView]:
    """Six keys that were read long ago, of which two are shown."""
    settings: dict[str, Any] = {"audit": 0.5, "aim": "accuracy"}
    refresher = refresher_of(**(settings | more))
    refresher.seed_replica(np.arange(6), np.array([6.0, 5.0, 4.0, 3.0, 2.0, 1.0]), 0)
    view = view_of(30, np.arange(6), np.zeros(6))
    return refresher, view.at(refresher.replica.slots(view.keys))


def test_every_key_that_is_not_looked_up_has_its_chance() -> None:
    _, view = scene()
    order = np.arange(6)
    left = np.array([True, False, True, True, True, True])
    chances = _Chances(view, left, order, 2, np.array([0.3, 0.2, 0.2, 0.0, 0.0, 0.0]))
    expected = chances.of(order)
    assert expected.sum() == pytest.approx(1.0)
    assert expected[1] == 0.0
    assert (expected[left] > 0).all()
    rng = np.random.default_rng(1)
    drawn = np.bincount([chances.draw(rng) for _ in range(6_000)], minlength=6) / 6_000
    assert drawn == pytest.approx(expected, abs=0.02)


def test_draws_do_not_depend_on_the_order_of_rows() -> None:
    _, view = scene()
    turned = replace(view, names=view.keys[::-1], slots=view.slots[::-1])
    doubt, left = np.zeros(6), np.ones(6, bool)
    there, back = np.arange(6), np.arange(6)[::-1]
    one = _Chances(view, left, there, 2, doubt)
    other = _Chances(turned, left, back, 2, doubt)
    first, second = np.random.default_rng(2), np.random.default_rng(2)
    for _ in range(50):
        assert view.keys[one.draw(first)] == turned.keys[other.draw(second)]


def test_a_key_that_rose_or_fell_is_wrong() -> None:
    refresher, view = scene()
    auditor = refresher._auditor
    assert auditor is not None
    before = refresher._ranker.scores(view)
    proposal = refresher._proposals.propose(view, view.slots, before)
    auditor.audit.note_spent(4)
    drawn = auditor.draw(view, before, proposal, np.arange(4), most=6)
    assert drawn is not None
    # Only the last two were left to be drawn, and neither is shown.
    assert set(drawn.at) <= {4, 5}
    refresher.replica.put(view.slots[drawn.at], np.full(len(drawn.at), 9.0), view.end)
    auditor.judge(view, refresher._ranker.scores(view), drawn, NONE, 0.9)
    assert (auditor.audit.errors > 0).all()
    assert len(auditor.audit.errors) == len(drawn.at)


def test_what_the_source_did_not_answer_says_nothing() -> None:
    refresher, view = scene()
    auditor = refresher._auditor
    assert auditor is not None
    before = refresher._ranker.scores(view)
    proposal = refresher._proposals.propose(view, view.slots, before)
    drawn = auditor.draw(view, before, proposal, np.arange(3), most=6)
    assert drawn is not None
    auditor.judge(view, before, drawn, NONE, 0.9)
    assert len(auditor.audit.errors) == 0


def driven(minutes: int = 60, restart: bool = False, **more: Any) -> list[Answer]:
    query = query_of(**({"audit": 0.3, "budget": 5, "aim": "accuracy"} | more))
    loop = Loop(query, Scripted(random_script(5, changes=30)))
    events = random_events(5, n=1_200, until=minutes * MINUTE)
    found = []
    for minute in range(minutes):
        part = [e for e in events if minute * MINUTE < e[1] <= (minute + 1) * MINUTE]
        if restart:
            loop.restart()
            part = part[::-1]
        loop.ingest(part)
        if minute:
            found.append(loop.answer())
    return found


def test_answers_are_audited_and_a_restart_changes_nothing() -> None:
    found = driven()
    fresh = [answer.freshness for answer in found if answer.freshness is not None]
    assert max(each.fetched for each in fresh) <= 5
    assert fresh[0].audited is None
    last = fresh[-1]
    assert last.audited is not None
    assert last.audited_low is not None
    assert last.audited_high is not None
    assert 0 <= last.audited_low <= last.audited <= last.audited_high <= 1
    assert any("audited" in fact for fact in last.facts)
    assert driven(restart=True) == found


@pytest.mark.parametrize("share", [-0.1, 0.51, 1.0, float("nan"), "much", True])
def test_shares_outside_0_to_a_half_are_refused(share: Any) -> None:
    with pytest.raises(QueryError) as caught:
        RefreshSettings("remote", audit=share)
    assert caught.value.field == "refresh.audit"
    assert "0.02" in (caught.value.fix or "")


@pytest.mark.parametrize("more", [{"budget": None}, {"policy": "wst"}, {"policy": "asm"}])
def test_where_there_is_nothing_to_take_a_share_of_it_is_refused(more: Any) -> None:
    with pytest.raises(QueryError, match="limited number of look-ups"):
        RefreshSettings("remote", audit=0.1, **more)
    assert RefreshSettings("remote", audit=0, **more).audit == 0.0
