"""The demo's report: complete in itself, and only what is known."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from tests.support.demo_played import reported
from tests.support.shown import EVIL
from topwater.model import LookUp
from topwater_lab.demo.html_report import report_page


def test_the_report_is_complete_in_itself() -> None:
    report = reported()
    text = report_page(report)
    assert text.startswith("<!doctype html>")
    assert "<script" not in text
    assert not re.search(r"(?:src|href)=|url\(|@import", text), "nothing is loaded from elsewhere"
    assert "prefers-color-scheme: dark" in text
    assert text.count("<svg") == 6
    for told in (
        f"{report.ours.ndcg:.3f}",
        "topwater demo --windows 25 --budget 7 --policy worth --seed 3",
        "stream</td>",
        "12.3 s",
        "pyspark",
        "as known",
    ):
        assert told in text
    assert json.loads(json.dumps(report.to_dict()))["windows"] == 25


def test_a_report_without_other_budgets_says_only_what_is_known() -> None:
    text = report_page(replace(reported(), rungs=()))
    assert text.count("<svg") == 4
    assert "does not reach its nDCG" in text


def test_keys_and_groups_stay_text() -> None:
    report = reported()
    *others, last = report.answers
    hostile = replace(last, group=EVIL, looked_up=(LookUp(EVIL, None, 0.5, ok=True),))
    shown = report_page(replace(report, answers=(*others, hostile)))
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;") == 2, "they are shown, as text"
