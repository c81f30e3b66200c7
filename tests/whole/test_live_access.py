"""The page for everybody: by keyboard, by screen reader, on a phone, in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from tests.support.live_browser import Tab, browser, tab
from tests.support.live_made import answer, remote_record
from topwater.live import Page, Truth

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """A page with all that it can show."""
    with Page.started(
        "Top users", "who matters\nin the last minute", port=0, budget=3, values=["mentions"]
    ) as started:
        rivals = {name: Truth(0.4, 0.7) for name in ("TTL cache", "at-bsm", "wsj-lru", "none")}
        for each in range(12):
            keys = [f"user {(each * 3 + other) % 8}" for other in range(5)]
            made = remote_record(each, *keys, failed=each % 2) | {"group": "north"}
            made["looked_up"] *= 10
            started.put(made, truth=Truth(0.6, 0.8), rivals=rivals)
        started.put(answer(0, "ann", group="south"))
        started.note("the stream started again")
        yield started


def faults(seen: Tab) -> list[str]:
    """What axe finds that is serious or worse."""
    found = Axe().run(seen.page).response["violations"]
    return [
        f"{each['id']}: {node['html'][:120]}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"color_scheme": "light"},
        {"color_scheme": "dark"},
        {"color_scheme": "light", **PHONE},
        {"color_scheme": "dark", "forced_colors": "active"},
    ],
    ids=["light", "dark", "phone", "forced colours"],
)
def test_axe_finds_nothing_serious(chromium: Browser, page: Page, options: Any) -> None:
    with tab(chromium, page.url, reduced_motion="reduce", **options) as seen:
        seen.until("() => document.querySelectorAll('#rows tr').length === 5")
        seen.page.locator("#figures-box summary").click()
        seen.page.get_by_role("button", name="Show all 20").click()
        seen.until("() => document.querySelectorAll('#lookups li').length === 20")
        seen.page.keyboard.press("ArrowLeft")
        seen.until("() => document.querySelectorAll('#lookups li').length === 10")
        assert faults(seen) == []
        width = seen.page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        assert width == 0
        assert seen.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_while_it_waits_or_the_connection_is_lost(
    chromium: Browser, scheme: Any
) -> None:
    serving = Page.started("Top users", port=0)
    url = serving.__enter__().url
    with tab(chromium, url, color_scheme=scheme) as seen:
        assert faults(seen) == []
        serving.__exit__(None, None, None)
        seen.until_link("lost")
        assert faults(seen) == []


def focused(seen: Tab) -> str:
    return str(
        seen.page.evaluate("() => document.activeElement.id || document.activeElement.className")
    )


def test_all_can_be_done_by_keyboard(chromium: Browser, page: Page) -> None:
    with tab(chromium, page.url) as seen:
        seen.until("() => document.querySelectorAll('#rows tr').length === 5")
        press = seen.page.keyboard.press
        press("Tab")
        assert focused(seen) == "skip"
        outlined = seen.page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
        assert outlined == "solid"
        press("Enter")
        assert focused(seen) == "ranking"
        seen.page.locator("body").evaluate("body => { document.activeElement.blur(); }")
        seen.page.locator("#theme").focus()
        order = [focused(seen)]
        for _ in range(5):
            press("Tab")
            order.append(focused(seen))
        assert order[:4] == ["theme", "group", "earlier", "pause"]
        seen.page.locator("#earlier").focus()
        press("Enter")
        seen.until("() => document.getElementById('place').textContent.endsWith(' · 1 newer')")
        assert seen.text("#window-kind") == "An earlier window"
        press("ArrowLeft")
        seen.until("() => document.getElementById('place').textContent.startsWith('window 10 of')")
        seen.page.locator("#pause").focus()
        press("Space")
        seen.until("() => document.getElementById('place').textContent === 'window 12 of 12 kept'")
        seen.page.locator("#group").focus()
        press("ArrowDown")
        seen.until_first("ann")


def test_a_pause_holds_while_windows_come(chromium: Browser) -> None:
    with Page.started(port=0) as page, tab(chromium, page.url) as seen:
        page.put(answer(0, "ann"))
        seen.until_first("ann")
        seen.page.get_by_role("button", name="Pause").click()
        for each in range(1, 4):
            page.put(answer(each, f"k{each}"))
        seen.until("() => document.getElementById('place').textContent.endsWith('3 newer')")
        assert seen.labels() == ["ann"]
        seen.page.keyboard.press("ArrowRight")
        seen.until_first("k1")
        seen.page.get_by_role("button", name="Go on with the newest").click()
        seen.until_first("k3")
        page.put(answer(4, "k4"))
        seen.until_first("k4")


def test_a_window_looked_at_stays_when_it_is_answered_again(chromium: Browser) -> None:
    with Page.started(port=0) as page, tab(chromium, page.url) as seen:
        for each in range(3):
            page.put(answer(each, f"k{each}"))
        seen.until_first("k2")
        seen.page.keyboard.press("ArrowLeft")
        seen.until_first("k1")
        page.put(answer(1, "new"))
        seen.until_first("new")


def test_a_screen_reader_is_told_seldom(chromium: Browser) -> None:
    with Page.started(port=0) as page, tab(chromium, page.url) as seen:
        seen.page.evaluate(
            """() => { window.told = []; new MutationObserver(() =>
              told.push(document.getElementById('said').textContent)
            ).observe(document.getElementById('said'), {childList: true, subtree: true}); }"""
        )
        for each in range(20):
            page.put(answer(each, f"k{each}", "other"))
            seen.until_first(f"k{each}")
        told = seen.page.evaluate("() => told")
        assert told == ["Window to 00:01:00: 1: k0, 2: other. Exact."]
        seen.page.keyboard.press("ArrowLeft")  # chosen: told at once
        seen.until("() => told.length === 2")
        assert seen.page.evaluate("() => told[1]") == "Window to 00:19:00: 1: k18, 2: other. Exact."


def test_the_ranking_is_a_table_to_a_screen_reader(chromium: Browser, page: Page) -> None:
    for options in ({}, PHONE):
        with tab(chromium, page.url, **options) as seen:
            seen.until("() => document.querySelectorAll('#rows tr').length === 5")
            table = seen.page.get_by_role("table", name="Ranking of the window to 00:12:00")
            heads = table.get_by_role("columnheader").all_text_contents()
            assert heads == ["Rank", "Change", "Key", "Score", "mentions", "Remote", "Freshness"]
            assert table.get_by_role("rowheader").count() == 5
            assert table.get_by_role("row").count() == 6


def test_colours_can_be_chosen_and_stay(chromium: Browser, page: Page) -> None:
    def paper(seen: Tab) -> str:
        return str(seen.page.evaluate("() => getComputedStyle(document.body).backgroundColor"))

    with tab(chromium, page.url, color_scheme="dark") as seen:
        dark = paper(seen)
        button = seen.page.get_by_role("button", name="Colours")
        button.click()
        assert button.inner_text().strip() == "Colours: light"
        light = paper(seen)
        assert light != dark
        seen.page.reload()
        seen.until_link("live")
        assert paper(seen) == light
        button.click()
        assert paper(seen) == dark
        seen.page.emulate_media(color_scheme="light")
        assert paper(seen) == dark
