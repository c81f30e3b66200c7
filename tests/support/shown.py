"""An answer and a query that have something of everything, for the tests of how they are shown."""

from __future__ import annotations

from typing import Any

from topwater import Answer, Row, TopKQuery, Window, sliding
from topwater.model import Counts, Freshness

EVIL = "<script>alert('x')</script>"
FRESH = Freshness(fetched=7, failed=1, bad=0, precision=0.84, ndcg=0.91, missed=True)


def answer(key: Any = "ann", **more: Any) -> Answer:
    rows = (
        Row(1, key, 2.5, 7, (2.0,), remote=0.5, age=0, confidence=1.0),
        Row(2, "bob", 1.0, 8, (1.0,), remote=4_000.0, age=120_000, confidence=0.4),
    )
    whole = {"exact": False, "freshness": FRESH, "counts": Counts(events=12, late=3, bad_key=1)}
    return Answer(Window(0, 0, 10), rows, **{**whole, **more})


QUERY = TopKQuery(
    key="user",
    time="at",
    window=sliding("100 s", "60 s"),
    take={"n": "count"},
    score="n + followers",
    k=5,
    refresh={"remote": "followers", "policy": "lru", "budget": 3},
    group_by="team",
    lateness="10 s",
)
