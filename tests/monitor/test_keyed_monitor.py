"""Keys of any type and of several columns are ranked as numbers and text, and come back."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.typed_keys import DAY, TYPES, keyed, table_of
from topwater.errors import BatchError, QueryError, StateError
from topwater.model import Answer, KeyColumn, KeyForm
from topwater.monitor import KeyedMonitor, TopKMonitor, build_monitor
from topwater.monitor.snapshot import describe
from topwater.query import TopKQuery
from topwater.remote import memory
from topwater.windows import tumbling


def query_of(key: Any = ("product", "day"), **changes: Any) -> TopKQuery:
    plain = {"key": key, "time": "at", "window": tumbling(10), "k": 3}
    return TopKQuery(**{**plain, "take": {"sold": "count"}, "score": "sold", **changes})


def fed(monitor: KeyedMonitor, tables: list[Any]) -> list[Answer]:
    found: list[Answer] = []
    for table in tables:
        monitor.ingest(table)
        found += monitor.close_until(monitor.watermark or 0)
    return found


def sold(*keys: Any, at: int = 1) -> list[dict[str, Any]]:
    return [{"product": product, "day": day, "at": at} for product, day in keys]


@given(keyed(), st.data())
def test_the_best_are_the_most_frequent_keys_however_batches_are_cut_and_over_a_restart(
    case: tuple[KeyForm, list[Any]], data: st.DataObject
) -> None:
    form, keys = case
    query = query_of(form.names)
    keys = keys + data.draw(st.lists(st.sampled_from(keys), max_size=5) if keys else st.just([]))
    table = table_of(form, keys, at=pa.array([1] * len(keys), pa.int64()))
    cut = data.draw(st.integers(0, len(keys)))
    first, second = table.slice(0, cut), table.slice(cut)
    monitor = KeyedMonitor(query)
    monitor.ingest(first)
    monitor = KeyedMonitor(query, monitor.snapshot())
    monitor.ingest(second)
    counted = Counter(keys)
    best = sorted(counted, key=lambda key: (-counted[key], key))[:3]
    (answer,) = monitor.flush() if keys else [Answer(None, ())]  # type: ignore[arg-type]
    assert answer.keys == best
    assert [type(key) for key in answer.keys] == [type(key) for key in best]


@given(keyed(2), keyed(2))
def test_groups_may_be_of_any_type_too(
    groups: tuple[KeyForm, list[Any]], keys: tuple[KeyForm, list[Any]]
) -> None:
    by = KeyForm(tuple(KeyColumn(f"g{at}", each.kind) for at, each in enumerate(groups[0].columns)))
    pairs = [*zip(groups[1], keys[1], strict=False)]
    table = table_of(keys[0], [key for _, key in pairs], at=[1] * len(pairs))
    for name, column in zip(
        by.names, table_of(by, [group for group, _ in pairs]).columns, strict=True
    ):
        table = table.append_column(name, column)
    monitor = KeyedMonitor(query_of(keys[0].names, group_by=by.names, k=100))
    monitor.ingest(table)
    found = {(answer.group, key) for answer in monitor.flush() for key in answer.keys}
    assert found == {*pairs}


@pytest.mark.parametrize("kind", [*TYPES])
def test_a_source_is_asked_by_keys_as_the_stream_has_them(kind: str) -> None:
    values: dict[str, list[Any]] = {
        "text": ["a", "b"],
        "whole": [-7, 7],
        "boolean": [False, True],
        "date": [DAY, DAY.replace(1999)],
        "instant": [datetime(2026, 1, 1, tzinfo=UTC), datetime(1960, 1, 1, tzinfo=UTC)],
        "local": [datetime(2026, 1, 1), datetime(1960, 1, 1)],
        "decimal(2)": [Decimal("1.50"), Decimal("-0.25")],
    }
    form = KeyForm((KeyColumn("product", kind),))
    table = table_of(form, values[kind], at=[1, 2])
    query = query_of("product", score="sold * price", refresh={"remote": "price", "budget": 2})
    monitor = KeyedMonitor(query, source=memory(dict(zip(values[kind], (2.0, 1.0), strict=True))))
    monitor.ingest(table)
    (answer,) = monitor.flush()
    assert answer.keys == values[kind]
    assert [row.remote for row in answer.rows] == [2.0, 1.0]
    assert {look.key for look in answer.looked_up} == {*values[kind]}


def test_a_null_in_any_part_is_a_bad_key_and_moves_the_time() -> None:
    monitor = KeyedMonitor(query_of())
    rows = [*sold(("tea", DAY), (None, DAY), ("tea", None)), *sold((None, None), at=12)]
    (answer,) = fed(monitor, [rows])
    assert (answer.keys, answer.counts.bad_key) == ([("tea", DAY)], 3)


def test_what_keys_are_may_be_told_late() -> None:
    monitor = KeyedMonitor(query_of())
    answers = fed(monitor, [[], sold(("tea", None)), sold((None, None)), sold(("tea", DAY), at=3)])
    answers += monitor.flush()
    assert [(each.keys, each.counts.bad_key) for each in answers] == [([("tea", DAY)], 2)]


def test_a_batch_that_is_refused_leaves_no_trace() -> None:
    monitor = KeyedMonitor(query_of(take={"sold": "sum(price)"}))
    with pytest.raises(
        BatchError, match=r"(?s)'price' is not there; there are: product, day, at\n"
    ):
        monitor.ingest(sold(("tea", DAY)))
    with pytest.raises(BatchError, match="'country' is not there"):
        KeyedMonitor(query_of(("product", "country"))).ingest(sold(("tea", DAY)))
    monitor.ingest([{"product": 7, "day": True, "at": 1, "price": 2.0}])
    assert monitor.flush()[0].keys == [(7, True)]


def test_a_column_may_not_hold_something_else_later_nor_after_a_restart() -> None:
    monitor = KeyedMonitor(query_of())
    monitor.ingest(sold(("tea", DAY)))
    for each in (monitor, KeyedMonitor(query_of(), monitor.snapshot())):
        with pytest.raises(BatchError, match="'day' holds strings, and held dates before"):
            each.ingest(sold(("tea", "monday")))
        assert each.flush()[0].keys == [("tea", DAY)]


def test_the_time_may_be_the_key() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    monitor = KeyedMonitor(query_of("at"))
    monitor.ingest({"at": [moment, moment]})
    (answer,) = monitor.flush()
    assert (answer.keys, answer.rows[0].score) == ([moment], 2.0)


def test_over_integers_and_text_it_adds_nothing() -> None:
    rows = {"product": ["tea", "tea", "rum"], "at": [1, 2, 3]}
    mine, plain = KeyedMonitor(query_of("product")), TopKMonitor.build(query_of("product"))
    for each in (mine, plain):
        each.ingest(rows)
    assert mine.facts() == {**plain.facts(), "forms": [["text"], None]}
    assert mine.flush() == plain.flush()


def test_who_misses_is_told_with_keys_as_they_were() -> None:
    missed: list[Answer] = []
    refresh = {"remote": "price", "policy": "wst", "budget": {"fetches": 0, "accuracy": 1.0}}
    query = query_of(score="sold * price", refresh=refresh, k=1)
    monitor = KeyedMonitor(query, source=memory({}), on_miss=missed.append)
    monitor.ingest(sold(("tea", DAY), ("rum", DAY)))
    answers = monitor.flush()
    assert missed == answers
    assert missed[0].keys[0] in {("tea", DAY), ("rum", DAY)}


def test_its_facts_can_be_taken_over() -> None:
    monitor = KeyedMonitor(query_of())
    monitor.ingest(sold(("tea", DAY)))
    other = KeyedMonitor(query_of())
    other.restore_facts(monitor.facts())
    assert other.facts() == monitor.facts()
    assert other.next_close() == monitor.next_close()


def test_a_snapshot_is_of_one_query_and_can_be_described() -> None:
    monitor = KeyedMonitor(query_of(group_by=("day", "product")))
    monitor.ingest(sold(("tea", DAY)))
    with pytest.raises(StateError, match="another query"):
        KeyedMonitor(query_of(), monitor.snapshot())
    found = describe(monitor.snapshot())
    assert found.query == monitor.query
    assert found.rankings[0].group == (DAY, "tea")


def test_inside_keys_have_one_column() -> None:
    for build in (TopKMonitor.build, build_monitor):
        with pytest.raises(QueryError, match="fix: use run"):
            build(query_of())
    with pytest.raises(QueryError, match="fix: use run"):
        build_monitor(query_of("product", group_by=("day", "at")))


def test_a_wrong_keyword_suggests_the_right_one() -> None:
    wrong: dict[str, Any] = {"sorce": memory({"tea": 1.0})}
    for make in (KeyedMonitor, TopKMonitor.build):
        with pytest.raises(QueryError, match=r"sorce: no such setting\n  fix: did you mean source"):
            make(query_of("product"), **wrong)
