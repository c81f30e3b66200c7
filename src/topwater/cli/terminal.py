"""What commands share: errors in two lines, exit codes, help with examples."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import traceback
from collections.abc import Iterator
from typing import Annotated

import typer

from topwater.errors import EnvironmentProblem, QueryError, TopwaterError, known_fix
from topwater.jobs.signals import Terminated, stop_flag
from topwater.redaction import redacted
from topwater.show.console import plain

FAILED, MISUSED, LACKING, STOPPED, TERMINATED = 1, 2, 3, 130, 143
"""Exit codes: it went wrong; a setting or option is wrong; the machine lacks something; Ctrl-C;
SIGTERM."""

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
LivePort = Annotated[
    int | None, typer.Option(min=0, max=65_535, help="Of the live page, which it asks for.")
]
LookUp = Annotated[
    str | None,
    typer.Option("--key", help="With --check: the key to look up; by default the first."),
]

_PLAN = "=== Streaming Query ==="
_RAISED = re.compile(r"^[A-Za-z_][\w.]*(?:Error|Exception|Problem|Interrupt|Warning)\b.*")
_CODED = re.compile(r"\[(?!STREAM_FAILED)[A-Z]+(?:_[A-Z]+)+(?:\.[A-Z_]+)*\] (.+)")
_OURS = re.compile(r"^topwater\.errors\.\w+: (.+)\n  fix: (.+)$", re.MULTILINE)
"""An error of ours that was raised in another process of Spark's."""
_CALLED = "py4j.protocol.Py4JJavaError"
"""What Python says of an error in Java: not what went wrong, only where."""
_LONGEST = 500
_WIDTH = 78  # of an example: a terminal of 80 columns shows it on one line


def examples_of(*commands: str) -> str:
    """What stands below the help of a command: how it is used, with a word on why after a #.

    The words stand below each other where there is room.
    """
    parts = [each.partition("  # ") for each in commands]
    width = max((len(said) for said, _, why in parts if why), default=0)
    lines = [f"{said:<{width}}  # {why}" if why else said for said, _, why in parts]
    if max(map(len, lines)) > _WIDTH:
        lines = list(commands)
    return "\n".join(["Examples:", *(f"  {line}".replace("[", r"\[") for line in lines)])


@contextlib.contextmanager
def plain_errors(debug: bool = False) -> Iterator[None]:
    """Errors as two lines (what is wrong, what to do) and an exit code."""
    try:
        with stop_flag(raises=True):
            yield
    except typer.Exit:
        raise
    except BrokenPipeError:
        _drop_output()
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt as error:
        _show_traceback(error, debug)
        _end_output()
        typer.echo(_words(error), err=True)
        raise typer.Exit(exit_code(error)) from None
    except Exception as error:
        _show_traceback(error, debug)
        typer.echo(_words(error), err=True)
        raise typer.Exit(exit_code(error)) from None


def _show_traceback(error: BaseException, wanted: bool) -> None:
    """Where an error comes from, without what a library may have said of an address."""
    if wanted:
        typer.echo(redacted("".join(traceback.format_exception(error))), err=True)


def _end_output() -> None:
    """Ctrl-C also ends the process that reads our output, such as ``tee``."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()


def _drop_output() -> None:
    """The reader of our output is gone, and what Python still holds of it has nowhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def exit_code(error: BaseException) -> int:
    """What the command ends with.

    Examples
    --------
    >>> exit_code(QueryError("must be at least 1", field="k")), exit_code(ValueError())
    (2, 1)
    """
    if isinstance(error, KeyboardInterrupt):
        return TERMINATED if isinstance(error, Terminated) else STOPPED
    if isinstance(error, EnvironmentProblem):
        return LACKING
    return MISUSED if isinstance(error, QueryError) else FAILED


def _words(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "stopped"
    if isinstance(error, TopwaterError):
        fix = error.fix or "see the traceback with --debug"
        return f"error: {_lines(error.problem)}\n  fix: {_lines(fix)}"
    if ours := _OURS.findall(str(error)):
        return redacted("error: {}\n  fix: {}".format(*map(plain, ours[-1])))
    found = redacted(plain(cause(error)))
    fix = known_fix(str(error)) or "see the traceback with --debug"
    return f"error: {found}\n  fix: {fix}"


def _lines(text: str) -> str:
    return "\n".join(map(plain, text.split("\n")))


def cause(error: BaseException) -> str:
    r"""The line that names the cause, of all that PySpark says.

    A worker's traceback stands in the middle of Java's own, and the line that ends it names what
    was raised. Elsewhere the cause is what stands after an error code of Spark's, or the last line
    before a dump of the plan.

    Examples
    --------
    >>> cause(RuntimeError("Job aborted\nTraceback:\n  File 'x'\nKeyError: 'a'\n\n\tat org.x"))
    "KeyError: 'a'"
    """
    lines = [line.rstrip() for line in str(error).split(_PLAN)[0].splitlines()]
    lines = [line for line in lines if line.strip() and not re.match(r"\s+(at |\.\.\. \d)", line)]
    if not lines:
        return type(error).__name__
    if any("Traceback" in line for line in lines):
        raised = [line for line in lines if _RAISED.match(line)]
        if not raised or not raised[-1].startswith(_CALLED):
            return one_line((raised or lines)[-1])
    coded = [
        found[1].partition(" SQLSTATE: ")[0] for line in lines if (found := _CODED.search(line))
    ]
    return one_line((coded or lines)[-1])


def one_line(text: str) -> str:
    """The text without its line breaks, cut where it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
