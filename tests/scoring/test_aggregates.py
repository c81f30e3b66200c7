"""Partial aggregates against plain Python, merged in any order and any number of times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.oracle import REDUCE, Seen
from tests.support.timing import effort
from topwater.errors import QueryError
from topwater.scoring.aggregates import FUNCTIONS, Aggregate, Aggregation

ALL = {name: Aggregate(name, None if name == "count" else "v") for name in FUNCTIONS}
NAMES = st.integers(-4, 4) | st.sampled_from([-(2**63), 2**63 - 1, 2**40])
ROWS = st.lists(
    st.tuples(st.integers(0, 3), NAMES, st.integers(0, 4), st.integers(-5, 5).map(float)),
    min_size=1,
    max_size=40,
)


def table(rows: list[tuple[Any, ...]], *, text: bool = False) -> pa.Table:
    pane, key, time, value = zip(*rows, strict=True)
    # A later pane has later times.
    times = [10 * p + t for p, t in zip(pane, time, strict=True)]
    keys = [f"k{k}" for k in key] if text else list(key)
    return pa.table({"pane": pane, "key": keys, "time": times, "from v": value})


def by_hand(rows: pa.Table) -> dict[Any, dict[str, float]]:
    keys: dict[Any, list[Seen]] = {}
    for row in rows.to_pylist():
        keys.setdefault(row["key"], []).append(Seen(row["key"], row["time"], row["from v"]))
    return {
        key: {"time": max(e.time for e in seen)} | {n: float(REDUCE[n](seen)) for n in FUNCTIONS}
        for key, seen in keys.items()
    }


def found(values: pa.Table) -> dict[Any, dict[str, float]]:
    rows = values.to_pylist()
    assert len({row["key"] for row in rows}) == len(rows)
    return {row.pop("key"): row for row in rows}


@settings(max_examples=80, deadline=None)
@given(ROWS, st.booleans(), st.lists(st.integers(0, 40), max_size=3), st.randoms())
def test_equal_to_plain_python(
    rows: list[tuple[Any, ...]], text: bool, cuts: list[int], random: Any
) -> None:
    whole = table(rows, text=text)
    aggregation = Aggregation(ALL)
    right = by_hand(whole)
    assert found(aggregation.values(aggregation.partials(whole))) == right
    ends = sorted(min(cut, len(rows)) for cut in cuts)
    parts = [
        aggregation.partials(whole.slice(first, last - first))
        for first, last in zip([0, *ends], [*ends, len(rows)], strict=True)
        if first < last
    ]
    random.shuffle(parts)
    merged = aggregation.merge(pa.concat_tables(parts))
    again = aggregation.merge(aggregation.merge(merged))
    assert found(aggregation.values(pa.concat_tables(parts))) == right
    assert found(aggregation.values(merged)) == right
    assert found(aggregation.values(again)) == right


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("keys", [10, 1_000, 20_000])
def test_last_belongs_to_its_own_key(text: bool, keys: int) -> None:
    """Arrow orders groups as it likes, and differently after a sort."""
    rng = np.random.default_rng(keys)
    key = rng.integers(-keys, keys, 2 * keys)
    time = rng.permutation(len(key))
    rows = pa.table(
        {
            "pane": np.zeros(len(key), np.int64),
            "key": key.astype(str) if text else key,
            "time": time,
            "from v": time * 2.0,
        }
    )
    aggregation = Aggregation({"a": Aggregate("last", "v"), "b": Aggregate("last", "v")})
    values = aggregation.values(aggregation.partials(rows)).to_pydict()
    twice = [2.0 * t for t in values["time"]]
    assert values["a"] == values["b"] == twice


@pytest.mark.parametrize("name", ["row", "time_max", "v", "n", "last", "v_last", "row_min"])
def test_any_name_will_do(name: str) -> None:
    for function in FUNCTIONS:
        aggregation = Aggregation({name: Aggregate(function, None if function == "count" else "v")})
        values = aggregation.values(aggregation.partials(table([(0, 1, 1, 1.0)])))
        assert values.column_names == ["key", "time", name]


def test_columns_are_read_once() -> None:
    assert Aggregation(ALL).columns == ("v",)
    assert Aggregation({"n": Aggregate("count")}).columns == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("count", Aggregate("count")),
        (" COUNT ( ) ", Aggregate("count")),
        ("sum(amount)", Aggregate("sum", "amount")),
        ("Max( `two words` )", Aggregate("max", "two words")),
        ("min(`a(b)`)", Aggregate("min", "a(b)")),
        ("last(été)", Aggregate("last", "été")),
        ("mean(time)", Aggregate("mean", "time")),
    ],
)
def test_parse(text: str, expected: Aggregate) -> None:
    assert Aggregate.parse(text, field="take.x") == expected
    assert Aggregate.parse(str(expected), field="take.x") == expected


@pytest.mark.parametrize(
    "text",
    ["", "median(v)", "sum", "sum()", "count(v)", "sum(a", "sum(a b)", "sum(a)(b)", "v", None, 3],
)
def test_what_is_no_aggregate(text: Any) -> None:
    with pytest.raises(QueryError) as caught:
        Aggregate.parse(text, field="take.x")
    assert caught.value.field == "take.x"
    assert caught.value.fix


def crowded(rows: int, keys: int) -> tuple[pa.Table, pa.Table]:
    """The same rows twice, with keys that Arrow can tell apart, and with keys that it can't."""
    rng = np.random.default_rng(5)
    key = rng.integers(0, keys, rows)
    columns = {
        "pane": rng.integers(0, 3, rows),
        "key": key,
        "time": rng.integers(0, 1_000, rows),
        "from v": rng.random(rows),
    }
    return pa.table(columns), pa.table(columns | {"key": key << 40})


@pytest.mark.parametrize("names", [["count"], ["sum", "mean", "min"], [*FUNCTIONS]])
def test_keys_that_crowd_in_arrows_table_have_the_same_aggregates(names: list[str]) -> None:
    aggregation = Aggregation({name: ALL[name] for name in names})
    plain, shifted = map(aggregation.partials, crowded(30_000, 5_000))
    order = [("pane", "ascending"), ("key", "ascending")]
    plain, shifted = plain.sort_by(order), shifted.sort_by(order)
    assert shifted.column("key").to_numpy().tolist() == [k << 40 for k in plain["key"].to_pylist()]
    assert shifted.schema == plain.schema
    assert shifted.drop_columns("key").equals(plain.drop_columns("key"))


def test_a_million_multiples_of_a_power_of_two_take_no_minutes() -> None:
    """They took four minutes: all stood in one place of Arrow's hash table."""
    aggregation = Aggregation({"n": ALL["count"]})
    plain, shifted = crowded(300_000, 2**23)
    usual = effort(lambda: aggregation.partials(plain), 0.0)
    enough = 20 * usual
    assert effort(lambda: aggregation.partials(shifted), enough) < enough
