"""Charts: every value has its place, and every text is text."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.show.charts import Series, bar_chart, bump_chart, line_chart

EVIL = '</text><script>"&\x00\ud800\ufffe'
NUMBERS = st.floats(allow_nan=True, allow_infinity=True, width=32)


def picture(chart: str) -> ET.Element:
    return ET.fromstring(chart)  # noqa: S314  our own


def test_points_of_a_chart_lie_inside_it() -> None:
    lines = [Series("a", [1.0, math.nan, 150.0], "#123456", [(0, 2), (3, 4), (149, 151)])]
    chart = line_chart("t <1>", "x", ["a", "b", "c"], lines)
    assert "t &lt;1&gt;" in chart
    assert "nan" not in chart
    for x, y in re.findall(r"([\d.-]+),([\d.-]+)", chart):
        assert 0 <= float(x) <= 560
        assert 0 <= float(y) <= 330


def test_a_flat_line_can_be_drawn() -> None:
    assert line_chart("t", "x", ["a", "b"], [Series("a", [5.0, 5.0], "#123456")]).endswith("</svg>")


@given(st.lists(NUMBERS, min_size=1, max_size=30))
def test_any_numbers_can_be_drawn(values: list[float]) -> None:
    places = [str(at) for at in range(len(values))]
    finite = sum(map(math.isfinite, values))
    line = picture(line_chart("t", "x", places, [Series("a", values, "#123456")]))
    assert len(line.findall("circle")) == (finite if finite <= 24 else 0)
    bars = picture(bar_chart("t", places, values)).findall("rect")
    assert len(bars) == len(values)
    assert all(0 <= float(bar.attrib["width"]) <= 560 for bar in bars)


@pytest.mark.parametrize(
    "chart",
    [
        line_chart(EVIL, EVIL, [EVIL], [Series(EVIL, [1.0], "#123456")]),
        bar_chart(EVIL, [EVIL], [1.0]),
        bump_chart(EVIL, [EVIL, "b"], {EVIL: [1, None], "b": [2, 1]}, 2),
    ],
)
def test_texts_stay_texts(chart: str) -> None:
    root = picture(chart)
    assert not list(root.iter("script"))
    assert "</text><script" in "".join(root.itertext())


def test_the_longest_bar_fills_the_room_and_zero_has_none() -> None:
    bars = picture(bar_chart("t", ["a", "b", "c", "d"], [4.0, -2.0, 0.0, math.inf]))
    widths = [float(bar.attrib["width"]) for bar in bars.findall("rect")]
    assert widths == [410.0, 205.0, 0.0, 0.0]


def test_names_do_not_meet_however_many_places_there_are() -> None:
    places = [f"12:{at:02}" for at in range(60)]
    chart = picture(line_chart("t", "x", places, [Series("a", [1.0] * 60, "#123456")]))
    named = [text for text in chart.findall("text") if (text.text or "").startswith("12:")]
    assert 5 <= len(named) <= 12
    assert not chart.findall("circle"), "so many dots would be a smear"


def test_a_line_of_ranks_breaks_where_there_is_none() -> None:
    chart = picture(bump_chart("t", ["1", "2", "3", "4"], {"a": [1, 1, None, 2], "b": [2]}, 2))
    assert len(chart.findall("circle")) == 4
    drawn = [line for line in chart.findall("line") if line.attrib.get("class") != "grid"]
    assert len(drawn) == 1, "one pair of neighbours"


def test_who_is_gone_is_named_below() -> None:
    assert "earlier: " in bump_chart("t", ["1", "2"], {"a": [1, None], "b": [2, 1]}, 2)
    assert "earlier: " not in bump_chart("t", ["1", "2"], {"a": [1, 1]}, 2)
