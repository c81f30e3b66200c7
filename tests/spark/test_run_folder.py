"""The folders of killed processes are removed by the next one, and no other folder ever is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from topwater.spark.run_folder import OWNER, PREFIX, is_alive, run_folder, start_of, sweep

PLACE = str(Path(sys.modules[run_folder.__module__].__file__ or "").parent)
MADE = f"""
import os, sys
sys.path.append({PLACE!r})
from run_folder import run_folder  # as it is: loading Spark takes seconds
print(run_folder(), flush=True)
"""


def made(temporary: Path, then: str) -> subprocess.Popen[str]:
    """A process with a folder of its own, that does something then."""
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", f"{MADE}\n{then}"],
        env=os.environ | {"TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def folders(temporary: Path) -> list[str]:
    return sorted(each.name for each in temporary.iterdir())


def owned(folder: Path, pid: int, started: int | None) -> None:
    folder.mkdir()
    (folder / OWNER).write_text(json.dumps({"pid": pid, "started": started}))


def test_a_killed_process_leaves_a_folder_that_the_next_one_removes(tmp_path: Path) -> None:
    killed = made(tmp_path, "os.kill(os.getpid(), 9)")
    living = made(tmp_path, "sys.stdin.read()")
    with killed, living:
        killed.wait(30)
        assert living.stdout is not None
        alive = living.stdout.readline().strip()
        assert len(folders(tmp_path)) in (1, 2)  # the second may have swept the first already
        sweep(tmp_path)
        assert [str(tmp_path / name) for name in folders(tmp_path)] == [alive]
        living.communicate(timeout=30)
    assert folders(tmp_path) == []


def test_only_what_is_certainly_left_behind_is_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(30)
    mine, began = os.getpid(), start_of(os.getpid())
    assert began is not None
    owned(tmp_path / f"{PREFIX}gone", ended.pid, began)
    owned(tmp_path / f"{PREFIX}number-used-again", mine, began - 1)
    owned(tmp_path / f"{PREFIX}alive", mine, began)
    owned(tmp_path / "somebody-elses", ended.pid, began)
    (tmp_path / f"{PREFIX}1000").mkdir()  # without an owner
    (tmp_path / f"{PREFIX}file").touch()
    (tmp_path / f"{PREFIX}odd").mkdir()
    (tmp_path / f"{PREFIX}odd" / OWNER).write_text("{")
    (tmp_path / f"{PREFIX}new").mkdir()
    (tmp_path / f"{PREFIX}new" / OWNER).touch()  # its owner has not yet said who it is
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "somebody-elses")
    sweep(tmp_path)
    kept = ("1000", "alive", "file", "link", "new", "odd")
    assert folders(tmp_path) == ["somebody-elses", *(f"{PREFIX}{name}" for name in kept)]
    assert (tmp_path / "somebody-elses" / OWNER).exists()


def test_the_folder_of_another_user_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(30)
    owned(tmp_path / f"{PREFIX}theirs", ended.pid, 1)
    monkeypatch.setattr(os, "getuid", lambda: 4_242_424)
    sweep(tmp_path)
    assert folders(tmp_path) == [f"{PREFIX}theirs"]


def test_a_process_is_known_by_its_number_and_its_start() -> None:
    began = start_of(os.getpid())
    assert is_alive({"pid": os.getpid(), "started": began})
    assert not is_alive({"pid": os.getpid(), "started": 1})
    assert start_of(2**30) is None


def test_a_fork_does_not_remove_the_folder_of_its_parent(tmp_path: Path) -> None:
    forked = "child = os.fork()\nif not child: sys.exit()\nos.waitpid(child, 0)\n"
    told = "print(run_folder().exists())"
    with made(tmp_path, forked + told) as process:
        out, _ = process.communicate(timeout=30)
    assert out.splitlines()[-1] == "True"
    assert folders(tmp_path) == []
