"""Which Java is taken, and what is said when none will do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from topwater.errors import EnvironmentProblem
from topwater.spark import java
from topwater.spark.java import Java, find_java, shim


def fake_java(folder: Path, version: str) -> Path:
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-01' >&2\n")
    command.chmod(0o755)
    return command


@pytest.fixture
def _no_bundled_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_bundled", lambda: None)


def environ(home: Path | None = None, path: Path | None = None) -> dict[str, str]:
    found = {"PATH": str(path / "bin") if path else ""}
    return found | ({"JAVA_HOME": str(home)} if home else {})


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", "21.0.1")
    fake_java(tmp_path / "path", "17.0.2")
    found = find_java(environ(tmp_path / "home", tmp_path / "path"))
    assert found == Java(home, 21)


def test_an_old_java_home_is_passed_over(tmp_path: Path) -> None:
    fake_java(tmp_path / "home", "1.8.0_392")
    good = fake_java(tmp_path / "path", "17.0.2")
    assert find_java(environ(tmp_path / "home", tmp_path / "path")) == Java(good, 17)


@pytest.mark.usefixtures("_no_bundled_java")
def test_no_java_at_all() -> None:
    with pytest.raises(EnvironmentProblem, match="no Java found") as caught:
        find_java({"PATH": ""})
    assert 'pip install "topwater[java]"' in caught.value.fix


@pytest.mark.usefixtures("_no_bundled_java")
def test_too_old_is_named_with_its_version(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "path", "11.0.20")
    with pytest.raises(EnvironmentProblem, match="needs Java 17 or newer") as caught:
        find_java(environ(path=tmp_path / "path"))
    assert f"{old} is Java 11" in caught.value.problem
    assert "install Java 17 or newer" in caught.value.fix


@pytest.mark.usefixtures("_no_bundled_java")
def test_a_java_home_that_holds_nothing(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="does not run"):
        find_java(environ(home=tmp_path))


def test_the_bundled_java_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = Java(Path("/bundled/bin/java"), 25, bundled=True)
    monkeypatch.setattr(java, "_bundled", lambda: bundled)
    assert find_java({"PATH": ""}) is bundled


def test_the_shim_drops_only_the_missing_module(tmp_path: Path) -> None:
    echo = tmp_path / "it's java"
    echo.write_text(f'#!{sys.executable}\nimport sys\nprint("|".join(sys.argv[1:]))\n')
    echo.chmod(0o755)
    home = shim(Java(echo, 25, bundled=True), tmp_path / "shim")
    given = ["-Da=b c", "--add-modules=jdk.incubator.vector", "", "Main", "--add-modules=x"]
    run = subprocess.run(  # noqa: S603
        [str(home / "bin" / "java"), *given], capture_output=True, text=True, check=True
    )
    assert run.stdout == "-Da=b c||Main|--add-modules=x\n"
