"""The example of a thousand standing queries, in short: its whole size is run in soak."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import pytest

from tests.support.docs_pages import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_few_people_and_taxis(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], spark: SparkSession
) -> None:
    spec = importlib.util.spec_from_file_location("nearest", ROOT / "examples/standing/nearest.py")
    assert spec is not None
    assert spec.loader is not None
    nearest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(nearest)
    monkeypatch.setattr(nearest, "session", lambda *_, **__: spark)
    monkeypatch.setattr(nearest, "PEOPLE", 10)
    monkeypatch.setattr(nearest, "FILES", 2)
    monkeypatch.setattr(nearest, "ROWS", 300)
    nearest.main()
    out = capsys.readouterr().out
    assert "events 300, late 0, bad 0, queries 10, changes 4 (1 refused)" in out
    assert "refused: cancel 'person 7': name: no query is named 'person 7'" in out
    assert "late comer" in out
