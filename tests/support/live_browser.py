"""A real browser for tests, and what it must never do."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--no-sandbox",  # as root there is none
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
)
PATIENCE = 20_000


def executable() -> str:
    """What TOPWATER_BROWSER names, or the machine's Chromium; without one, tests are skipped."""
    told = os.environ.get("TOPWATER_BROWSER", "")
    found = told or next(filter(None, map(shutil.which, NAMES)), "")
    if not found:
        pytest.skip("no Chromium on this machine: install it, or set TOPWATER_BROWSER to its path")
    return found


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Chromium without a window, until the end of the block."""
    path = executable()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield chromium
        chromium.close()


@dataclass
class Tab:
    """A page in the browser, and what it did."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def text(self, selector: str) -> str:
        """What a person reads there."""
        return self.page.locator(selector).inner_text()

    def texts(self, selector: str) -> list[str]:
        """What a person reads in each of them."""
        return self.page.locator(selector).all_inner_texts()

    def labels(self) -> list[str]:
        """The keys of the ranking, best first."""
        return self.texts("#rows .label")

    def until(self, condition: str, argument: Any = None) -> None:
        """Wait until a condition holds in the page."""
        self.page.wait_for_function(condition, arg=argument, timeout=PATIENCE)

    def until_first(self, label: str) -> None:
        """Wait until a key leads the ranking."""
        self.until("text => document.querySelector('#rows .label')?.textContent === text", label)

    def until_link(self, state: str) -> None:
        """Wait until the connection is in a state."""
        self.until("state => document.getElementById('link').dataset.state === state", state)


@contextlib.contextmanager
def tab(chromium: Browser, url: str, **options: Any) -> Iterator[Tab]:
    """A page that must stay on its own host, and show no dialog."""
    options = {"viewport": {"width": 1280, "height": 900}, "timezone_id": "UTC", **options}
    context = chromium.new_context(**options)
    found = Tab(context.new_page())

    def console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            found.errors.append(message.text)

    def request(made: Request) -> None:
        found.requests.append(made.url)

    def dialog(shown: Dialog) -> None:
        found.dialogs.append(shown.message)
        shown.dismiss()

    found.page.on("console", console)
    found.page.on("pageerror", lambda error: found.errors.append(str(error)))
    found.page.on("request", request)
    found.page.on("dialog", dialog)
    found.page.goto(url)
    found.until_link("live")
    try:
        yield found
        assert {urlsplit(each).netloc for each in found.requests} == {urlsplit(url).netloc}
        assert found.dialogs == []
    finally:
        context.close()
