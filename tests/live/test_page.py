"""The page when its connection breaks, and the page as a process of its own."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Iterator
from pathlib import Path as FilePath

import pytest
from playwright.sync_api import Browser

from tests.support.live_browser import Tab, browser, tab
from tests.support.live_made import answer
from tests.support.live_page_process import process
from tests.support.live_sink import Sink
from topwater.live import Page

REFUSED = re.compile("ERR_CONNECTION_REFUSED|ERR_INTERNET_DISCONNECTED|ERR_EMPTY_RESPONSE")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


def port_of(page: Page) -> int:
    return int(page.url.rsplit(":", 1)[1].strip("/"))


def only_refusals(seen: Tab) -> bool:
    """The browser itself reports attempts that fail; all else would be a fault of ours."""
    return all(REFUSED.search(each) for each in seen.errors)


def test_a_server_that_starts_again_is_found_again(chromium: Browser) -> None:
    serving = Page.started("Top users", port=0)
    page = serving.__enter__()
    page.put(answer(0, "ann"))
    page.put(answer(1, "bob"))
    with tab(chromium, page.url) as seen:
        seen.until_first("bob")
        serving.__exit__(None, None, None)
        seen.until_link("lost")
        assert seen.text("#link-text") == "connection lost, trying again"
        assert seen.page.locator("#link-text").get_attribute("role") == "status"
        assert "may be old" in seen.text("#banner")
        assert seen.labels() == ["bob"]
        assert seen.page.title() == "(lost) Top users"
        with Page.started("Top users", port=port_of(page)) as again:
            seen.until_link("live")
            again.put(answer(2, "cy", "bob"))
            seen.until_first("cy")
            assert seen.text("#place") == "window 3 of 3 kept"  # what was seen before stays
            assert seen.page.locator("#rows .change").all_text_contents() == ["new", "▼ 1down 1"]
            assert seen.page.locator("#banner").is_hidden()
            assert seen.page.title() == "Top users"
        assert only_refusals(seen)


def test_another_query_at_the_same_place_begins_anew(chromium: Browser) -> None:
    serving = Page.started("Top users", port=0)
    page = serving.__enter__()
    page.put(answer(7, "ann"))
    page.note("of the users")
    with tab(chromium, page.url) as seen:
        seen.until_first("ann")
        serving.__exit__(None, None, None)
        with Page.started("Top lots", port=port_of(page)) as other:
            seen.until("() => document.title === 'Top lots'")
            assert "Waiting for the first window" in seen.text("#ranking")
            other.put(answer(9, "vase"))
            seen.until_first("vase")
            assert seen.text("#place") == "window 1 of 1 kept"
            assert seen.page.locator("#notes").is_hidden()
        assert only_refusals(seen)


def test_a_network_that_goes_and_comes(chromium: Browser) -> None:
    with Page.started("Top users", port=0) as page, tab(chromium, page.url) as seen:
        page.put(answer(0, "ann"))
        seen.until_first("ann")
        seen.page.context.set_offline(True)
        seen.until_link("lost")
        page.put(answer(1, "bob"))
        seen.page.context.set_offline(False)
        seen.until_link("live")
        seen.until_first("bob")
        assert only_refusals(seen)


def test_a_connection_that_falls_silent_is_noticed(chromium: Browser) -> None:
    """Nothing comes, and nobody ends the connection: a laptop that slept, a cable that was cut."""
    with Page.started("Top users", port=0) as page, tab(chromium, page.url) as seen:
        page.put(answer(0, "ann"))
        seen.until_first("ann")
        requests = len(seen.requests)
        seen.page.evaluate("() => { const now = Date.now; Date.now = () => now() + 26_000; }")
        seen.until_link("lost")
        seen.until_link("live")
        assert len(seen.requests) > requests
        assert seen.errors == []


def test_the_command_shows_a_folder_before_it_is_there_and_after_it_went(
    chromium: Browser, tmp_path: FilePath
) -> None:
    sink = Sink(tmp_path / "my answers")
    with process(sink.folder) as url, tab(chromium, url) as seen:
        seen.until("() => document.getElementById('waiting').textContent.includes('not there yet')")
        assert seen.text("#title") == "my answers"
        sink.commit(0, "ann", "bob")
        seen.until_first("ann")
        sink.commit(1, "bob", "ann")
        seen.until_first("bob")
        sink.clear()
        sink.commit(0, "cy")
        seen.until_first("cy")
        assert seen.errors == []
        port = int(url.rsplit(":", 1)[1].strip("/"))
    with process(sink.folder, port) as url, tab(chromium, url) as seen:
        seen.until_first("cy")


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: local"])
def test_a_client_that_does_not_ask_is_let_go(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topwater.live.page.SLOW", 0.3)
    with Page.started(port=0) as page:
        port = int(page.url.rsplit(":", 1)[1].rstrip("/"))
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            client.sendall(sent)
            with contextlib.suppress(ConnectionResetError):
                assert client.recv(100) == b""
