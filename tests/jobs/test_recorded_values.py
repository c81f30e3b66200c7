"""A recording of the remote side, by a file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from topwater.errors import QueryError
from topwater.jobs.recorded_values import Names, values_from

NAMES = Names("user", "followers", "at")
ROWS = "at,user,followers\n1000,ann,3\n2000,ann,4\n2000,bob,\n"


def at(path: Path, time: int) -> list[float]:
    return list(values_from(path, NAMES).at(np.array(["ann", "bob"], object), time))


def test_tables_in_all_forms(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(ROWS)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
    rows = {"at": [1_000, 2_000, 2_000], "user": ["ann", "ann", "bob"], "followers": [3, 4, None]}
    pq.write_table(pa.table(rows), tmp_path / "a.parquet")
    for name in ("a.csv", "a.csv.gz", "a.parquet"):
        assert at(tmp_path / name, 1_000)[0] == 3.0
        assert at(tmp_path / name, 2_000)[0] == 4.0
        assert np.isnan(at(tmp_path / name, 2_000)[1])


def test_lines_that_a_source_recorded(tmp_path: Path) -> None:
    line = {"at": 1_000, "keys": ["ann", "bob"], "values": [3.0, 5.0], "seconds": 0.1}
    (tmp_path / "fetched.jsonl").write_text(json.dumps(line) + "\n")
    assert at(tmp_path / "fetched.jsonl", 1_000) == [3.0, 5.0]


def test_the_only_other_column_is_the_time(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("epoch_ms,user,followers\n1000,ann,3\n1000,bob,4\n")
    assert at(tmp_path / "a.csv", 1_000) == [3.0, 4.0]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", "at,user,follower\n1,ann,3\n", "no column 'followers'.*did you mean follower"),
        ("a.csv", "x,y,user,followers\n1,1,ann,3\n", "no column 'at'"),
        ("a.csv", "at,user,followers\n1,1.5,3\n", "key column 'user' is of type double"),
        ("a.csv", "at,user,followers\n1,ann,many\n", "can't be read|Failed to parse"),
        ("a.csv", "at,user,followers\n", "has no value in it"),
        ("a.csv", "", "can't be read"),
        ("a.parquet", "nothing", "can't be read"),
        ("a.jsonl", "nothing", "not a fetch"),
    ],
)
def test_files_that_are_no_recording(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(QueryError, match=f"(?s){words}"):
        values_from(tmp_path / name, NAMES)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="can't be read: No such file"):
        values_from(tmp_path / "a.jsonl", NAMES)
