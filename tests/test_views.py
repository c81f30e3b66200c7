"""Values are drawn by what is above them, and know nothing of it."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from topwater import views
from topwater.views import Chart, View, chart_view, html_view

ANSWER = "from topwater.model import Answer, Row, Window\nshown = Answer(Window(0, 0, 9), ())\n"
QUERY = """
from topwater.query import TopKQuery
from topwater.windows import tumbling
shown = TopKQuery(key="k", time="t", window=tumbling(5), score="s", k=1)
"""


@pytest.mark.parametrize("code", [ANSWER, QUERY])
def test_a_value_has_its_view_wherever_it_was_imported_from(code: str) -> None:
    """In a fresh interpreter, which nobody told of notebooks, and not before it is wanted."""
    wanted = "import sys\nassert 'topwater.show' not in sys.modules, 'loaded without need'\n"
    shown = "repr(shown)\n" + wanted + "assert '<table>' in shown._repr_html_()\n"
    subprocess.run([sys.executable, "-c", code + shown], check=True)  # noqa: S603


class Plain:
    def __repr__(self) -> str:
        return "<Plain>"


class Drawn(Plain):
    pass


def test_what_nobody_draws_is_shown_as_text() -> None:
    assert html_view(Plain()) == "<pre>&lt;Plain&gt;</pre>"
    with pytest.raises(LookupError, match="no picture of a Plain"):
        chart_view(Plain())


def test_more_views_can_be_provided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "_providers", [*views._providers])
    assert html_view(Drawn()).startswith("<pre>")
    views.provide(lambda: {Drawn: View(repr, lambda _: Chart("<svg></svg>"))})
    assert html_view(Drawn()) == "<Plain>"
    assert chart_view(Drawn()).svg == "<svg></svg>"
    monkeypatch.undo()
    views._known.cache_clear()
    assert html_view(Drawn()).startswith("<pre>")


def test_a_chart_is_saved_as_a_picture(tmp_path: Path) -> None:
    chart = Chart('<svg viewBox="0 0 9 9"><text>a</text></svg>')
    root = ET.parse(chart.save(tmp_path / "a.svg")).getroot()  # noqa: S314  our own file
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert repr(replace(chart, svg="<svg>")) == (
        "<Chart of 5 characters of SVG: save(path) writes it>"
    )
    assert '<div class="topwater">' in chart._repr_html_()
