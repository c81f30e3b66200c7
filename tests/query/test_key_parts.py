"""Look-ups by a part of the ranked key."""

from __future__ import annotations

from topwater import TopKQuery, remote, run, tumbling
from topwater.query.key_parts import with_key_parts
from topwater.replica.joins.join_settings import JoinSettings

QUERY = TopKQuery(
    key=("product", "country"),
    time="at",
    window=tumbling(10),
    k=2,
    take={"sold": "count", "vendor": "last(vendor)"},
    score="sold * price * trust",
    refresh=[
        {"remote": "price", "from": "shop", "key": "product"},
        {"remote": "trust", "from": "vendors", "key": "vendor"},
    ],
    budget=None,
)


def test_all_keys_with_the_part_share_one_look_up() -> None:
    events = {
        "product": ["tea", "mate", "tea"],
        "country": ["DE", "DE", "IT"],
        "vendor": ["a", "b", "b"],
        "at": [1, 2, 3],
    }
    sources = {
        "shop": remote.memory({"tea": 3.0, "mate": 5.0}),
        "vendors": remote.memory({"a": 2.0, "b": 0.1}),
    }
    (answer,) = run(QUERY, [events], sources=sources)
    assert answer.keys == [("tea", "DE"), ("mate", "DE")]
    assert answer.rows[0].score == 6.0
    assert answer.spent == 4
    assert {(each.source, each.key) for each in answer.looked_up} >= {
        ("shop", "tea"),
        ("vendors", "b"),
    }


def test_it_survives_json() -> None:
    assert TopKQuery.from_json(QUERY.to_json()) == QUERY


def test_a_name_that_is_taken_gets_another_one() -> None:
    joins = JoinSettings.of([{"remote": "product_part", "key": "product"}])
    take, joins = with_key_parts({"n": "count"}, joins, ("product", "a b"))
    assert take == {"n": "count", "product_part_": "last(`product`)"}
    take, joins = with_key_parts(
        {"n": "count"}, JoinSettings.of([{"remote": "x", "key": "a b"}]), ("product", "a b")
    )
    assert joins.keys == ("a_b_part",)
    assert take["a_b_part"] == "last(`a b`)"  # type: ignore[index]
