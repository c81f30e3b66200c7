"""The window of ten events that how-it-works goes through by hand, number by number."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.support.docs_pages import ROOT
from topwater import Answer, TopKQuery, run, sliding
from topwater.candidates import build
from topwater.model import Items

PAGE = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
WINDOWS, K = sliding(6, 2), 2


def drawn(name: str) -> list[str]:
    """A line of the drawing, without the lines between panes."""
    found = re.search(rf"^ {name} +(.*)$", PAGE, re.MULTILINE)
    assert found is not None, name
    return found[1].replace("│", " ").split()


def tabled(name: str) -> list[str]:
    """A row of the table of candidates."""
    found = re.search(rf"^\| {name} \| (.*) \|$", PAGE, re.MULTILINE)
    assert found is not None, name
    return [cell.strip() for cell in found[1].split("|")]


EVENTS = drawn("event")
TIMES = [int(each) for each in drawn("time")]
SCORES = dict(zip(EVENTS, map(int, drawn("score")), strict=True))
PANES = dict(zip(EVENTS, WINDOWS.pane_of(np.array(TIMES)).tolist(), strict=True))


def beaten_by(event: str, among: list[str]) -> list[str]:
    """The items of the same or a later pane with a better score, by the definition."""
    return [each for each in among if SCORES[each] > SCORES[event] and PANES[each] >= PANES[event]]


@pytest.fixture(scope="module")
def answers() -> list[Answer]:
    query = TopKQuery(key="event", time="time", score="score", k=K, window=WINDOWS)
    columns = {"event": EVENTS, "time": TIMES, "score": list(SCORES.values())}
    return list(run(query, [columns]))[:3]


def test_the_drawing_has_ten_events_in_their_panes() -> None:
    assert len(EVENTS) == len(TIMES) == 10
    first = min(PANES.values())
    assert drawn("pane") == [str(pane - first) for pane in sorted(set(PANES.values()))]
    assert WINDOWS.pane == 2


def test_the_windows_close_when_it_says(answers: list[Answer]) -> None:
    told = re.findall(r"^ W(\d) .*closes at (\d+)$", PAGE, re.MULTILINE)
    assert [int(end) for _, end in told] == [answer.window.end for answer in answers]
    assert not answers[1].window.start < TIMES[EVENTS.index("b")]  # b, at 2, is not in W1


def test_the_table_of_candidates_is_right() -> None:
    items = tabled("item")
    seen = [event for event in EVENTS if TIMES[EVENTS.index(event)] <= 6]
    assert items == sorted(seen, key=lambda event: -SCORES[event])
    assert tabled("score") == [str(SCORES[item]) for item in items]
    assert tabled("pane") == [str(PANES[item] - PANES["a"]) for item in items]
    for item, told, kept in zip(items, tabled("beaten by"), tabled("kept"), strict=True):
        better = sorted(beaten_by(item, seen))
        assert told == (f"{' '.join(better)}: {len(better)}" if better else "–")
        assert kept == ("yes" if len(better) < K else "no")


def test_the_answers_are_those_in_bold(answers: list[Answer]) -> None:
    told = re.findall(r"\*\*(\w), (\w)\*\*", PAGE)
    assert [list(pair) for pair in told] == [answer.keys for answer in answers]


def test_the_list_keeps_what_the_text_says() -> None:
    held = build("panes", WINDOWS, K, first=WINDOWS.last_complete(6))
    kept = []
    for opens, closes in ((0, 6), (6, 8), (8, 10)):
        new = [event for event, time in zip(EVENTS, TIMES, strict=True) if opens < time <= closes]
        items = Items(
            np.array([float(SCORES[event]) for event in new]),
            np.array([TIMES[EVENTS.index(event)] for event in new]),
            np.array(new, object),
        )
        held.add(WINDOWS.group(items))
        kept.append({str(key) for _, _, key in held})
        held.expire(WINDOWS.last_complete(closes + 1))
    assert kept == [set("bdef"), set("degh"), set("ehij")]
    seen = [event for event in EVENTS if 2 < TIMES[EVENTS.index(event)] <= 8]
    assert sorted(beaten_by("f", seen)) == ["e", "h"]
    assert beaten_by("g", seen) == ["h"]
