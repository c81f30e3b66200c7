"""The demo: its contenders, what it tells, and what it writes."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tests.support.demo_played import played, reported
from topwater.errors import EnvironmentProblem
from topwater.local import run as run_locally
from topwater.model import Row
from topwater_lab.demo import scene
from topwater_lab.demo.contenders import (
    LIVES,
    PUBLISHED,
    TABLE,
    best,
    contest,
    field_of,
    judged,
    needed,
    rungs,
    truth,
)
from topwater_lab.demo.demo_run import Stopwatch, Wishes, run
from topwater_lab.demo.display import JsonLines, Lines
from topwater_lab.demo.findings import made
from topwater_lab.demo.scene import Scene
from topwater_lab.demo.window_comparison import Window, label


def test_contenders_have_the_same_budget_and_the_truth_judges_them() -> None:
    here, found, others = played()
    report = reported()
    assert (len(report.answers), report.differing) == (25, 0)
    assert [each.name for each in others.published] == list(PUBLISHED)
    assert [each.name for each in others.caches] == [f"ttl:{life}" for life in LIVES]
    for each in (report.ours, *others.published, *others.caches):
        assert all(window.fetched <= here.budget for window in each.windows)
    assert others.everything.ndcg > 0.99
    assert (others.table.fetches, others.table.gain("ndcg", over=others.table)) == (0.0, None)
    assert report.ours.ndcg > best(others.published).ndcg > others.table.ndcg
    assert report.ours.ndcg > best(others.caches).ndcg
    assert made(here, found[:-1], others).differing == 1
    assert made(here, [*found, found[2]], others).differing == 1


def test_a_contest_is_what_the_query_answers() -> None:
    here, found, _ = played()
    twin = contest(here, "worth")
    for answer, window in zip(found, twin.windows, strict=True):
        mine = judged(here, answer)
        assert (mine.keys, mine.ndcg, mine.fetched) == (window.keys, window.ndcg, window.fetched)


def test_the_true_five_are_right_by_their_own_measure() -> None:
    here, found, _ = played()
    for answer in found:
        true = truth(here, answer.window.index)
        rows = tuple(Row(rank, key, 0.0, 0) for rank, key in enumerate(true, 1))
        verdict = judged(here, replace(answer, rows=rows))
        assert verdict.ndcg == pytest.approx(1.0)
        assert verdict.precision == 1.0


def test_what_a_rival_needs_is_the_least_that_is_enough() -> None:
    here, _, others = played()
    climbed = [rung for budget in (7, 20, 40) for rung in rungs(here, others, budget)]
    target = contest(here, "worth").ndcg
    found = needed(climbed, "cache", "ndcg", target)
    assert found is not None
    enough = [r for r in climbed if r.kind == "cache" and r.contender.ndcg >= target]
    assert found.contender.fetches == min(r.contender.fetches for r in enough)
    assert found.contender.fetches > 7
    assert needed(climbed, "cache", "ndcg", 1.1) is None


@pytest.mark.parametrize("policy", ["at-tsm", "ttl:5 min"])
def test_whoever_is_ours_is_no_rival(policy: str) -> None:
    here = Scene(windows=3, policy=policy)
    others = field_of(here)
    names = [each.name for each in (*others.published, *others.caches)]
    assert policy not in names
    assert len(names) == len(PUBLISHED) + len(LIVES) - 1


def test_look_ups_are_counted_by_what_they_brought() -> None:
    seen = reported().looked_up
    assert seen.keys == 25 * 7 == seen.first + seen.changed + seen.same + seen.lost
    assert (seen.windows, seen.lost) == (25, 0)
    assert seen.better > seen.worse
    assert seen.without < reported().ours.ndcg


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


def test_a_folder_that_can_not_be_written_is_said_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match="can't be written"):
        run(Scene(windows=1), JsonLines(), Wishes(out=tmp_path / "file" / "demo"))


@pytest.mark.parametrize("terminal", [True, False])
def test_windows_are_told_as_each_answers_them(terminal: bool) -> None:
    here, found, others = played()
    shown = io.StringIO()
    lines = Lines(Console(file=shown, force_terminal=terminal, width=100), here)
    with here.remote() as remote:
        lines.begin(remote, others)
    for answer in found:
        rivals = {label(each): each.windows[answer.window.index] for each in others.finalists}
        lines.window(Window.of(here, answer, judged(here, answer), rivals))
    lines.report(reported(), Path("report.html"))
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue())
    assert "00:25:40" in text
    assert "●●●●●" in text
    assert ("nDCG so far" in text) == terminal
    assert "report.html" in text
    assert TABLE in text


def test_quiet_tells_the_end_only() -> None:
    here, found, others = played()
    shown = io.StringIO()
    lines = Lines(Console(file=shown), here, quiet=True)
    with here.remote() as remote, lines.waiting("starting"):
        lines.begin(remote, others)
    rivals = {label(each): each.windows[0] for each in others.finalists}
    lines.window(Window.of(here, found[0], judged(here, found[0]), rivals))
    assert shown.getvalue() == ""
    lines.report(reported(), Path("report.html"))
    assert "nDCG@5" in shown.getvalue()


def test_steps_are_timed_and_added_up() -> None:
    watch = Stopwatch()
    for _ in range(2):
        with watch.step("a"):
            pass
    assert list(watch.seconds) == ["a"]


def test_rungs_hold_every_kind() -> None:
    here, _, others = played(2, 7)
    found = rungs(here, others, 3)
    assert {rung.kind for rung in found} == {"ours", "published", "cache"}
    assert all(rung.contender.fetches <= 3 for rung in found)


@pytest.mark.spark
def test_the_demo_prints_one_json_object_per_window_and_nothing_else(tmp_path: Path) -> None:
    """The real thing, in a process of its own."""
    command = [sys.executable, "-m", "topwater", "demo"]
    done = subprocess.run(  # noqa: S603
        [*command, "--windows", "3", "--port", "0", "--json"],
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
    assert all(len(window["looked_up"]) == 7 for window in windows)
    assert all(set(window["rivals"]) >= {TABLE} for window in windows)
    report = last["report"]
    assert (report["differing"], report["looked_up"]["lost"]) == (0, 0)
    assert (report["looked_up"]["keys"], report["service"]["requests"]) == (21, 21)
    assert {"service", "Spark", "stream"} <= set(report["seconds"])
    assert report["written"] == str(tmp_path / "out" / "demo" / "report.html")
    assert "Who matters most" in Path(report["written"]).read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "nothing else is left behind"
