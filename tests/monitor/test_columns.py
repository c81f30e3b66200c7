"""Every Arrow type in every role; what can't be used is counted, or refused by name."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topwater.errors import BatchError
from topwater.local import run
from topwater.model import Counts
from topwater.monitor import TopKMonitor
from topwater.monitor.columns import only_finite, read
from topwater.monitor.grouped import GroupedMonitor
from topwater.monitor.reduction import reduce_for_shards
from topwater.query import TopKQuery
from topwater.windows import FARTHEST, Windows, counting, tumbling

EARLY = Windows(10, 10, start=-(10**15))
"""Everything after the year -29,719 is in a window."""


def query_of(**changes: Any) -> TopKQuery:
    plain = {"key": "who", "time": "at", "window": EARLY, "score": "v", "k": 3}
    return TopKQuery(**{**plain, **changes})


def columns(**changes: Any) -> dict[str, Any]:
    return {"who": [1, 2, 3], "at": [1, 2, 3], "v": [1.0, 2.0, 3.0], **changes}


def times(column: Any, query: TopKQuery | None = None) -> tuple[list[int], Counts]:
    n = len(column)
    readout = read(query or query_of(), {"who": list(range(n)), "at": column, "v": [1.0] * n})
    return readout.time.tolist(), readout.counts


def scores(column: Any) -> list[float]:
    n = len(column)
    readout = read(query_of(), {"who": list(range(n)), "at": [1] * n, "v": column})
    found: list[float] = readout.values["v"].tolist()
    return found


class TestKeys:
    @pytest.mark.parametrize(
        "kind",
        [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()],
    )
    def test_integers(self, kind: pa.DataType) -> None:
        readout = read(query_of(), columns(who=pa.array([5, None, 7], kind)))
        assert readout.key.to_pylist() == [5, 7]
        assert readout.key.type == pa.int64()
        assert readout.counts == Counts(events=3, bad_key=1)

    def test_the_largest_of_each_sign(self) -> None:
        keys = [2**63 - 1, -(2**63), 0]
        assert read(query_of(), columns(who=keys)).key.to_pylist() == keys
        keys = [2**32 - 1, 0, 1]
        found = read(query_of(), columns(who=pa.array(keys, pa.uint32())))
        assert found.key.to_pylist() == keys

    @pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
    def test_strings(self, kind: pa.DataType) -> None:
        readout = read(query_of(), columns(who=pa.array(["é", None, ""], kind)))
        assert readout.key.to_pylist() == ["é", ""]
        assert readout.counts == Counts(events=3, bad_key=1)

    @pytest.mark.parametrize("values", [["a", "b"], [4, 5]])
    def test_dictionaries(self, values: list[Any]) -> None:
        coded = pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), pa.array([*values, None]))
        assert read(query_of(), columns(who=coded)).key.to_pylist() == values[::-1]
        hidden = pa.DictionaryArray.from_arrays(pa.array([1, 2, 0]), pa.array([*values, None]))
        readout = read(query_of(), columns(who=hidden))
        assert readout.key.to_pylist() == values[::-1]
        assert readout.counts.bad_key == 1

    def test_dictionaries_that_differ_from_chunk_to_chunk(self) -> None:
        parts = [pa.array(part).dictionary_encode() for part in (["a", "b"], ["b"])]
        table = pa.table({"who": pa.chunked_array(parts), "at": [1, 2, 3], "v": [1.0] * 3})
        assert read(query_of(), table).key.to_pylist() == ["a", "b", "b"]

    def test_nothing_but_nulls(self) -> None:
        readout = read(query_of(), columns(who=[None] * 3))
        assert len(readout) == 0
        assert readout.counts == Counts(events=3, bad_key=3)

    @pytest.mark.parametrize(
        "keys",
        [
            pa.array([1, 2, 3], pa.uint64()),
            [1.0, 2.0, 3.0],
            [True, False, True],
            [b"a", b"b", b"c"],
            [dt.date(2024, 1, 1)] * 3,
            [decimal.Decimal("1.5")] * 3,
            [[1], [2], [3]],
            [{"a": 1}] * 3,
            pa.array([b"a", b"b", b"c"], pa.binary_view()),
        ],
        ids=lambda keys: str(pa.array(keys).type),
    )
    def test_types_that_are_refused(self, keys: Any) -> None:
        with pytest.raises(BatchError) as caught:
            read(query_of(), columns(who=keys))
        assert caught.value.problem == f"the key column 'who' is of type {pa.array(keys).type}"
        assert "cast the column" in caught.value.fix


class TestTimes:
    @pytest.mark.parametrize("zone", [None, "UTC", "Europe/Rome", "+05:30"])
    @pytest.mark.parametrize(
        ("unit", "per_second"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)]
    )
    def test_timestamps(self, unit: str, per_second: int, zone: str | None) -> None:
        ticks = [0, 1, -1, 1_700_000_000 * per_second, None]
        column = pa.array(ticks, pa.int64()).cast(pa.timestamp(unit, zone))
        found, counts = times(column)
        assert found == [t * 1_000 // per_second for t in ticks if t is not None]
        assert counts == Counts(events=5, bad_time=1)

    @settings(max_examples=60, deadline=None)
    @given(
        st.sampled_from([("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)]),
        st.lists(st.integers(-(2**63) + 1, 2**63 - 1), min_size=1, max_size=6),
    )
    def test_no_tick_overflows(self, unit: tuple[str, int], ticks: list[int]) -> None:
        exact = [tick * 1_000 // unit[1] for tick in ticks]
        # The limit is the same in both directions, and may cut the last tick of a coarse unit.
        near = [time for time in exact if abs(time) < FARTHEST - 1_000]
        column = pa.array(ticks, pa.int64()).cast(pa.timestamp(unit[0]))
        found, counts = times(column, query_of(window=Windows(10, 10, start=1 - FARTHEST)))
        assert [t for t in found if abs(t) < FARTHEST - 1_000] == near
        assert all(abs(time) < FARTHEST for time in found)
        assert counts.bad_time + len(found) + counts.before_start == len(ticks)

    def test_moments_before_1970_belong_to_the_millisecond_they_are_in(self) -> None:
        for unit, ticks in (("us", [-1, -1_000, -1_001]), ("ns", [-1, -1_000_000, -1_000_001])):
            column = pa.array(ticks, pa.int64()).cast(pa.timestamp(unit))
            assert times(column)[0] == [-1, -1, -2]

    def test_dates(self) -> None:
        days = [dt.date(1970, 1, 2), dt.date(1969, 12, 31), None]
        for kind in (pa.date32(), pa.date64()):
            found, counts = times(pa.array(days, kind))
            assert found == [86_400_000, -86_400_000]
            assert counts == Counts(events=3, bad_time=1)

    def test_the_last_day_of_date32_is_too_far(self) -> None:
        far = pa.array([2**31 - 1, -(2**31), 1], pa.int32()).cast(pa.date32())
        assert times(far) == ([86_400_000], Counts(events=3, bad_time=2))

    @pytest.mark.parametrize(
        "kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()]
    )
    def test_integers_are_milliseconds(self, kind: pa.DataType) -> None:
        found, counts = times(pa.array([5, None, 7], kind))
        assert found == [5, 7]
        assert counts == Counts(events=3, bad_time=1)

    def test_integers_too_far_away_are_counted(self) -> None:
        far = [2**63 - 1, -(2**63), FARTHEST, -FARTHEST, 5]
        assert times(far) == ([5], Counts(events=5, bad_time=4))
        unsigned = pa.array([2**64 - 1, 2**64 - 5, 2**63, 5], pa.uint64())
        assert times(unsigned) == ([5], Counts(events=4, bad_time=3))

    def test_dictionaries_and_python_datetimes(self) -> None:
        moment = dt.datetime(2024, 5, 1, 12, 0, 0, 1_500, tzinfo=dt.UTC)
        right = [int(moment.timestamp()) * 1_000 + 1] * 2
        assert times([moment, moment])[0] == right
        assert times(pa.array([moment, moment]).dictionary_encode())[0] == right

    def test_pandas_and_numpy(self) -> None:
        stamps = ["2024-05-01", "NaT", "1969-12-31T23:59:59.9999"]
        right = ([1_714_521_600_000, -1], Counts(events=3, bad_time=1))
        assert times(np.array(stamps, "datetime64[us]")) == right
        assert times(pd.Series(pd.to_datetime(stamps, format="ISO8601"))) == right

    def test_before_the_start_is_counted_apart(self) -> None:
        query = query_of(window=tumbling(10, start=2))
        readout = read(query, columns(who=[None, 1, 2], at=[0, 2, 3], v=[1.0, None, 3.0]))
        assert readout.time.tolist() == [3]
        assert readout.counts == Counts(events=3, bad_key=1, before_start=1)

    def test_nothing_but_nulls(self) -> None:
        assert times([None, None]) == ([], Counts(events=2, bad_time=2))

    def test_count_windows_read_no_time(self) -> None:
        query = query_of(window=counting(2), time="at")
        readout = read(query, {"who": [1], "v": [1.0]})
        assert readout.time.tolist() == [0]

    @pytest.mark.parametrize(
        "column",
        [[b"2024-01-01"], [1.5], [True], [dt.timedelta(1)], [dt.time(1)], [[1]]],
        ids=lambda column: str(pa.array(column).type),
    )
    def test_types_that_are_refused(self, column: Any) -> None:
        with pytest.raises(BatchError, match="the time column 'at' is of type") as caught:
            times(column)
        assert "milliseconds since 1970" in caught.value.fix


class TestScores:
    @pytest.mark.parametrize(
        "kind",
        [
            *(pa.int8(), pa.int64(), pa.uint8(), pa.uint64()),
            *(pa.float16(), pa.float32(), pa.float64()),
            *(pa.decimal128(9, 2), pa.decimal256(60, 20)),
        ],
        ids=str,
    )
    def test_numbers(self, kind: pa.DataType) -> None:
        values = [1, None, 3]
        if pa.types.is_decimal(kind):
            values = [None if v is None else decimal.Decimal(v) for v in values]  # type: ignore[misc]
        if kind == pa.float16():
            values = np.array([1, np.nan, 3], np.float16)  # type: ignore[assignment]
        found = scores(pa.array(values, kind))
        assert found[::2] == [1.0, 3.0]
        assert math.isnan(found[1])

    def test_unsigned_and_booleans(self) -> None:
        assert scores(pa.array([2**64 - 1], pa.uint64())) == [2.0**64]
        assert scores([True, False]) == [1.0, 0.0]
        assert scores(pa.array([1.5, 2.5]).dictionary_encode()) == [1.5, 2.5]
        assert scores([decimal.Decimal("-1.25")]) == [-1.25]

    def test_nulls_and_what_is_not_finite_are_bad_scores(self) -> None:
        values = [None, math.nan, math.inf, -math.inf, -0.0]
        readout = read(query_of(), {"who": range(5), "at": [1] * 5, "v": values})
        kept, finite = only_finite(readout, readout.values["v"])
        assert kept.key.to_pylist() == [4]
        assert finite.tolist() == [0.0]
        assert kept.counts == Counts(events=5, bad_score=4)
        assert [value.tolist() for value in kept.values.values()] == [[0.0]]

    def test_nothing_but_nulls(self) -> None:
        assert all(math.isnan(score) for score in scores([None, None]))

    @pytest.mark.parametrize(
        "column",
        [["1"], [b"1"], [dt.datetime(2024, 1, 1)], [dt.timedelta(1)], [[1.0]]],
        ids=lambda column: str(pa.array(column).type),
    )
    def test_types_that_are_refused(self, column: Any) -> None:
        with pytest.raises(BatchError, match=r"the score column 'v' is of type .*, not numeric"):
            scores(column)
        query = query_of(take={"n": "sum(v)"}, score="n")
        with pytest.raises(BatchError, match=r"the take column 'v' is of type .*, not numeric"):
            read(query, {"who": [1], "at": [1], "v": column})


TABLE = pa.table(columns(who=["a", "b", "c"], more=[[1], [2], [3]]))


@pytest.mark.parametrize(
    "batch",
    [
        TABLE,
        TABLE.to_batches()[0],
        TABLE.to_pydict(),
        pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1, 0), TABLE.slice(1)]),
        pa.concat_tables([TABLE, TABLE]).slice(3),
        pa.concat_tables([TABLE, TABLE]).slice(3).combine_chunks(),
        {name: pa.chunked_array([TABLE[name].chunk(0)]) for name in TABLE.column_names},
        {"who": np.array(["a", "b", "c"]), "at": np.arange(1, 4), "v": np.arange(1.0, 4.0)},
        {name: pd.Series(TABLE[name].to_pylist()) for name in ("who", "at", "v")},
        {"who": iter("abc"), "at": range(1, 4), "v": (1.0, 2.0, 3.0)},
    ],
)
def test_forms_of_a_batch(batch: Any) -> None:
    readout = read(query_of(), batch)
    assert readout.key.to_pylist() == ["a", "b", "c"]
    assert readout.time.tolist() == [1, 2, 3]
    assert readout.values["v"].tolist() == [1.0, 2.0, 3.0]
    assert readout.counts == Counts(events=3)


def test_slices_with_nulls_before_and_inside() -> None:
    whole = pa.record_batch(
        {
            "who": pa.array([None, "x", None, "a", "b", "c"]),
            "at": pa.array([None, None, 1, 1, None, 3]),
            "v": pa.array([None, 1.0, None, 1.0, 2.0, None]),
        }
    )
    readout = read(query_of(), whole.slice(2))
    assert readout.key.to_pylist() == ["a", "c"]
    assert readout.time.tolist() == [1, 3]
    assert readout.values["v"].tolist()[:1] == [1.0]
    assert readout.counts == Counts(events=4, bad_key=1, bad_time=1)


@pytest.mark.parametrize(
    "empty",
    [
        TABLE.slice(0, 0),
        TABLE.schema.empty_table(),
        {"who": [], "at": [], "v": []},
        pa.table({"who": pa.chunked_array([], pa.string()), "at": [], "v": []}),
        pa.table({"who": pa.array([], pa.dictionary(pa.int8(), pa.string())), "at": [], "v": []}),
        pd.DataFrame(columns=["who", "at", "v"]),
        pl.DataFrame(schema={"who": pl.String, "at": pl.Datetime("us", "UTC"), "v": pl.Float64}),
        pl.DataFrame(),
        [],
    ],
)
def test_empty_batches(empty: Any) -> None:
    readout = read(query_of(), empty)
    assert (len(readout), readout.counts) == (0, Counts())
    monitor = TopKMonitor.build(query_of())
    monitor.ingest(empty)
    assert monitor.watermark is None


class TestWhatIsRefused:
    @pytest.mark.parametrize(("name", "role"), [("who", "key"), ("at", "time"), ("v", "score")])
    def test_a_missing_column(self, name: str, role: str) -> None:
        batch = columns(other=[1, 2, 3])
        del batch[name]
        with pytest.raises(BatchError) as caught:
            read(query_of(), batch)
        there = ", ".join(batch)
        assert caught.value.problem == (
            f"the {role} column {name!r} is not there; there are: {there}"
        )
        assert caught.value.fix == f"name one of them in the query's {role}, or rename the column"

    def test_a_missing_column_of_a_query_with_groups(self) -> None:
        table = pa.table(columns(team=["x", "y", "x"], more=[1, 2, 3]))
        monitor = GroupedMonitor.build(query_of(group_by="team"))
        for name, role in (("who", "key"), ("v", "score"), ("team", "group_by")):
            others = ", ".join(each for each in table.column_names if each != name)
            with pytest.raises(BatchError) as caught:
                monitor.ingest(table.drop_columns(name))
            wrong = f"the {role} column {name!r} is not there; there are: {others}"
            assert caught.value.problem == wrong

    def test_a_missing_column_of_an_aggregate(self) -> None:
        query = query_of(take={"n": "sum(w)"}, score="n")
        with pytest.raises(BatchError, match="the take column 'w' is not there") as caught:
            read(query, columns())
        assert "the query's take" in caught.value.fix

    @pytest.mark.parametrize("name", ["who", "at", "v"])
    def test_a_column_that_is_there_twice(self, name: str) -> None:
        table = pa.table(columns())
        with pytest.raises(BatchError, match=f"'{name}' is there twice"):
            read(query_of(), table.append_column(name, table[name]))

    def test_another_column_may_be_there_twice(self) -> None:
        table = pa.table(columns(x=[1, 2, 3]))
        assert len(read(query_of(), table.append_column("x", table["x"]))) == 3

    @pytest.mark.parametrize(
        "make",
        [
            lambda: None,
            lambda: 3,
            lambda: b"who",
            lambda: {"who", "at", "v"},
            lambda: [1, 2, 3],
            lambda: [columns(), "who"],
            lambda: np.ones((3, 3)),
            lambda: iter([columns()]),
            lambda: pd.Series([1]),
        ],
    )
    def test_what_is_no_batch(self, make: Callable[[], Any]) -> None:
        with pytest.raises(BatchError, match="a batch can't be a") as caught:
            read(query_of(), make())
        for word in ("Arrow", "pandas", "Polars", "mapping", "list of rows"):
            assert word in caught.value.fix

    @pytest.mark.parametrize(
        "make",
        [
            lambda: pa.array([1]),
            lambda: pa.chunked_array([[1]]),
            lambda: pl.Series([1]),
            lambda: pd.DataFrame({"who": [object()], "at": [1], "v": [1.0]}),
            lambda: pd.DataFrame([[1, 1, 2.0]], columns=["who", "who", "v"]),
        ],
    )
    def test_what_has_no_columns_that_can_be_read(self, make: Callable[[], Any]) -> None:
        with pytest.raises(BatchError, match="can't be read as columns") as caught:
            read(query_of(), make())
        assert "Polars" in caught.value.fix

    def test_a_mapping_of_arrays_in_a_list_is_a_row_of_arrays(self) -> None:
        with pytest.raises(BatchError, match="the key column 'who' is of type list"):
            read(query_of(), [columns()])

    @pytest.mark.parametrize("table", [columns(), pd.DataFrame(columns())])
    def test_one_table_where_many_are_expected(self, table: Any) -> None:
        with pytest.raises(BatchError, match="a batch can't be a str") as caught:
            [*run(query_of(), table)]
        assert caught.value.fix == "pass a list of tables, not one table"


MOMENT = dt.datetime(2026, 1, 1, 1, tzinfo=ZoneInfo("Europe/Rome"))
MOMENTS = [MOMENT, None, MOMENT + dt.timedelta(seconds=1), MOMENT + dt.timedelta(milliseconds=1.5)]
CASES: dict[str, dict[str, Any]] = {
    "whole numbers": {"who": [7, -5, 2**60, 7], "at": [1, 2, 3, 3], "v": [1, 2, 3, 4]},
    "text": {"who": ["é", "", "b", "é"], "at": [1, 2, 3, 3], "v": [1.5, -2.0, 0.0, 1e10]},
    "missing text": {
        "who": ["a", None, "b", None],
        "at": [1, 2, None, 4],
        "v": [1.0, 2.0, 3.0, None],
    },
    "zones": {"who": ["a", "b", "c", "d"], "at": MOMENTS, "v": [1.0, None, 3.0, 4.0]},
    "truth": {"who": ["a", "b", "c", "d"], "at": [1, 2, 3, 4], "v": [True, False, None, True]},
    "nothing": {"who": np.array([], str), "at": np.array([], int), "v": np.array([], float)},
}


def categories(case: dict[str, Any]) -> dict[str, Any]:
    return {**case, "who": pa.array(case["who"]).dictionary_encode()}


def nullable(case: dict[str, Any]) -> pd.DataFrame:
    """Columns of pandas that know what is missing, so that whole numbers stay so."""
    return pd.DataFrame({name: pd.Series(values).convert_dtypes() for name, values in case.items()})


class Streamed:
    """A table of a library that nobody knows, by Arrow's C stream alone."""

    def __init__(self, case: dict[str, Any]) -> None:
        self._table = pa.table(case)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class Batched:
    """The same by Arrow's C array: one record batch."""

    def __init__(self, case: dict[str, Any]) -> None:
        self._batch = pa.record_batch(case)

    def __arrow_c_array__(self, requested_schema: object | None = None) -> object:
        return self._batch.__arrow_c_array__(requested_schema)


class Exchanged:
    """The same by the dataframe protocol."""

    def __init__(self, case: dict[str, Any]) -> None:
        self._table = pa.table(case)

    def __dataframe__(self, **settings: Any) -> Any:
        return self._table.__dataframe__(**settings)


FORMS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "arrow": pa.table,
    "record batch": pa.record_batch,
    "chunks": lambda case: pa.concat_tables([pa.table(case).slice(0, 1), pa.table(case).slice(1)]),
    "dictionary": lambda case: pa.table(categories(case)),
    "reader": lambda case: pa.table(case).to_reader(),
    "pandas": nullable,
    "pandas on arrow": lambda case: pa.table(case).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas categories": lambda case: nullable(case).astype({"who": "category"}),
    "polars": pl.DataFrame,
    "polars chunks": lambda case: pl.concat(
        [pl.DataFrame(case)[:1], pl.DataFrame(case)[1:]], rechunk=False
    ),
    "columns of polars": lambda case: pl.DataFrame(case).to_dict(),
    "columns of pandas": lambda case: dict(nullable(case)),
    "stream": Streamed,
    "array": Batched,
    "dataframe protocol": Exchanged,
    "rows": lambda case: pa.table(case).to_pylist(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_every_form_is_read_as_the_mapping_is(case: str, form: str) -> None:
    right, found = read(query_of(), CASES[case]), read(query_of(), FORMS[form](CASES[case]))
    assert found.time.tolist() == right.time.tolist()
    assert found.key.to_pylist() == right.key.to_pylist()
    assert np.array_equal(found.values["v"], right.values["v"], equal_nan=True)
    assert found.counts == right.counts
    assert found.beats.tolist() == right.beats.tolist()


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["a", "b"])])
@pytest.mark.parametrize("rows", [slice(None), slice(0, 0), slice(1, 3)])
def test_categories_of_polars(kind: Any, rows: slice) -> None:
    who = ["b", "a", None, "b"]
    frame = pl.DataFrame({"who": pl.Series(who, dtype=kind), "at": [1, 2, 3, 4], "v": [1.0] * 4})
    twice = pl.concat([frame[rows], frame[rows]], rechunk=False)
    expected = [each for each in who[rows] * 2 if each is not None]
    assert read(query_of(), twice).key.to_pylist() == expected


def test_the_index_of_a_frame_is_a_column_if_it_has_a_name() -> None:
    frame = pd.DataFrame(columns()).set_index("at")
    assert read(query_of(), frame).time.tolist() == [1, 2, 3]


def test_rows_may_lack_what_is_not_known() -> None:
    rows: list[dict[str, Any]] = [{"who": "a", "at": 1}, {"who": "b", "at": 2, "v": 2.0}, {"at": 3}]
    readout = read(query_of(), rows)
    assert readout.key.to_pylist() == ["a", "b"]
    assert readout.counts == Counts(events=3, bad_key=1)
    assert np.isnan(readout.values["v"][0])


def test_answers_are_the_same_for_every_form() -> None:
    """By :func:`run`, and by ``ingest`` of a monitor with groups."""
    case = {"who": ["a", "b", "c", "d"], "at": [1, 2, 12, 13], "v": [1.0, 2.0, 3.0, 4.0]}
    for changes in ({}, {"group_by": "team"}):
        query = query_of(window=tumbling(10), **changes)
        batch = {**case, "team": ["x", "y", "x", "x"], "unused": [["x"], [], ["y"], []]}
        right = [*run(query, [batch])]
        assert len(right) == (3 if changes else 2)
        for name, form in FORMS.items():
            if name != "dataframe protocol":  # it has no lists
                assert [*run(query, [form(batch), []])] == right, name


class TestColumnsThatAreNone:
    @pytest.mark.parametrize(
        "changed",
        [
            {"who": [1, 2]},
            {"who": 5},
            {"who": None},
            {"who": [2**70, 1, 2]},
            {"who": ["\ud800", "a", "b"]},
            {"who": [object()] * 3},
            {"v": np.ones((3, 3))},
            {3: [1, 2, 3]},
        ],
    )
    def test_what_are_no_columns(self, changed: dict[Any, Any]) -> None:
        with pytest.raises(BatchError, match="can't be read as columns") as caught:
            read(query_of(), {**columns(), **changed})
        assert caught.value.fix

    @pytest.mark.parametrize("who", [[1, "a", 3], ["a", 2, None], [None, 2.5, "a"]])
    def test_texts_and_numbers_in_one(self, who: list[Any]) -> None:
        for batch in (columns(who=who), [{"who": each, "at": 1, "v": 1.0} for each in who]):
            with pytest.raises(BatchError) as caught:
                read(query_of(), batch)
            assert caught.value.problem == "the column 'who' has texts and numbers"
            assert caught.value.fix == "make all of them texts, or all of them numbers"


def test_a_heartbeat_tells_the_time_and_is_no_event() -> None:
    batch = columns(who=["a", "b", None, None], at=[1, 2, 3, None], v=[1.0] * 4)
    batch |= {"alive": [None, True, False, True]}
    readout = read(query_of(heartbeat="alive"), batch)
    assert readout.key.to_pylist() == ["a"]
    assert sorted(readout.beats.tolist()) == [2, 3]
    assert readout.counts == Counts(events=2, bad_key=1)
    counted = read(query_of(window=counting(2), time=None, heartbeat="alive"), batch)
    assert (len(counted), counted.counts) == (1, Counts(events=2, bad_key=1))
    with pytest.raises(BatchError, match="is of type double"):
        read(query_of(heartbeat="v"), batch)


STRANGE = ["\0", "", " ", "\0\0", "#group", "nan", "None", "-1", "\ufffd", "\U0010ffff", "x" * 9**5]


def test_a_key_of_text_means_nothing_else() -> None:
    batch = columns(who=STRANGE, at=[*range(1, 12)], v=[1.0] * 11)
    readout = read(query_of(), batch)
    assert readout.key.to_pylist() == STRANGE
    assert (readout.counts, len(readout.beats)) == (Counts(events=11), 0)


def test_bytes_that_are_not_text_are_bad_keys_and_bad_groups() -> None:
    text = pa.array([b"a", b"\xff\xfe", None, "\xe9".encode("latin-1"), b"b"]).view(pa.string())
    batch = pa.table({"who": text, "at": [1, 2, 3, 4, 5], "v": [1.0] * 5, "team": ["x"] * 5})
    readout = read(query_of(), batch)
    assert readout.key.to_pylist() == ["a", "b"]
    assert readout.counts == Counts(events=5, bad_key=3)
    turned = batch.rename_columns(["team", "at", "v", "who"])
    parts = [part for _, part in reduce_for_shards(query_of(group_by="team"), turned)]
    assert [part.group for part in parts if part.table.num_rows] == ["a", "b"]
    assert sum(part.counts.bad_key for part in parts) == 3
