"""What is told after settings changed, once, and where too little was kept."""

from __future__ import annotations

from topwater import tumbling
from topwater.model import Answer
from topwater.monitor.settings_notes import SettingsNotes

WINDOWS = tumbling(10)


def answer(window: int) -> Answer:
    return Answer(WINDOWS.window(window), ())


def test_a_far_window_does_not_make_those_before_it_unsure() -> None:
    notes = SettingsNotes(WINDOWS)
    notes.restore_facts({"tuned": [], "unsure": [[3, 4], [9_000, 9_001]]})
    exact = [notes.added_to(answer(each)).exact for each in (3, 4, 5, 6)]
    assert exact == [False, False, True, True]
    again = SettingsNotes(WINDOWS)
    again.restore_facts(notes.facts())
    assert notes.facts() == again.facts() == {"tuned": [], "unsure": [[9_000, 9_001]]}
    assert not again.added_to(answer(9_001)).exact
    assert again.facts()["unsure"] == []


def test_nothing_is_told_of_a_query_that_did_not_change() -> None:
    notes = SettingsNotes(WINDOWS)
    assert notes.added_to(answer(7)) == answer(7)
