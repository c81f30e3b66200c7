from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import httpx
import pytest

from tests.support.live_made import answer
from tests.support.timing import HANGS, within
from topwater.errors import EnvironmentProblem, QueryError
from topwater.live import Page
from topwater.live.app import Guarded


@pytest.fixture
def page() -> Iterator[Page]:
    with Page.started("Top users", "what it does", port=0) as started:
        yield started


@pytest.fixture(scope="module")
def quiet_page() -> Iterator[Page]:
    """One for all tests that only read it."""
    with Page.started("Top users", "what it does", port=0) as started:
        yield started


def get(page: Page, path: str, **headers: str) -> httpx.Response:
    return httpx.get(page.url + path, headers=headers, trust_env=False)


def events(page: Page, wanted: int, path: str = "events", **headers: str) -> list[dict[str, Any]]:
    """The first so many windows and notes that a browser would get."""
    found: list[dict[str, Any]] = []
    kind = place = ""
    with httpx.stream("GET", page.url + path, headers=headers, trust_env=False) as answered:
        assert answered.headers["content-type"].startswith("text/event-stream")
        for line in answered.iter_lines():
            name, _, value = line.partition(": ")
            kind = value if name == "event" else kind
            place = value if name == "id" else place
            if name == "data" and kind not in ("about", "beat"):
                found.append(json.loads(value) | {"id": place, "kind": kind})
            if len(found) == wanted:
                break
    return found


def first_labels(found: list[dict[str, Any]]) -> list[str]:
    return [each["rows"][0]["label"] for each in found]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("", "text/html"),
        ("app.css", "text/css"),
        ("app.js", "text/javascript"),
        ("ranking.js", "text/javascript"),
        ("icon.svg", "image/svg+xml"),
        ("state.json", "application/json"),
    ],
)
def test_what_is_served(quiet_page: Page, path: str, kind: str) -> None:
    answered = get(quiet_page, path)
    assert answered.status_code == 200
    assert answered.headers["content-type"].startswith(kind)


def test_every_file_of_the_page_is_served(quiet_page: Page) -> None:
    for path in (files("topwater.live") / "static").iterdir():
        wanted = "" if path.name == "index.html" else path.name
        assert get(quiet_page, wanted).content == path.read_bytes()


@pytest.mark.parametrize("path", ["", "events", "state.json"])
def test_heads_end_at_once(quiet_page: Page, path: str) -> None:
    assert httpx.head(quiet_page.url + path, trust_env=False).status_code == 200


@pytest.mark.parametrize("path", ["", "app.js", "state.json", "nowhere"])
def test_headers_keep_the_page_to_itself(quiet_page: Page, path: str) -> None:
    headers = get(quiet_page, path, Origin="http://elsewhere.example").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert not [name for name in headers if name.startswith("access-control")]
    assert "server" not in headers


@pytest.mark.parametrize("path", ["../records.py", "static/app.js", "%2e%2e/page.py", "app.js/"])
def test_nothing_else_is_served(quiet_page: Page, path: str) -> None:
    assert get(quiet_page, path).status_code in (404, 307)
    assert httpx.post(quiet_page.url, trust_env=False).status_code == 405


@pytest.mark.parametrize(
    "host",
    [
        "elsewhere.example",
        "127.0.0.1.elsewhere.example",
        "",
        "localhost@elsewhere.example",
        "[::1].elsewhere.example",
    ],
)
@pytest.mark.parametrize("path", ["", "events", "state.json"])
def test_another_name_is_refused(quiet_page: Page, path: str, host: str) -> None:
    answered = get(quiet_page, path, Host=host)
    assert answered.status_code == 421
    assert "Top users" not in answered.text


@pytest.mark.parametrize("host", ["localhost", "localhost:1234", "127.0.0.1:80", "[::1]:99"])
def test_names_of_this_machine_are_known(quiet_page: Page, host: str) -> None:
    assert get(quiet_page, "state.json", Host=host).status_code == 200


def test_names_of_a_proxy_can_be_told() -> None:
    with Page.started(port=0, known_as=["Page.example"]) as page:
        assert get(page, "", Host="page.example:443").status_code == 200
        assert get(page, "", Host="192.0.2.7").status_code == 421


def test_bound_to_every_address_it_is_known_by_any() -> None:
    guarded = Guarded(lambda *_: None, "0.0.0.0", ())  # type: ignore[arg-type]  # noqa: S104
    assert guarded.knows("192.0.2.7:8787")
    assert guarded.knows("[2001:db8::1]")
    assert not guarded.knows("elsewhere.example")


def test_history_first_then_what_comes(page: Page) -> None:
    page.put(answer(0, "a"))
    page.note("started again")
    page.put(answer(1, "b"))
    found = events(page, 3)
    assert [each["kind"] for each in found] == ["window", "note", "window"]
    assert page.feed.state()["windows"][0]["rows"][0]["label"] == "b"


@pytest.mark.parametrize("how", ["header", "query"])
def test_a_browser_goes_on_where_it_was(page: Page, how: str) -> None:
    for each in range(3):
        page.put(answer(each, f"k{each}"))
    place = events(page, 2)[-1]["id"]
    if how == "header":
        found = events(page, 1, **{"Last-Event-ID": place})
    else:
        found = events(page, 1, path=f"events?after={place}")
    assert first_labels(found) == ["k2"]


@pytest.mark.parametrize("place", ["00000000-2", "nonsense", "-", "00000000-" + "9" * 400])
def test_a_place_of_another_run_begins_anew(page: Page, place: str) -> None:
    for each in range(3):
        page.put(answer(each, f"k{each}"))
    assert first_labels(events(page, 3, **{"Last-Event-ID": place})) == ["k0", "k1", "k2"]


def test_two_clients_get_the_same(page: Page) -> None:
    with (
        httpx.stream("GET", page.url + "events", trust_env=False) as first,
        httpx.stream("GET", page.url + "events", trust_env=False) as second,
    ):
        page.put(answer(0, "both"))
        for client in (first, second):
            assert any("both" in line for line in client.iter_lines())


def test_those_who_leave_are_forgotten(page: Page) -> None:
    page.put(answer(0, "a"))
    events(page, 1)
    deadline = time.monotonic() + 5
    while page.feed.watchers and time.monotonic() < deadline:
        page.put(answer(0, "a"))
        time.sleep(0.02)
    assert page.feed.watchers == 0


def test_a_slow_client_holds_up_nobody(page: Page) -> None:
    """One that does not read: the stream goes on, and others get the newest at once."""
    keys = [f"{each:0200}" for each in range(40)]
    port = int(page.url.rsplit(":", 1)[1].strip("/"))
    with socket.create_connection(("127.0.0.1", port)) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        slow.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with within(HANGS):
            for each in range(1_500):
                page.put(answer(each, f"n{each}", *keys))
        newest = page.feed.since(0)[-1].number
        found = events(page, 1, path=f"events?after={page.feed.run}-{newest - 1}")
        assert first_labels(found) == ["n1499"]
        slow.settimeout(10)
        assert b"event: about" in slow.recv(65_536)  # it was there, and can go on


def test_those_who_leave_in_the_middle_leave_no_trace(
    page: Page, caplog: pytest.LogCaptureFixture
) -> None:
    """Of every write to a connection that is gone, asyncio would log a line on the terminal."""
    for each in range(500):
        page.put(answer(each, "ann"))
    port = int(page.url.rsplit(":", 1)[1].strip("/"))
    for _ in range(20):
        client = socket.create_connection(("127.0.0.1", port))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.recv(10)
        client.close()
    while page.feed.watchers:
        time.sleep(0.01)
    assert caplog.messages == []


def test_text_that_is_no_unicode(page: Page) -> None:
    page.put({"window": {"start": 0, "end": 1}, "rows": [{"rank": 1, "label": "\ud800"}]})
    assert get(page, "state.json").json()["windows"][0]["rows"][0]["label"] == "\ud800"


def test_the_port_is_free_again_at_once() -> None:
    with Page.started(port=0) as page:
        port = int(page.url.rsplit(":", 1)[1].strip("/"))
    with Page.started(port=port) as page:
        assert get(page, "state.json").status_code == 200


def test_open_connections_do_not_hold_up_the_end() -> None:
    serving = Page.started(port=0)
    page = serving.__enter__()
    with httpx.stream("GET", page.url + "events", trust_env=False) as answered:
        lines = answered.iter_lines()
        assert next(lines).startswith("retry")
        with within(0):
            serving.__exit__(None, None, None)
        assert list(lines)[-1] == ""  # ended, and not in the middle of an event


def test_a_port_that_is_taken(quiet_page: Page) -> None:
    port = int(quiet_page.url.rsplit(":", 1)[1].strip("/"))
    with (
        pytest.raises(EnvironmentProblem, match=f"port {port}") as caught,
        Page.started(port=port),
    ):
        pass
    assert "0 for one that is free" in caught.value.fix


def test_a_wrong_record_is_said_to_who_puts_it(quiet_page: Page) -> None:
    with pytest.raises(QueryError, match="window"):
        quiet_page.put({"rows": []})
