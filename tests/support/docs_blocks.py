"""Reads a page as its reader would: every block in order, in one folder, with what came before.

===================  =============================================================================
``python``           runs; with ``>>>`` what it prints is compared
``sh``               each line is a command that runs, or, where it would install something or not
                     end, is read by the parser of the program that it calls
``console``          the same with output, which is compared where the command runs
``toml``, ``yaml``   is a job for ``topwater run``, or some tables of one, without mistakes
``sparql``           compiles
``json``             is read
``text``             what the block of Python before it printed, which is compared; or a picture
===================  =============================================================================

A block whose first line is a comment with a file's name is that file for what follows. A service
that a page starts runs until the page ends, on a port that is free instead of the one named.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.support.docs_pages import Block
from tests.support.docs_shell import Shell
from topwater.jobs import read_job
from topwater.jobs.job_file import read
from topwater.jobs.remote_side import source_of
from topwater.jobs.run_settings import LiveSettings, SparkSettings
from topwater.jobs.sinks import Sink
from topwater.streams import stream_settings


class Reader:
    """Follows one page."""

    def __init__(self, folder: Path) -> None:
        self.shell = Shell(folder)
        self.main = ModuleType("__main__")
        self.printed = ""

    @property
    def folder(self) -> Path:
        """Where the reader is."""
        return self.shell.folder

    @property
    def names(self) -> dict[str, Any]:
        """What the blocks so far have named."""
        return vars(self.main)

    def read(self, block: Block) -> None:
        """Do what the block says; an error names the block."""
        check = CHECKS.get(block.language)
        if check is None:
            known = ", ".join(CHECKS)
            raise AssertionError(f"{block}: {block.language!r} is not checked; use one of: {known}")
        text = self.shell.with_ports(block.text)
        if block.file is not None:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        printed, self.printed = self.printed, ""
        if block.language == "text" and printed:
            assert _same(text, printed), f"{block}: what is before it printed:\n{printed}"
        check(self, block, text)

    def close(self) -> None:
        """Stop what was started."""
        self.shell.close()


def _python(reader: Reader, block: Block, text: str) -> None:
    if block.file is not None:
        compile(text, block.file, "exec")  # a command runs it
    elif ">>> " in text:
        test = doctest.DocTestParser().get_doctest(
            text, reader.names, str(block), block.page, block.line
        )
        told: list[str] = []
        doctest.DocTestRunner().run(test, out=told.append, clear_globs=False)
        reader.names.update(test.globs)  # the test has a copy
        assert not told, "".join(told)
    else:
        code = compile(text, str(block), "exec", dont_inherit=True)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, reader.names)  # noqa: S102
        reader.printed = printed.getvalue()


def _sh(reader: Reader, block: Block, text: str) -> None:
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip():
            _typed(reader, block, line)


def _console(reader: Reader, block: Block, text: str) -> None:
    """Commands after ``$``, each with what it prints."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, wanted = part.partition("\n")
        printed = _typed(reader, block, line)
        if printed is None:
            continue
        assert _same(wanted, printed), f"{block}: {line} printed:\n{printed}"


def _typed(reader: Reader, block: Block, line: str) -> str | None:
    try:
        return reader.shell.type(line)
    except Exception as error:
        raise AssertionError(f"{block}: {line}: {error}") from error


def _same(wanted: str, printed: str) -> bool:
    """Equal but for white space, and for what ``...`` or ``…`` stands for."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(wanted.replace("…", "..."), printed, flags)


def _sparql(_reader: Reader, _block: Block, text: str) -> None:
    from topwater.rspql import parse as parse_query

    parse_query(text)


def _described(reader: Reader, block: Block, text: str) -> None:
    """A whole job, or some tables of one."""
    path = reader.folder / (block.file or f"block.{block.language}")
    path.write_text(text, encoding="utf-8")
    said = read(path).said
    for stream in (said.get("stream", {}), *said.get("streams", {}).values()):
        place = stream if isinstance(stream, str) else stream.get("path", "")
        (reader.folder / place).mkdir(parents=True, exist_ok=True)
    if "query" in said:
        read_job(path)
        return
    unknown = set(said) - set(TABLES)
    assert not unknown, f"{block}: no part of a job: {unknown}"
    for name in said:
        TABLES[name](said[name], reader.folder)


def _json(_reader: Reader, _block: Block, text: str) -> None:
    for part in text.strip().split("\n\n"):
        json.loads(part)


def _text(_reader: Reader, _block: Block, _text: str) -> None:
    """Nothing to check."""


TABLES: dict[str, Callable[[Any, Path], Any]] = {
    "stream": stream_settings,
    "source": source_of,
    "sink": Sink.of,
    "spark": lambda table, _: SparkSettings(**table),
    "live": lambda table, _: LiveSettings(**table),
}

CHECKS: dict[str, Callable[[Reader, Block, str], None]] = {
    "python": _python,
    "sh": _sh,
    "console": _console,
    "toml": _described,
    "yaml": _described,
    "sparql": _sparql,
    "json": _json,
    "text": _text,
}
