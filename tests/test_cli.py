"""The command line: what it prints, where, and how it ends."""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest
from rich.console import Console
from typer.testing import CliRunner

from topwater import demo
from topwater.cli import app
from topwater.demo import Report, Scene, Standing, judged
from topwater.errors import EnvironmentProblem
from topwater.local import run
from topwater.terminal import cause, stop_flag

if TYPE_CHECKING:
    from pathlib import Path

runner = CliRunner()


def test_version() -> None:
    result = runner.invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"topwater {version('topwater')}\n")


def test_help_does_not_load_pyspark() -> None:
    code = "import sys, topwater.cli, topwater.demo; print('pyspark' in sys.modules)"
    found = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout == "False\n"


def failing(error: BaseException) -> object:
    def fail(*_: object) -> Report:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (EnvironmentProblem("no Java", fix="get one"), 3, "error: no Java\n  fix: get one\n"),
        (ValueError("a\nb\n=== Streaming Query ===\nplan"), 1, "error: b\n  fix: see the trace"),
        (KeyboardInterrupt(), 130, "stopped\n"),
    ],
)
def test_errors_are_two_lines_and_a_code(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, told: str
) -> None:
    monkeypatch.setattr(demo, "run", failing(error))
    result = runner.invoke(app, ["demo"])
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.startswith(told)


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "run", failing(EnvironmentProblem("no Java")))
    result = runner.invoke(app, ["demo", "--debug"])
    assert isinstance(result.exception, EnvironmentProblem)


REPORT = Report(1, 1, 0.9, (Standing("worth", 0.9, 0.8, 7.0),), 0.0, 0.0)


def test_a_wrong_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "run", lambda *_: REPORT)
    result = runner.invoke(app, ["demo", "--json"])
    assert result.exit_code == 1
    assert "1 windows differ from the same query in process" in result.stderr


def test_an_unknown_policy_is_refused_before_spark_starts() -> None:
    result = runner.invoke(app, ["demo", "--policy", "best"])
    assert result.exit_code == 2
    assert "'best' is unknown" in result.stderr
    assert "worth" in result.stderr


def test_an_error_without_words_is_named_by_its_type() -> None:
    assert cause(ValueError()) == "ValueError"


def test_the_demo_is_judged_by_the_truth_and_by_others() -> None:
    scene = Scene(windows=25, seed=3)
    good = list(run(scene.query(), scene.batches(), source=scene.source()))[:25]
    report = judged(scene, good)
    assert (report.windows, report.differing) == (25, 0)
    ours, *others, everything = report.standings
    assert ours.policy == "worth"
    assert everything.ndcg > 0.99
    assert all(other.fetches <= 7 for other in [ours, *others])
    assert ours.ndcg > sum(other.ndcg for other in others) / len(others)
    assert judged(scene, good[:-1]).differing == 1
    assert judged(scene, [*good, good[2]]).differing == 1


def test_a_real_service_gives_the_answers_that_the_recording_gives() -> None:
    scene = Scene(windows=12, seed=11)
    expected = list(run(scene.query(), scene.batches(), source=scene.source()))
    with scene.remote() as remote:
        copy = pickle.loads(pickle.dumps(remote.source))  # noqa: S301
        found = list(run(scene.query(), scene.batches(), source=copy))
        copy.close()
        assert found == expected
        assert remote.requests() == len(found)
        report = judged(scene, found[:12], requests=remote.requests())
        service = remote.service
    assert service is not None
    assert service.process.poll() is not None, "stopped"
    assert (report.differing, report.looked_up, report.lost) == (0, 12 * 7, 0)


def test_without_the_extra_the_demo_says_so_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "missing_package", lambda: "uvicorn")
    shown = io.StringIO()
    scene = Scene(windows=2)
    with scene.remote() as remote:
        demo.Lines(Console(file=shown), scene).begin(remote)
        found = list(run(scene.query(), scene.batches(), source=remote.source))[:2]
        report = judged(scene, found, requests=remote.requests())
    demo.Lines(Console(file=shown), scene).report(report)
    assert "the package uvicorn is missing" in shown.getvalue()
    assert 'pip install "topwater[serve]"' in shown.getvalue()
    assert "14 look-ups without a service; none was lost" in shown.getvalue()
    assert (report.differing, report.requests) == (0, None)


def test_ctrl_c_sets_the_flag_and_the_old_handler_comes_back() -> None:
    assert threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    with stop_flag() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.wait(5)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.spark
def test_the_demo_prints_one_json_object_per_window_and_nothing_else(tmp_path: Path) -> None:
    """The real thing, in a process of its own."""
    command = [sys.executable, "-m", "topwater", "demo"]
    done = subprocess.run(  # noqa: S603
        [*command, "--windows", "3", "--json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        timeout=280,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    *windows, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert [window["window_end"] for window in windows] == [
        f"2026-01-01T00:0{minute}:40.000+00:00" for minute in (1, 2, 3)
    ]
    assert all([row["rank"] for row in window["top"]] == [1, 2, 3, 4, 5] for window in windows)
    assert all(window["freshness"]["fetched"] == 7 for window in windows)
    report = last["report"]
    assert (report["differing"], report["lost"]) == (0, 0)
    assert (report["looked_up"], report["requests"]) == (21, 3), "one request a window"
    assert list(tmp_path.iterdir()) == []
