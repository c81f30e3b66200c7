"""What every terminal output shares: text that can't steer it, and a word while one waits."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What steers a terminal, or turns the order of letters round."""


def plain(text: str) -> str:
    r"""Foreign text, made harmless: it is only read, and does nothing to a terminal.

    Examples
    --------
    >>> plain("ann\x1b[2J\nbob")
    'ann\\x1b[2J\\nbob'
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


@contextlib.contextmanager
def waiting(console: Console, what: str) -> Iterator[None]:
    """A spinner on a terminal, a plain line elsewhere."""
    if console.is_terminal:
        with console.status(f"{what}…"):
            yield
    else:
        console.print(f"{what}…")
        yield


def progress(what: str, quiet: bool) -> contextlib.AbstractContextManager[None]:
    """A word on stderr while something slow goes on."""
    if quiet:
        return contextlib.nullcontext()
    from rich.console import Console

    return waiting(Console(stderr=True, highlight=False), what)
