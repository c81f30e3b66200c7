"""The page in a real browser: what it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.support.live_browser import Tab, browser, tab
from tests.support.live_made import MINUTE, START, answer, remote_record
from topwater.live import Page, Truth, record_of, records_of_rows
from topwater.model import Answer, Freshness, Row, Window

EVIL = ["<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "a\u2028b\ud800"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture
def page() -> Iterator[Page]:
    with Page.started("Top users", "who matters", port=0, budget=3, remote="growth") as started:
        yield started


@pytest.fixture
def seen(chromium: Browser, page: Page) -> Iterator[Tab]:
    """The page, with no fault at the end."""
    with tab(chromium, page.url) as opened:
        yield opened
        assert opened.errors == []


def test_it_says_what_it_waits_for(page: Page, seen: Tab) -> None:
    assert "Waiting for the first window to close" in seen.text("#ranking")
    assert seen.text("#explained") == "who matters"
    page.waits("The folder is not there yet.")
    seen.until("() => document.getElementById('waiting').textContent.includes('not there yet')")


def test_the_ranking_follows_the_stream(page: Page, seen: Tab) -> None:
    page.put(answer(0, "ann", "bob", "cy"))
    seen.until_first("ann")
    assert seen.text("#span") == "00:00:00 – 00:01:00"
    assert "1 Jan 2026 · answered" in seen.text("#ago")
    page.put(answer(1, "bob", "ann", "dora"))
    seen.until_first("bob")
    assert seen.labels() == ["bob", "ann", "dora"]
    changes = seen.page.locator("#rows .change").all_text_contents()
    assert changes == ["▲ 1up 1", "▼ 1down 1", "new"]
    assert seen.text("#gone") == "No longer in it: cy (was 3)"
    assert seen.texts("#rows .score") == ["100.00", "50.00", "33.33"]
    assert seen.text("#verdict-text") == "Exact"
    assert seen.page.title() == "Top users"


def test_rows_move_to_their_places(page: Page, seen: Tab) -> None:
    seen.page.evaluate(
        """() => { window.moved = 0; const animate = Element.prototype.animate;
        Element.prototype.animate = function (...given) {
          window.moved += 1; return animate.apply(this, given); }; }"""
    )
    page.put(answer(0, "ann", "bob"))
    seen.until_first("ann")
    assert seen.page.evaluate("moved") == 0
    page.put(answer(1, "bob", "ann"))
    seen.until_first("bob")
    assert seen.page.evaluate("moved") == 2
    seen.page.emulate_media(reduced_motion="reduce")
    page.put(answer(2, "ann", "bob"))
    seen.until_first("ann")
    assert seen.page.evaluate("moved") == 2


def test_freshness_and_what_the_budget_went_to(page: Page, seen: Tab) -> None:
    page.put(remote_record(0, "ann", "bob", "cy", "dora", failed=1))
    seen.until_first("ann")
    assert seen.texts("#rows .fresh .age") == [
        "looked up now",
        "30 s old",
        "5 min old",
        "never looked up",
    ]
    assert seen.texts("#rows .fresh .confidence") == [
        "100 % sure",
        "93 % sure",
        "70 % sure",
        "20 % sure",
    ]
    tones = seen.page.locator("#rows .fresh").evaluate_all("all => all.map(x => x.dataset.tone)")
    assert tones == ["good", "good", "fair", "none"]
    assert "growth" in seen.texts("#heads th")
    assert seen.text("#verdict-text") == "About 80 % right"
    assert seen.text("#spent") == "2 of 3 look-ups · 1 failed"
    looked_up = seen.page.locator("#lookups li").all_text_contents()
    assert looked_up == ["ann38 →  became 41", "gonefailed, kept 7"]
    assert seen.texts("#problems li") == ["1 timed out"]
    counts = " ".join(seen.text("#counts").split())
    for told in ("events used 1,234", "too late 3", "unusable 2", "items remembered 12"):
        assert told in counts


def test_a_source_of_which_nothing_can_be_used_is_the_first_thing_seen(
    page: Page, seen: Tab
) -> None:
    """With rows, where keys stay in the ranking; and without, where no item has a value."""
    window = Window(0, START, START + MINUTE)
    in_vain = Freshness(3, 0, 3, 0.0, 0.0, missed=False, nothing_usable=True)
    rows = tuple(
        Row(rank, key, 5.0, START, (5.0,), None, None, 0.0, assumed)
        for rank, key, assumed in ((1, "ann", "no_value"), (2, "bob", "never"))
    )
    told = (("no_value", 3),)
    page.put(Answer(window, rows, exact=False, freshness=in_vain, problems=told))
    seen.until_first("ann")
    assert seen.text("#verdict-text") == "Nothing usable came from the source"
    more = seen.text("#verdict-more")
    assert more == "3 looked up · 3 came back with nothing where the value should be"
    assert seen.texts("#rows .fresh .age") == [
        "came back with nothing where the value should be",
        "never looked up",
    ]
    assert "right" not in seen.text("#verdict")
    later = Window(1, START + MINUTE, START + 2 * MINUTE)
    without = replace(in_vain, without_value=59)
    told = (("not_found", 3),)
    page.put(Answer(later, (), exact=False, candidates=671, freshness=without, problems=told))
    seen.until("() => !document.getElementById('nothing').hidden")
    assert seen.text("#nothing") == "None of the 59 items in this window has a usable value."
    page.put(Answer(Window(2, START + 2 * MINUTE, START + 3 * MINUTE), ()))
    seen.until("() => document.getElementById('nothing').textContent.startsWith('Nothing was')")


def test_a_value_that_is_only_assumed_says_so(page: Page, seen: Tab) -> None:
    fresh = Freshness(3, 1, 0, 0.8, 0.9, missed=False)
    row = Row(1, "ann", 5.0, START, (5.0,), 4.0, None, 0.0, "doubled")
    page.put(Answer(Window(0, START, START + MINUTE), (row,), exact=False, freshness=fresh))
    seen.until_first("ann")
    assert seen.texts("#rows .fresh .age") == ["assumed: came back with two values"]


def test_the_true_accuracy_and_that_of_rivals(page: Page, seen: Tab) -> None:
    for each in range(6):
        rivals = {"TTL cache": Truth(0.4, 0.7), "none": Truth(0.1, 0.2)}
        page.put(remote_record(each, "ann"), truth=Truth(0.6, 0.9), rivals=rivals)
    seen.until_first("ann")
    seen.until("() => document.querySelectorAll('#figures-box, .chart').length === 3")
    assert seen.page.locator("#charts .chart").count() == 2
    assert seen.page.locator("#charts .line").count() == 8
    legend = [" ".join(row.split()) for row in seen.texts("#legend tbody tr")]
    assert legend[0] == "ours, estimated 80 % 80 % 0.930 0.930"
    assert legend[2] == "TTL cache 40 % 40 % 0.700 0.700"
    words = seen.page.locator(".chart").first.get_attribute("aria-label") or ""
    assert words.startswith("Precision over 6 windows to 00:06:00: ours, estimated 80 %, mean")
    seen.page.locator("#figures-box summary").click()
    seen.until("() => document.querySelectorAll('#figures tbody tr').length === 6")
    assert "in truth 60 %" in seen.text("#verdict-more")


def test_text_stays_text(page: Page, seen: Tab, chromium: Browser) -> None:
    first, second, third = EVIL
    made = remote_record(0, *EVIL)
    made["problems"] = {first: 1}
    made["group"] = second
    page.put(made, rivals={first: Truth(0.1, 0.1)})
    page.note(first)
    page.ended(second)
    seen.until_first(first)
    assert seen.labels()[:2] == [first, second]
    assert seen.texts("#problems li") == [f"1 {first}"]
    assert first in seen.text("#notes-list")
    assert seen.text("#banner") == second
    assert seen.page.locator("#group option").all_text_contents() == [second]
    assert seen.page.locator("main img, main script").count() == 0
    with (
        Page.started(third + first, second, waiting=first, port=0) as other,
        tab(chromium, other.url) as more,
    ):
        assert more.text("#title") == third + first
        assert more.text("#explained") == second
        assert more.text("#waiting") == first
        other.put({"window": {"start": 0, "end": 1}, "triples": first, "columns": [first]})
        more.until("() => !document.getElementById('triples').hidden")
        assert more.text("#triples") == first
        assert more.errors == []


def test_groups(page: Page, seen: Tab) -> None:
    for each in range(3):
        page.put(answer(each, "n1", "n2", group="north"))
        page.put(answer(each, "s1", "s2", group="south"))
    seen.until_first("n1")
    assert seen.page.locator("#group option").all_text_contents() == ["north", "south"]
    seen.page.locator("#group").select_option(label="south")
    seen.until_first("s1")
    page.put(answer(3, "n3", group="north"))
    page.put(answer(3, "s3", "s1", group="south"))
    seen.until_first("s3")
    assert seen.page.locator("#rows .change").all_text_contents() == ["new", "▼ 1down 1"]


def rspql_rows(number: int) -> dict[str, Any]:
    closes = START + (number + 1) * MINUTE
    told: dict[str, Any] = {
        "window_start": closes - MINUTE,
        "window_end": closes,
        "exact": True,
        "events": 3,
    }
    rows: list[dict[str, Any]] = [
        {**told, "rank": 1, "user": "http://ex/ann", "growth": 7.5},
        {**told, "rank": 2, "user": "http://ex/bob", "growth": None},
    ]
    return records_of_rows(rows, score="growth")[0]


def test_iris_are_shown_by_what_tells_them_apart(page: Page, seen: Tab) -> None:
    page.put(rspql_rows(0))
    seen.until_first("http://ex/ann")  # the whole text is there, to copy and to be read out
    assert seen.texts("#rows .prefix") == ["http://ex/", "http://ex/"]
    assert seen.texts("#heads th") == ["Rank", "Change", "user", "growth"]
    assert seen.texts("#rows .cell") == ["7.5", "–"]


def count_answer(number: int) -> Answer:
    return Answer(Window(number, number * 5, number * 5 + 5), (Row(1, "ann", 1.0, 3),))


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        (lambda each: answer(each), "Nothing was in this window."),
        (rspql_rows, "http://ex/ann"),
        (lambda each: answer(each, "ann", "ann", "ann"), "33.33"),
        (count_answer, "ann"),
        (
            lambda each: {
                "window": {"start": 0, "end": 9 * 10**15 + each},
                "rows": [{"rank": 1, "label": "no time"}],
            },
            "no time",
        ),
        (
            lambda each: Answer(
                Window(each, 0, each + 1), (Row(1, "a", float("nan"), 0), Row(2, "", -2.5, 0))
            ),
            "−2.5",
        ),
        (
            lambda each: {
                "window": {"start": 0, "end": each + 1},
                "triples": "<http://ex/a> <http://ex/b> 1 .\n" * 3,
            },
            "<http://ex/a> <http://ex/b> 1 .",
        ),
    ],
    ids=["empty", "rspql", "one key often", "by count", "no time", "no scores", "triples"],
)
def test_answers_of_every_kind(
    make: Callable[[int], Any], shown: str, page: Page, seen: Tab
) -> None:
    for each in range(3):
        page.put(make(each))
    at = "text => document.getElementById('place').textContent.startsWith(text)"
    seen.until(at, "window 3 of 3")  # before that, there may be nothing to go back to
    seen.until("text => document.getElementById('ranking').innerText.includes(text)", shown)
    seen.page.keyboard.press("ArrowLeft")
    seen.until(at, "window 2 of 3")


def test_windows_by_count(chromium: Browser) -> None:
    with Page.started(port=0, by="count") as page, tab(chromium, page.url) as seen:
        page.put(count_answer(2))
        seen.until_first("ann")
        assert seen.text("#span") == "events 11 to 15"
        assert seen.errors == []


def test_a_long_ranking_is_shown_in_part(page: Page, seen: Tab) -> None:
    page.put(answer(0, *(f"k{each}" for each in range(1_500))))
    seen.until_first("k0")
    assert len(seen.labels()) == 100
    seen.page.get_by_role("button", name="Show all 1,500").click()
    seen.until("() => document.querySelectorAll('#rows tr').length === 1500")


def test_a_stream_that_begins_anew_is_told_as_it_is(page: Page, seen: Tab) -> None:
    for each in range(5):
        page.put(answer(each, f"old{each}"))
    seen.until_first("old4")
    page.note("the stream started again")
    page.put(answer(1, "new1"))
    seen.until_first("new1")
    assert seen.text("#place") == "window 2 of 2 kept"
    assert "the stream started again" in seen.text("#notes-list")


def test_the_end_is_said(page: Page, seen: Tab) -> None:
    page.put(answer(0, "ann"))
    page.ended("done: report in out/demo.html")
    seen.until_link("ended")
    assert seen.text("#banner") == "done: report in out/demo.html"
    assert seen.labels() == ["ann"]


def test_two_browsers_see_the_same(page: Page, seen: Tab, chromium: Browser) -> None:
    page.put(answer(0, "ann"))
    with tab(chromium, page.url) as other:
        page.put(answer(1, "bob"))
        for each in (seen, other):
            each.until_first("bob")
            assert each.text("#place") == "window 2 of 2 kept"


def test_ten_thousand_windows_do_not_fill_the_browser(page: Page, seen: Tab) -> None:
    session = seen.page.context.new_cdp_session(seen.page)
    session.send("Performance.enable")

    keys = [[f"k{(each * 7 + other) % 50}" for other in range(10)] for each in range(50)]
    made = [record_of(remote_record(0, *each)) for each in keys]

    def put(start: int, end: int) -> dict[str, float]:
        """Windows, a few hundred at once, so that the browser gets all; then what it holds."""
        for each in range(start, end):
            closes_at = START + (each + 1) * MINUTE
            window = {"start": closes_at - MINUTE, "end": closes_at}
            page.feed.put({**made[each % len(made)], "window": window})
            if each % 500 == 499:
                closes = datetime.fromtimestamp(closes_at / 1_000, UTC)
                seen.until(
                    "text => document.getElementById('span').title.endsWith(text)",
                    closes.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                )
        seen.until("() => document.getAnimations().length === 0")
        for _ in range(2):
            session.send("HeapProfiler.collectGarbage")
        told = session.send("Performance.getMetrics")["metrics"]
        return {each["name"]: each["value"] for each in told}

    early, late = put(0, 2_500), put(2_500, 10_000)
    assert seen.text("#place") == "window 1,000 of 1,000 kept"
    assert late["JSHeapUsedSize"] < 1.25 * early["JSHeapUsedSize"]
    assert late["Nodes"] < early["Nodes"] + 100
    assert late["JSEventListeners"] < early["JSEventListeners"] + 10
