"""Whatever lies in a folder of answers is shown or passed over with a word, and never the end."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from topwater.live import folder as folder_module
from topwater.live.folder import LOG, Folder

GOOD = {"window_start": 0, "window_end": 60_000, "rank": 1, "key": "ann", "score": 2.0}


def row(**changes: object) -> bytes:
    return json.dumps({**GOOD, **changes}).encode() + b"\n"


def parquet(path: Path, columns: dict[str, object]) -> None:
    pq.write_table(pa.table(columns), path)


def cut(path: Path) -> None:
    parquet(path, {name: [value] for name, value in GOOD.items()})
    path.write_bytes(path.read_bytes()[:-9])


def flipped(path: Path) -> None:
    parquet(path, {name: [value] * 99 for name, value in GOOD.items()})
    data = bytearray(path.read_bytes())
    data[8:60] = os.urandom(52)
    path.write_bytes(data)


def bomb(path: Path) -> None:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    with path.open("wb") as file:
        for _ in range(70):
            file.write(packer.compress(b" " * 2**20))
        file.write(packer.flush())


def looping(path: Path) -> None:
    path.symlink_to(path.name)


def unreadable(path: Path) -> None:
    path.write_bytes(row())
    path.chmod(0)


KINDS: dict[str, Callable[[Path], object]] = {
    "empty.parquet": lambda path: path.write_bytes(b""),
    "garbage.parquet": lambda path: path.write_bytes(os.urandom(5_000)),
    "magic.parquet": lambda path: path.write_bytes(b"PAR1PAR1"),
    "cut.parquet": cut,
    "flipped.parquet": flipped,
    "text.parquet": lambda path: path.write_text("not at all"),
    "other.parquet": lambda path: parquet(path, {"a": [1, 2], "b": ["x", "y"]}),
    "none.parquet": lambda path: parquet(path, {"window_end": pa.nulls(3)}),
    "texts.parquet": lambda path: parquet(path, {"window_end": ["soon"], "rank": ["first"]}),
    "lists.parquet": lambda path: parquet(path, {"window_end": [[1]], "rank": [{"a": 1}]}),
    "binary.parquet": lambda path: parquet(path, {"window_end": [b"\xff"], "rank": [1]}),
    "years.parquet": lambda path: parquet(path, {"window_end": [2**62], "rank": [1]}),
    "many.parquet": lambda path: parquet(path, {"window_end": pa.nulls(21_000_000, pa.int8())}),
    "folder.parquet": lambda path: path.mkdir(),
    "pipe.parquet": os.mkfifo,
    "loop.parquet": looping,
    "dangling.parquet": lambda path: path.symlink_to("nowhere.parquet"),
    "device.json": lambda path: path.symlink_to("/dev/zero"),
    "closed.json": unreadable,
    "empty.json": lambda path: path.write_bytes(b""),
    "cut.json": lambda path: path.write_bytes(row()[:-9]),
    "garbage.json": lambda path: path.write_bytes(os.urandom(5_000)),
    "latin.json": lambda path: path.write_bytes(row().replace(b"ann", b"\xe9")),
    "numbers.json": lambda path: path.write_bytes(b"1\n2\n"),
    "lists.json": lambda path: path.write_bytes(b"[[1]]\n"),
    "nulls.json": lambda path: path.write_bytes(b"null\n"),
    "deep.json": lambda path: path.write_bytes(b"[" * 200_000),
    "digits.json": lambda path: path.write_bytes(b'{"window_end": ' + b"9" * 9_999 + b"}\n"),
    "nan.json": lambda path: path.write_bytes(b'{"window_end": NaN, "rank": 1}\n'),
    "infinite.json": lambda path: path.write_bytes(b'{"window_end": 1e999, "rank": 1}\n'),
    "words.json": lambda path: path.write_bytes(row(window_end="soon")),
    "ranks.json": lambda path: path.write_bytes(row(rank="first")),
    "mixed.json": lambda path: path.write_bytes(row() + row(rank=[1], window_end={"a": 1})),
    "without.json": lambda path: path.write_bytes(b'{"rank": 1}\n'),
    "look_ups.json": lambda path: path.write_bytes(row(looked_up=7, problems=3, fetched="x")),
    "surrogate.json": lambda path: path.write_bytes(b'{"window_end": "\\ud800"}\n'),
    "line.json": lambda path: path.write_bytes(b"x" * (65 * 2**20)),
    "bomb.json.gz": bomb,
    "cut.json.gz": lambda path: path.write_bytes(gzip.compress(row() * 99)[:-9]),
    "garbage.json.gz": lambda path: path.write_bytes(os.urandom(5_000)),
    "plain.json.gz": lambda path: path.write_bytes(row()),
    "pipe.json.gz": os.mkfifo,
}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_module, "PATIENCE", -1)


@pytest.mark.parametrize("name", KINDS)
def test_the_answers_beside_it_are_shown(tmp_path: Path, name: str) -> None:
    KINDS[name](tmp_path / name)
    (tmp_path / "good.json").write_bytes(row(key="zoe"))
    folder = Folder(tmp_path)
    labels = [each["label"] for record in folder.news() for each in record["rows"]]
    assert "zoe" in labels
    assert all(len(word) < 400 for word in folder.passed_over)
    assert list(folder.news()) == []


@pytest.mark.parametrize("name", KINDS)
def test_a_log_may_name_it(tmp_path: Path, name: str) -> None:
    """The log of a sink has the last word on what is read: pipes and folders too."""
    KINDS[name](tmp_path / name)
    (tmp_path / "good.json").write_bytes(row(key="zoe"))
    log = tmp_path / LOG
    log.mkdir()
    for number, each in enumerate([name, "good.json"]):
        line = {"path": str(tmp_path / each), "modificationTime": 1, "action": "add"}
        (log / str(number)).write_text(f"v1\n{json.dumps(line)}\n")
    folder = Folder(tmp_path)
    labels = [each["label"] for record in folder.news() for each in record["rows"]]
    assert "zoe" in labels


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"v1",
        b"v1\n{",
        b"v1\n[]\n",
        b"v1\n7\n",
        b"v1\n{}\n",
        b"\xff\xfe",
        b"v1\n" + b"[" * 9**5,
    ],
)
def test_a_log_that_is_none_is_passed_over(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "good.json").write_bytes(row(key="zoe"))
    log = tmp_path / LOG
    log.mkdir()
    (log / "0").write_bytes(content)
    line = {"path": "good.json", "modificationTime": 1, "action": "add"}
    (log / "1").write_text(f"v1\n{json.dumps(line)}\n")
    folder = Folder(tmp_path)
    assert [each["label"] for record in folder.news() for each in record["rows"]] == ["zoe"]
