"""The demo in a terminal."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from tests.support.demo_played import played, reported
from topwater_lab.demo.contenders import (
    TABLE,
    judged,
)
from topwater_lab.demo.display import Lines
from topwater_lab.demo.window_comparison import Window, label


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
