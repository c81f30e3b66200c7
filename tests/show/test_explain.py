"""What a query does, in words; and that what is promised is what answers keep."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.shown import QUERY
from topwater import Euclidean, TopKQuery, WeightedSum, counting, explain, sliding
from topwater.monitor.exactness import exactness
from topwater.replica import RefreshSettings
from topwater.show.explain import ORDER, Step, Wording, explanation

DRAWN = """\
the 5 best of each window

  window   the last 100 s, every 1 min: 5 panes of 20 s
     │
  take     n = count, for each user of a window
     │
  groups   one ranking for each team
     │
  remote   followers of each user: 3 look-ups a window for each team, chosen by lru
     │     a window with 10 values of team has 30 in all
  score    n + followers, the largest first
     │
  list     one row for each user in each of 5 panes, for each team: it grows with the keys
     │     and a replica, at most 64 MB: beyond it the keys longest unseen are forgotten
  late     events may come 10 s out of order

exact:
  - what the stream says of every key: none is forgotten while it is in a window
  - an answer for which every user of its window was looked up: its field exact is then true

approximate:
  - followers: a window may have more keys than are looked up for it; the others keep the last
    value that came, and their rows say how old it is
  - a key whose followers was never looked up is ranked with the median of the known values
  - each answer carries an estimate of how accurate it is"""


def test_a_query_is_drawn() -> None:
    assert explain(QUERY) == DRAWN


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"refresh": None, "score": "n"}, "exact:\n  - every answer: what is forgotten"),
        ({"refresh": {"remote": "followers", "budget": None}}, "no limit on look-ups"),
        ({"refresh": {"remote": "followers", "policy": "wst"}}, "wst never looks one up"),
        ({"refresh": {"remote": "followers", "policy": "asm"}}, "asm looks up all candidates"),
        ({"refresh": {"remote": "followers", "budget": {"deadline": "2 s"}}}, "within 2 s"),
        ({"refresh": {"remote": "followers", "budget": 1}}, "1 look-up a window"),
        ({"refresh": "followers"}, "budget=None looks up every key of the window"),
        ({"take": {"n": "sum(`a b`)"}}, "n = sum(`a b`), for each user"),
    ],
)
def test_it_follows_the_settings(changes: dict[str, Any], told: str) -> None:
    assert told in explain(replace(QUERY, **changes))


LAST = TopKQuery(
    key="user",
    time="at",
    window=sliding(4, 2),
    take={"n": "last(n)"},
    score="n + followers",
    k=2,
    refresh={"remote": "followers", "budget": None, "spare": 0},
)


def test_only_what_every_answer_keeps_is_promised_of_every_answer() -> None:
    """A list that forgets was explained as exact, and its answers said that they were not."""
    assert "every answer, as of the moment of its look-ups" in explain(LAST)
    forgetting = replace(LAST, list="panes+n")
    assert "every answer" not in explain(forgetting)
    certain = explanation(forgetting).promises[0].reasons[0]
    assert "in which none that was forgotten could be" in certain
    assert "a key that is not among the k + 0 best of any window" in explain(forgetting)
    for query in (LAST, forgetting):
        assert explanation(query).exact == exactness(query)


def test_where_no_value_is_looked_up_no_answer_is_promised() -> None:
    wst = replace(LAST, refresh=RefreshSettings("followers", policy="wst"))
    certain = next(each for each in explanation(wst).promises if each.title == "exact")
    assert certain.reasons == (
        "what the stream says of every key: none is forgotten while it is in a window",
    )


PLAIN = TopKQuery(key="lot", time="at", window=sliding("1 min", "1 min"), score="amount", k=2)


@pytest.mark.parametrize(
    ("query", "title", "line"),
    [
        (PLAIN, "window", "the last 1 min, every 1 min: one pane"),
        (PLAIN, "list", "panes: at most k of each pane: 2 × 1 = 2 items, however many events come"),
        (replace(PLAIN, list="recompute"), "list", "recompute: every event of every open window"),
        (
            replace(LAST, list="topk+n"),
            "list",
            "topk+n: at most k + spare of each open window: (2 + 0) × 2 = 4 keys",
        ),
        (
            replace(PLAIN, group_by="room"),
            "list",
            "panes: at most k of each pane, for each room: "
            "2 × 1 = 2 items, however many events come",
        ),
        (replace(PLAIN, window=counting(1_000, 10)), "window", "the last 1,000 events, every 10"),
        (
            replace(PLAIN, score=WeightedSum({"a": 0.5, "b": 2})),
            "score",
            "0.5 × a + 2 × b, the largest first",
        ),
        (
            replace(PLAIN, score=Euclidean({"a": 1.0, "b": 2.0})),
            "score",
            "Euclidean of a, b, the smallest first",
        ),
    ],
)
def test_steps_say_what_happens(query: TopKQuery, title: str, line: str) -> None:
    steps = {step.title: step.lines for step in explanation(query).steps}
    assert steps[title][0] == line


def test_it_is_plain_values_too() -> None:
    values = json.loads(json.dumps(explanation(QUERY).to_dict()))
    assert values["exact"] == "sometimes"
    assert values["steps"][0] == {
        "title": "window",
        "lines": ["the last 100 s, every 1 min: 5 panes of 20 s"],
    }
    assert [each["title"] for each in values["promises"]] == ["exact", "approximate"]


def test_more_steps_find_their_places_and_replace_what_says_less() -> None:
    whole = explanation(PLAIN).with_steps(
        Step("sink", ("the terminal",)), Step("stream", ("files",)), Step("score", ("mine",))
    )
    titles = [step.title for step in whole.steps]
    assert titles == ["stream", "window", "score", "list", "sink"]
    assert titles == sorted(titles, key=ORDER.index)
    assert "score    mine" in str(whole)


def test_more_reasons_follow_those_of_the_same_title() -> None:
    whole = explanation(PLAIN).with_reasons("exact", ["b"]).with_reasons("new", ["c"])
    assert [each.reasons[-1] for each in whole.promises] == ["b", "c"]
    assert whole.with_reasons("none", []) == whole


def test_things_are_called_what_they_are_called_where_it_was_written() -> None:
    text = str(explanation(LAST, Wording("?u", "?f", "WITH BUDGET UNLIMITED")))
    assert "?f: every key that is remembered" in text
    assert "n = last(n), for each ?u of a window" in text
