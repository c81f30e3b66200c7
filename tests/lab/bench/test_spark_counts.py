"""Counting keys on Spark: what the answers should be. The runs are in test_spark_speed.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from topwater import run
from topwater_lab.bench.spark_counts import PANES, query, recounted
from topwater_lab.bench.spark_data import ORIGIN, Data, Size

if TYPE_CHECKING:
    from pathlib import Path


def test_the_files_counted_anew_give_what_a_query_in_process_gives(tmp_path: Path) -> None:
    data = Data(tmp_path, Size(3, 4_000), keys=30)
    assert len(list(data.write())) == 12
    folder = data.folder(PANES, 3)
    ordered = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
    events = pa.concat_tables([pq.read_table(path) for path in ordered])
    answers = run(query(PANES), [events])
    found = {each.window.end: [(row.score, row.key) for row in each.rows] for each in answers}
    right = recounted(folder)
    assert [*right] == [ORIGIN + pane * PANES.step for pane in (1, 2, 3, 4)]
    assert right == {end: found[end] for end in right}
