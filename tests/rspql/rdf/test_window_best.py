"""Of solutions that are alike only those are held that may be in an answer."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from tests.support.rspql_asked import EX, asked
from topwater.rspql.plan.plan import TIME
from topwater.rspql.rdf.event_format import Documents
from topwater.rspql.rdf.pattern_match import Matcher
from topwater.rspql.rdf.window_best import WindowBest
from topwater.windows import sliding

PLAN = asked(
    "?s ?v", "WINDOW :w { ?s :v ?v ; :x ?x }", "ORDER BY DESC(?v) ?x DESC(?s) LIMIT 3"
)  # fmt: skip
BEST = WindowBest(PLAN, Matcher(Documents(), PLAN.patterns, PLAN.keys, PLAN.numbers, PLAN.texts))
NUMBER = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'


def held(rows: list[tuple[int, str, str, int]]) -> pa.Table:
    time, who, value, x = zip(*rows, strict=True)
    texts = {
        "s": [f"<{EX}{each}>" for each in who],
        "v": [each if each.startswith('"') else NUMBER.format(each) for each in value],
        "x": [NUMBER.format(each) for each in x],
    }
    columns = {name: pa.array(each, pa.large_string()) for name, each in texts.items()}
    return pa.table({TIME: pa.array(time), **columns})


@pytest.mark.parametrize("seed", range(20))
def test_the_k_best_of_each_pane_stay(seed: int) -> None:
    rng = random.Random(seed)
    rows = [
        (at, rng.choice("abc"), str(rng.randrange(2)), rng.randrange(3))
        for at in rng.sample(range(1, 41), 30)
    ]
    found, lost = BEST.of_panes(held(rows), sliding(20, 10))
    wanted = []
    for pane in range(4):
        mine = [row for row in rows if (row[0] - 1) // 10 == pane]
        mine.sort(key=lambda row: -row[0])
        mine.sort(key=lambda row: row[1], reverse=True)
        mine.sort(key=lambda row: (-int(row[2]), row[3]))
        wanted += mine[:3]
    assert sorted(found.column(TIME).to_pylist()) == sorted(row[0] for row in wanted)
    assert not len(lost)


def test_what_has_no_score_goes_and_is_told() -> None:
    found, lost = BEST.of_panes(held([(1, "a", '"many"', 1), (2, "b", "3", 1)]), sliding(9, 3))
    assert (found.column(TIME).to_pylist(), lost.tolist()) == ([2], [1])
    empty, none = BEST.of_panes(found.slice(0, 0), sliding(9, 3))
    assert (empty.num_rows, len(none)) == (0, 0)


def test_of_a_window_only_the_best_go_on() -> None:
    table = pa.table(
        {
            TIME: [1, 2, 3, 4, 5],
            "s x": pa.array([f"<{EX}{n}> {NUMBER.format(n % 2)}" for n in range(4)] + [None]),
            "v": [1.0, 1.0, 1.0, np.nan, 9.0],
        }
    )
    plan = asked("?s ?v", "WINDOW :w { ?s :v ?v ; :x ?x }", "ORDER BY DESC(?v) DESC(?x) LIMIT 1")
    matcher = Matcher(Documents(), plan.patterns, plan.keys, plan.numbers, plan.texts)
    (found,) = WindowBest(plan, matcher).of_window([table])
    # What can't be used goes on, to be counted.
    assert found.column(TIME).to_pylist() == [2, 4, 5]
