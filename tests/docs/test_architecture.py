"""docs/architecture.md: every file it names is there, and every walk it tells happens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.support.call_walks import SOURCE, Calls, walks
from tests.support.docs_pages import ROOT
from tests.support.pushed_scene import several
from tests.support.scenarios import Bench, scenario
from topwater import TopKQuery, remote, run, sliding
from topwater_lab.services import started

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WALKS = walks(PAGE)
INNER = {"published/", "joins/", "wrappers/", "parser/", "plan/", "rdf/"}
"""Folders inside of rooms, named without the room."""
EVENTS = {"user": [1, 2, 2, 3, 1], "at": [5_000, 8_000, 40_000, 50_000, 130_000]}
QUERY = TopKQuery(
    key="user",
    time="at",
    window=sliding("60 s", "30 s"),
    k=2,
    take={"mentions": "count"},
    score="mentions + followers",
    refresh={"remote": "followers", "budget": 1},
)


def one_event() -> Calls:
    """Through the stages of Spark's host, without Java."""
    each = scenario("last-and-sum", 3, files=2, rows=100)
    stages = Bench(each, 1, np.random.default_rng(1))
    with Calls() as calls:
        stages.run(each.files)
    return calls


def one_look_up() -> Calls:
    with started() as service:
        url = f"{service.url}/followers?ids={{keys}}"
        source = remote.http(url, value="users[*].followers", key="users[*].id", rate=1_000)
        with Calls() as calls:
            answers = list(run(QUERY, [EVENTS], source=source))
    assert any(answer.freshness and answer.freshness.fetched for answer in answers)
    return calls


def several_sources() -> Calls:
    query = several(budget=3)
    goods = {"p0": {"price": 2.0, "stock": 5.0}, "p1": {"price": 3.0, "stock": 1.0}}
    sources = {"shop": remote.memory(goods), "vendors": remote.memory({7: 0.5, 8: 0.9})}
    sales = {"product": ["p0", "p1", "p0"], "at": [300, 700, 1_500], "vendor": [7, 8, 7]}
    pushed = {"source": ["shop"], "key": ["p1"], "time": [600], "price": [4.0], "stock": [2.0]}
    with Calls() as calls:
        answers = list(run(query, [sales], sources=sources, changes=[pushed]))
    assert ("told", 1) in answers[0].notices
    assert any(answer.freshness and answer.freshness.fetched for answer in answers)
    return calls


def one_restart() -> Calls:
    each = scenario("worth", 3, files=4)
    stages = Bench(each, 1, np.random.default_rng(1))
    stages.run(each.files[:3])
    with Calls() as calls:
        stages.restart(same_worker=False)
        stages.run(each.files[3:])
    return calls


PLAYED: dict[str, Callable[[], Calls]] = {
    "One event": one_event,
    "One look-up": one_look_up,
    "Several sources, and a change that is pushed": several_sources,
    "One restart": one_restart,
}


def test_every_walk_is_played() -> None:
    assert WALKS.keys() == PLAYED.keys()
    assert min(map(len, WALKS.values())) > 10


@pytest.mark.parametrize("walk", PLAYED)
def test_every_hop_is_a_call_that_happens(walk: str) -> None:
    assert PLAYED[walk]().problems(WALKS[walk]) == []


def test_a_walk_that_does_not_happen_is_found() -> None:
    steps = walks(
        "## One event\n"
        "1. `monitor/loop.py`: `TopKMonitor.facts`\n"
        "   - `query.py`: `nowhere`\n"
        "   - `monitor/columns.py`: `read`\n"
        "2. `monitor/loop.py`: `TopKMonitor.admit`\n"
    )["One event"]
    assert one_event().problems(steps) == [
        "line 3: query.py nowhere was not called",
        "line 4: monitor/columns.py read was not called by TopKMonitor.facts",
        "line 5: monitor/loop.py TopKMonitor.admit was called before TopKMonitor.facts",
    ]


def test_every_file_and_folder_named_is_there() -> None:
    named = re.findall(r"`([\w/]+(?:\.py|\.java|/))`", PAGE)
    assert len(named) > 40
    assert {name for name in named if not (SOURCE / name).exists()} == INNER


def test_every_room_is_in_the_table() -> None:
    rooms = {f"{path.name}/" for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    modules = {path.name for path in SOURCE.glob("*.py") if not path.name.startswith("__")}
    table = PAGE.split("## The rooms")[1].split("\n\n")[1]
    assert set(re.findall(r"`(\w+(?:\.py|/))`", table)) - INNER == rooms | modules
