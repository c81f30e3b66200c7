"""What commands share: errors in two lines, exit codes, a clean end on Ctrl-C, a waiting word."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console

from topwater.errors import EnvironmentProblem, QueryError, TopwaterError

FAILED, MISUSED, LACKING, STOPPED = 1, 2, 3, 130
"""Exit codes: it went wrong; a setting or option is wrong; the machine lacks something; Ctrl-C."""

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


@contextlib.contextmanager
def told(debug: bool = False) -> Iterator[None]:
    """Errors as two lines (what is wrong, what to do) and an exit code."""
    try:
        yield
    except typer.Exit:
        raise
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            raise
        typer.echo(_words(error), err=True)
        raise typer.Exit(exit_code(error)) from None


def exit_code(error: BaseException) -> int:
    """What the command ends with.

    Examples
    --------
    >>> exit_code(QueryError("must be at least 1", field="k")), exit_code(ValueError())
    (2, 1)
    """
    if isinstance(error, KeyboardInterrupt):
        return STOPPED
    if isinstance(error, EnvironmentProblem):
        return LACKING
    return MISUSED if isinstance(error, QueryError) else FAILED


def _words(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "stopped"
    if isinstance(error, TopwaterError):
        return f"error: {error}"
    return f"error: {cause(error)}\n  fix: see the traceback with --debug"


def cause(error: BaseException) -> str:
    """The line that names the cause: PySpark puts it last, before a dump of the whole plan."""
    said = str(error).split("=== Streaming Query ===")[0].strip()
    return said.splitlines()[-1].strip() if said else type(error).__name__


@contextlib.contextmanager
def stop_flag() -> Iterator[threading.Event]:
    """A flag that Ctrl-C sets.

    An exception raised in the middle of a call to Java would break the connection to it, and a
    clean end needs the connection; one raised while Java starts would leave it running.
    """
    stop = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def waiting(console: Console, what: str) -> Iterator[None]:
    """A spinner on a terminal, a plain line elsewhere."""
    if console.is_terminal:
        with console.status(f"{what}…"):
            yield
    else:
        console.print(f"{what}…")
        yield
