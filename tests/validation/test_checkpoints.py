"""A folder of answers and a checkpoint that do not belong together are refused, with what to do."""

from __future__ import annotations

import pytest

from topwater.errors import QueryError
from topwater.validation.checkpoints import last_number, require_continued


@pytest.mark.parametrize(
    ("written", "planned", "done"),
    [
        (None, None, None),  # both new
        (None, 7, 7),  # a new folder for an old checkpoint
        (7, 7, 7),  # it goes on
        (6, 7, 6),  # killed before the answers of 7 were written
        (7, 7, 6),  # killed after they were
        (0, 0, None),  # killed in the very first one
        (3, 9, None),  # micro-batches without answers leave nothing behind in a job's folder
    ],
)
def test_what_goes_on_is_let_through(
    written: int | None, planned: int | None, done: int | None
) -> None:
    require_continued("out", "state", written=written, planned=planned, done=done)


@pytest.mark.parametrize(
    ("written", "planned", "done", "problem"),
    [
        (5, None, None, "out holds the answers of another run, and state is new"),
        (0, None, None, "out holds the answers of another run"),
        (5, 4, 4, "has the answers of micro-batch 5, and state only came to 4"),
        (5, 8, 8, "ends with micro-batch 5, and state has finished 8"),
    ],
)
def test_what_would_lose_or_repeat_windows_is_refused(
    written: int, planned: int | None, done: int | None, problem: str
) -> None:
    with pytest.raises(QueryError, match=problem) as caught:
        require_continued("out", "state", written=written, planned=planned, done=done)
    assert caught.value.field == "path"
    assert "another folder; this one keeps its windows" in caught.value.fix


def test_numbers_are_told_from_other_names() -> None:
    assert last_number(["0", "1", "2"]) == 2
    assert last_number(["99.compact", "100", ".101.crc", ".102.tmp", "metadata", "-7"]) == 100
    assert last_number(["metadata"]) is None
