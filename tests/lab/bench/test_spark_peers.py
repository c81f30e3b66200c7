"""Who takes part in the Spark benchmark, and how what they wrote is read."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa

from topwater_lab.bench.spark_peers import GENERIC, NAIVE, NATIVE, NOOP, OWN_SOURCE, PARTITIONS

ENDS = [datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC) for second in (1, 2)]
MILLIS = [1_767_225_601_000, 1_767_225_602_000]


def test_ours_and_theirs_are_read_as_the_same_answers() -> None:
    ours = pa.table(
        {
            "window_end": [ENDS[1], ENDS[0], ENDS[0]],
            "rank": [1, 2, 1],
            "score": [0.5, 0.25, 0.75],
            "key": [7, 8, 9],
        }
    )
    theirs = pa.table(
        {
            "window": [{"end": ENDS[1]}, {"end": ENDS[0]}],
            "top": [
                [{"value": 0.5, "key": 7}],
                [{"value": 0.75, "key": 9}, {"value": 0.25, "key": 8}],
            ],
        }
    )
    expected = {MILLIS[0]: [(0.75, 9), (0.25, 8)], MILLIS[1]: [(0.5, 7)]}
    assert GENERIC.read(ours) == OWN_SOURCE.read(ours) == expected
    assert NAIVE.read(theirs) == expected
    assert all(form.read(theirs) == expected for form in NATIVE)


def test_native_forms_are_tried_with_both_stores() -> None:
    assert [form.form for form in NATIVE] == [
        "collect, RocksDB",
        "max_by, RocksDB",
        "collect, HDFSBacked",
        "max_by, HDFSBacked",
    ]
    assert len({tuple(form.settings.values()) for form in NATIVE}) == 2


def test_shuffle_partitions_are_those_of_the_settings() -> None:
    assert [each.partitions for each in (NOOP, GENERIC, NAIVE)] == [1, 1, 2]
    assert NAIVE.settings[PARTITIONS] == "2"
