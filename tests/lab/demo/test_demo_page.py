"""The live page of the demo."""

from __future__ import annotations

import socket

from topwater_lab.demo.demo_page import opened_page
from topwater_lab.demo.demo_run import Wishes
from topwater_lab.demo.scene import Scene


def test_a_port_that_is_taken_is_no_reason_to_stop() -> None:
    here = Scene(windows=2, seed=7)
    notes = list[str]()
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        with opened_page(here, Wishes(port=port), notes.append) as page:
            assert f":{port}/" not in page.url
    assert notes == [f"port {port} is taken, so the live page is at another one"]
