"""What every terminal output shares."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from topwater.show.console import plain, progress, waiting


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ann", "ann"),
        ("käse 日本", "käse 日本"),
        ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
        ("a\rb\nc\td", "a\\rb\\nc\\td"),
        ("\x9b2J", "\\x9b2J"),
        ("safe\u202egpj.exe", "safe\\u202egpj.exe"),
    ],
)
def test_text_does_nothing_to_a_terminal(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_waiting_is_a_line_where_there_is_no_terminal() -> None:
    written = io.StringIO()
    with waiting(Console(file=written), "reading"):
        assert written.getvalue() == "reading…\n"
    assert written.getvalue() == "reading…\n"


def test_waiting_is_gone_from_a_terminal_when_it_is_over() -> None:
    written = io.StringIO()
    with waiting(Console(file=written, force_terminal=True), "reading"):
        pass
    assert "reading…" in written.getvalue()
    assert written.getvalue().endswith("\x1b[2K"), "the line is wiped"


def test_progress_goes_to_stderr_unless_it_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("reading", quiet=False):
        pass
    assert capsys.readouterr() == ("", "reading…\n")
    with progress("reading", quiet=True):
        pass
    assert capsys.readouterr() == ("", "")
