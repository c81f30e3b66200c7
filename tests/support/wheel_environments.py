"""Environments of Python with Topwater's wheel and what it needs, and nothing of a checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


def built_wheel(folder: Path) -> Path:
    """The wheel of this checkout, as pip would build it."""
    code = "import sys, hatchling.build; print(hatchling.build.build_wheel(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    return folder / done.stdout.split()[-1]


class Environment:
    """An environment with the wheel.

    What the wheel needs is linked from the environment of the tests, package by package, which
    takes no time; the wheel is installed by pip.

    Attributes
    ----------
    folder, site
        Where it is, and where its packages are.
    """

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder = folder
        venv.create(folder, symlinks=True)
        [self.site] = (folder / "lib").glob("python*/site-packages")
        for each in needed():
            for name in top_names(each):
                (self.site / name).symlink_to(Path(str(each.locate_file(name))).resolve())
        pip = ["-m", "pip", "--disable-pip-version-check", "--python", str(self.python)]
        install = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)]
        subprocess.run([sys.executable, *pip, *install], check=True, env=plain())  # noqa: S603

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def variables(self, java: str) -> dict[str, str]:
        """What a process of Spark's on a machine with this environment has, and no more."""
        path = f"{self.folder / 'bin'}{os.pathsep}{os.defpath}"
        local = {"SPARK_LOCAL_IP": "127.0.0.1", "JAVA_HOME": java}
        return plain() | local | {"PATH": path}

    def where(self, module: str) -> str:
        """Which file a module is, or nothing."""
        code = (
            "import importlib.util, sys; spec = importlib.util.find_spec(sys.argv[1]); "
            "print(spec.origin if spec else '')"
        )
        command = [str(self.python), "-c", code, module]
        folder = self.folder  # not the checkout: Python looks for modules where it is started
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, check=True, cwd=folder, env=plain()
        )
        return done.stdout.strip()

    def loaded(self, module: str) -> bool:
        """Whether a module of the wheel was loaded from here: Python keeps what it compiled."""
        path = self.site / f"{module.replace('.', '/')}.py"
        return any((path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"))

    def packed(self, to: Path) -> Path:
        """All of it as `venv-pack` packs it, packages instead of links; Spark has its PySpark."""
        with tarfile.open(to, "w:gz", compresslevel=1) as archive:
            archive.add(self.folder / "bin", "bin")
            archive.add(self.folder / "pyvenv.cfg", "pyvenv.cfg")
            inside = self.site.relative_to(self.folder)
            for path in self.site.iterdir():
                if path.name != "pyspark":
                    archive.add(path.resolve(), str(inside / path.name), filter=_no_cache)
        return to


def _no_cache(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if "__pycache__" in member.name else member


def plain() -> dict[str, str]:
    """The environment variables of this process, without those that lead to a checkout."""
    left = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE"}
    return {name: value for name, value in os.environ.items() if name not in left}


def needed(name: str = "topwater") -> list[Distribution]:
    """All that a distribution needs, directly or not, in the versions of this environment."""
    found: dict[str, Distribution] = {}
    todo = [*_needs(name)]
    while todo:
        each = todo.pop()
        if each not in found:
            found[each] = distribution(each)
            todo += _needs(each)
    return list(found.values())


def _needs(name: str) -> Iterator[str]:
    for line in requires(name) or ():
        requirement = Requirement(line)
        extras = {"extra": ""}
        if requirement.marker is None or requirement.marker.evaluate(extras):
            yield canonicalize_name(requirement.name)


def top_names(found: Distribution) -> set[str]:
    """The files and folders that a distribution has in site-packages."""
    names = {file.parts[0] for file in found.files or ()}
    return {name for name in names if name not in ("..", "__pycache__")}
