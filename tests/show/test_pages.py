"""Pages: complete in themselves, and nothing in them but what was meant."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources

import pytest
from jinja2 import UndefinedError

from topwater import Answer, Row, Window
from topwater.model import Freshness
from topwater.show.charts import bar_chart
from topwater.show.pages import Section, Table, TextCell, age_text, page, render

EVIL = "<script>alert('x')</script>\"&"
FULL = Section(
    title=EVIL,
    lead=EVIL,
    cards=[(EVIL, EVIL)],
    code=EVIL,
    paragraphs=[EVIL],
    legend={EVIL: "#123456"},
    charts=[bar_chart(EVIL, [EVIL], [1.0])],
    answer=Answer(Window(0, 0, 9), (Row(1, EVIL, 1.0, 2),), group=EVIL),
    tables=[Table([EVIL], [[EVIL, TextCell(EVIL)]])],
    note=EVIL,
)


class Tags(HTMLParser):
    """Which tags there are, and whether each is closed."""

    EMPTY = {"meta", "br", "line", "rect", "circle", "polyline"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.seen.add(tag)
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.EMPTY:
            assert self.open.pop() == tag


def test_a_page_is_complete_in_itself() -> None:
    text = page("t", "a", [FULL])
    assert text.startswith("<!doctype html>")
    assert Tags(text).open == []
    assert not re.search(r"(?:src|href)=|url\(|@import|https?://", text)
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text


def test_whatever_a_text_holds_it_stays_a_text() -> None:
    text = page(EVIL, EVIL, [FULL], kind=EVIL)
    tags = Tags(text)
    assert tags.open == []
    assert "script" not in tags.seen
    # Twice in each place but the chart: which shortens names, and repeats its title.
    assert text.count("&lt;script&gt;alert") >= 14


def test_parts_come_in_order_and_what_is_empty_is_left_out() -> None:
    texts = ["title", "lead", "figure", "code", "paragraph", "legend", "chart", "note"]
    whole = Section(
        title="title",
        lead="lead",
        cards=[("figure", "what it is")],
        code="code",
        paragraphs=["paragraph"],
        legend={"legend": "#123456"},
        charts=["<svg>chart</svg>"],
        note="note",
    )
    body = page("head", "about", [Section(title="nothing"), whole]).partition("</head>")[2]
    found = [body.index(f">{text}<") for text in texts]
    assert found == sorted(found)
    assert "nothing" not in body
    assert "<table" not in body
    assert not replace(whole, title="").empty


def test_cells_have_their_kind_and_numbers_one_digit() -> None:
    table = Table(["a", "b", "c"], [[1.25, 3, TextCell("right", "yes")]])
    text = page("t", "a", [Section(tables=[table])])
    assert '<td>1.2</td><td>3</td><td class="yes">right</td>' in text


def test_several_tables_stand_side_by_side() -> None:
    table = Table(["a"], [])
    one, two = (page("t", "a", [Section(tables=[table] * n)]) for n in (1, 2))
    assert 'class="charts"' not in one
    assert 'class="charts"' in two


def test_bars_are_as_long_as_the_scores_are_large() -> None:
    rows = (Row(1, "a", -4.0, 1), Row(2, "b", 1.0, 1), Row(3, "c", float("inf"), 1))
    text = render("answer.html", answer=Answer(Window(0, 0, 9), rows))
    assert re.findall(r"width:(\d+)%\"", text) == ["100", "25", "0"]


def test_how_old_a_value_is() -> None:
    row = Row(1, "a", 1.0, 1, remote=2.0)
    assert [age_text(replace(row, age=age)) for age in (None, 0, 120_000)] == [
        "never",
        "now",
        "2 min ago",
    ]


def test_a_remote_value_that_is_not_known_is_a_question_mark() -> None:
    fresh = Freshness(fetched=1, failed=1, bad=0, precision=0.0, ndcg=0.0, missed=False)
    answer = Answer(Window(0, 0, 9), (Row(1, "a", 1.0, 1),), exact=False, freshness=fresh)
    text = render("answer.html", answer=answer)
    assert '<td class="number">?</td>' in text
    assert "<td>never</td>" in text


def test_a_value_that_a_template_misses_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render("chart.html")


def test_only_charts_are_taken_as_they_are() -> None:
    """They escape their own texts; everything else is escaped by its template."""
    folder = resources.files("topwater.show") / "templates"
    trusted = {
        (each.name, mark)
        for each in folder.iterdir()
        for mark in re.findall(r"{{([^}]*\|\s*safe[^}]*)}}", each.read_text(encoding="utf-8"))
    }
    assert trusted == {
        ("chart.html", " svg | safe "),
        ("page.html", " section.charts | join | safe "),
    }
