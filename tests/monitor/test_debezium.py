"""Envelopes: see also test_notice_reader, where they become notices."""

from __future__ import annotations

import json
from collections import Counter

import pyarrow as pa

from tests.support.pushed_scene import one_value
from topwater.monitor.debezium import envelopes
from topwater.monitor.notice_settings import NoticeSettings
from topwater.replica.notices import ALL


def test_a_table_that_was_emptied_says_so_of_all_rows() -> None:
    text = json.dumps({"op": "t", "ts_ms": 5, "source": {"table": "goods"}})
    settings = NoticeSettings(form="debezium")
    (told,) = envelopes(one_value(), settings, pa.table({"value": [text]}), Counter())
    assert (told.kinds, told.times, told.keys) == ([ALL], [5], [(None,)])
