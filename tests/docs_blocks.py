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
import functools
import io
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from docs_commands import parse, targets
from docs_pages import ROOT, Block
from topwater.jobs import read_job
from topwater.jobs.files import read
from topwater.jobs.settings import LiveSettings, SparkSettings
from topwater.jobs.sinks import Sink
from topwater.jobs.sources import source_of
from topwater.streams import stream_settings

BIN = Path(sys.executable).parent
ENDS = {"--version", "explain", "init", "run", "state"}
"""Commands that end by themselves in seconds, ``run`` if it is told to."""

PORTS = {"serve-example": "8765", "live": "8787"}
"""Commands that serve until they are stopped, and where they do if nothing else is said."""

Service = subprocess.Popen[bytes]


class Reader:
    """Follows one page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.main = ModuleType("__main__")
        self.ports: dict[str, str] = {}
        self.services: list[Service] = []
        self.printed = ""

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
        text = block.text
        for named, free in self.ports.items():
            text = text.replace(named, free)
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
        for service in self.services:
            service.terminate()
            service.wait(10)


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
            _command(reader, block, line)


def _console(reader: Reader, block: Block, text: str) -> None:
    """Commands after ``$``, each with what it prints."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, wanted = part.partition("\n")
        printed = _command(reader, block, line)
        if printed is None:
            continue
        assert _same(wanted, printed), f"{block}: {line} printed:\n{printed}"


def _same(wanted: str, printed: str) -> bool:
    """Equal but for white space, and for what ``...`` or ``…`` stands for."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(wanted.replace("…", "..."), printed, flags)


def _command(reader: Reader, block: Block, line: str) -> str | None:
    """Run a command, or read it where it can't be run; what it printed."""
    words = shlex.split(re.sub(r"(^|\s)#.*", "", line))
    if not words:
        return None
    check = PROGRAMS.get(Path(words[0]).name)
    assert check is not None, f"{block}: {words[0]!r} is not checked; see docs_blocks.py"
    try:
        return check(reader, words)
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{block}: {line}: {error}") from error


def _topwater(reader: Reader, words: list[str]) -> str | None:
    parse(words)
    if words[1] in PORTS:
        _start(reader, words)
        return None
    if words[1] not in ENDS or (words[1] == "run" and "--once" not in words):
        return None
    return _run(reader, [str(BIN / "topwater"), *words[1:]])


def _start(reader: Reader, words: list[str]) -> None:
    """A service in the background, on a free port; later blocks get to know it."""
    words = [word for word in words if word not in ("&", "--open")]
    named = words[words.index("--port") + 1] if "--port" in words else PORTS[words[1]]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = str(probe.getsockname()[1])
    reader.ports[named] = free
    command = [str(BIN / "topwater"), *words[1:], "--port", free]
    reader.services.append(
        subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=reader.folder)  # noqa: S603
    )
    for _ in range(300):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(free)), 1):
            return
        time.sleep(0.1)
    raise AssertionError(f"{words} did not start")


def _run(reader: Reader, command: list[str]) -> str:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    ran = subprocess.run(  # noqa: S603
        command, cwd=reader.folder, env=environment, capture_output=True, text=True, timeout=240
    )
    assert ran.returncode == 0, f"{command} failed:\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def _python_file(reader: Reader, words: list[str]) -> str | None:
    if words[1:2] == ["-m"]:
        assert words[2] in ("venv", "pip", "topwater"), "only modules that a reader has"
        return None
    assert (reader.folder / words[1]).is_file(), f"{words[1]} is not there"
    return _run(reader, [sys.executable, *words[1:]])


def _make(_reader: Reader, words: list[str]) -> None:
    missing = {word for word in words[1:] if "=" not in word} - targets()
    assert not missing, f"nothing makes {missing}"


def _pip(_reader: Reader, words: list[str]) -> None:
    assert words[1] == "install", "pages only install"


def _folder(reader: Reader, words: list[str]) -> None:
    """``mkdir``, ``cd``: the reader goes there, or would if it were not outside."""
    there = reader.folder / words[-1]
    if words[0] == "mkdir":
        there.mkdir(parents=True, exist_ok=True)
    elif there.is_dir():
        reader.folder = there
        os.chdir(there)


def _opened(reader: Reader, words: list[str]) -> None:
    """A program that shows a file, until it is closed."""
    assert (reader.folder / words[-1]).is_file(), f"{words[-1]} is not there"


def _printed(reader: Reader, words: list[str]) -> str:
    return _run(reader, words)


def _script(reader: Reader, words: list[str]) -> None:
    """A file of the repository."""
    assert (ROOT / words[0]).is_file(), f"{words[0]} is not there"


def _spark_submit(reader: Reader, words: list[str]) -> None:
    """Needs a cluster: its options are looked up in its help, and its file has to be there."""
    known = set(re.findall(r"--[a-z-]+", _help_of_spark_submit()))
    unknown = [word for word in words if word.startswith("--") and word not in known]
    assert not unknown, f"spark-submit has no {unknown[0]}"
    [file] = [word for word in words if word.endswith(".py")]
    assert (reader.folder / Path(file).name).is_file(), f"{file} is not there"


@functools.cache
def _help_of_spark_submit() -> str:
    from topwater.spark.java import find_java

    java = find_java().command.parent.parent
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    command = [str(BIN / "spark-submit"), "--help"]
    ran = subprocess.run(  # noqa: S603
        command,
        env={**os.environ, "PATH": path, "JAVA_HOME": str(java)},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout + ran.stderr


def _never(_reader: Reader, _words: list[str]) -> None:
    """Programs that need what no test has: a network, a cluster."""


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

PROGRAMS: dict[str, Callable[[Reader, list[str]], str | None]] = {
    "topwater": _topwater,
    "python": _python_file,
    "make": _make,
    "pip": _pip,
    "cd": _folder,
    "mkdir": _folder,
    "cat": _printed,
    "ls": _printed,
    "jupyter": _opened,
    "run": _script,
    "git": _never,
    "spark-submit": _spark_submit,
    "venv-pack": _never,
}
