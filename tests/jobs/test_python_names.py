"""What a job names in Python, from a file beside it or from a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from topwater.errors import QueryError
from topwater.jobs.python_names import loaded

if TYPE_CHECKING:
    from pathlib import Path


def test_from_a_file_beside_the_job(tmp_path: Path) -> None:
    (tmp_path / "own_names.py").write_text("made = 0\ndef one():\n    return 1\n")
    assert loaded("own_names.py:one", tmp_path)() == 1
    assert loaded("own_names.py:one", tmp_path) is loaded("own_names.py:one", tmp_path)


def test_from_a_module(tmp_path: Path) -> None:
    assert loaded("json:dumps", tmp_path)([1]) == "[1]"
    assert loaded("collections.abc:Mapping", tmp_path).__name__ == "Mapping"


def test_a_function_of_a_file_travels_by_value(tmp_path: Path) -> None:
    from pyspark import cloudpickle

    (tmp_path / "own_travels.py").write_text("def one():\n    return 1\n")
    packed = cloudpickle.dumps(loaded("own_travels.py:one", tmp_path))  # type: ignore[no-untyped-call]
    assert b"co_code" in packed or b"CodeType" in packed or b"_make_function" in packed


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("mine", "names nothing"),
        (":one", "names nothing"),
        ("own_wrong.py:", "names nothing"),
        ("own_wrong.py:a b", "names nothing"),
        ("own_wrong.py:three", "no class or function three"),
        ("own_wrong.py:absent", "no class or function absent"),
        ("absent.py:one", "absent.py can't be imported: ImportError"),
        ("own_broken.py:one", "can't be imported: ZeroDivisionError"),
        ("no.such.module:one", "can't be imported: ModuleNotFoundError"),
    ],
)
def test_what_is_not_there_is_told_with_its_cause(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "own_wrong.py").write_text("three = 3\n")
    (tmp_path / "own_broken.py").write_text("1 / 0\n")
    with pytest.raises(QueryError, match=told) as caught:
        loaded(name, tmp_path, "sink.object")
    assert caught.value.field == "sink.object"


def test_the_name_that_was_meant_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "own_near.py").write_text("def write_rows(rows, number): ...\n")
    with pytest.raises(QueryError, match=r"did you mean write_rows\?"):
        loaded("own_near.py:write_row", tmp_path)
