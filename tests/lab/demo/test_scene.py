"""What the demo plays, and the service that it asks."""

from __future__ import annotations

import io
import pickle
import time
from pathlib import Path

import pytest
from rich.console import Console

from tests.support.demo_played import played
from topwater.local import run as run_locally
from topwater_lab.demo import scene
from topwater_lab.demo.display import Lines
from topwater_lab.demo.findings import made
from topwater_lab.demo.scene import Scene


def test_a_real_service_keeps_its_limit_and_the_source_keeps_to_it() -> None:
    here = Scene(windows=6, seed=11)
    expected = list(run_locally(here.query(), here.batches(), source=here.source()))
    with here.remote() as remote:
        copy = pickle.loads(pickle.dumps(remote.source))  # noqa: S301
        found = list(run_locally(here.query(), here.batches(), source=copy))
        copy.close()
        assert found == expected
        began = time.monotonic()
        traffic = remote.traffic()
        seconds = time.monotonic() - began
        service = remote.service
    assert traffic is not None
    assert service is not None
    assert service.process.poll() is not None, "stopped"
    assert traffic.requests == 7 * len(found), "one user a request"
    assert traffic.peak <= traffic.rate + scene.BURST
    passed = traffic.hurried - traffic.hurried_refused
    assert passed <= scene.BURST + traffic.rate * seconds + 1, "the limit is real"


def test_without_the_extra_the_demo_says_so_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scene, "missing_package", lambda: "pyoxigraph")
    shown = io.StringIO()
    here, found, others = played(2, 7)
    lines = Lines(Console(file=shown), here)
    with here.remote() as remote:
        lines.begin(remote, others)
    lines.report(made(here, found, others), Path("report.html"))
    assert "the package pyoxigraph is missing" in shown.getvalue()
    assert 'pip install "topwater[lab]"' in shown.getvalue()
    assert "14 look-ups without a service; none was lost" in shown.getvalue()
