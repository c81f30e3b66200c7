"""The same answers over Spark Connect: no Java is in reach, and the server is another process.

The client is one, too: in a process that has talked to a server, Spark's functions are those of
Connect.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tests.support.connect_driver import FILES, asked
from tests.support.connect_server import connect_server
from tests.support.scenarios import answered_in_shards, answered_locally
from topwater.spark import answers_from
from topwater.spark.packed_rows import packed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from topwater import Answer

SOLD = [("a", 7.0), ("b", 5.0), ("c", 1.0)]
pytest.importorskip("grpc", reason="Spark Connect needs the extra topwater[connect]")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with connect_server(tmp_path_factory.mktemp("server")) as address:
        yield address


def report_of(address: str, folder: Path, *parts: str) -> dict[str, Any]:
    """What a client reports of what it did."""
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "tests.support.connect_driver", folder, address, *parts],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert run.returncode == 0, run.stderr[-4_000:]
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("client")


@pytest.fixture(scope="module")
def told(server: str, folder: Path) -> dict[str, Any]:
    return report_of(server, folder, "each", "worth", "refused")


def same(folder: Path, name: str, expected: list[Answer], *dropped: str) -> bool:
    """Whether the answers in a folder are these, and some."""
    query = asked(name).query
    got = answers_from(pq.read_table(folder / "found.parquet"), query)
    parts = [
        [replace(each, **dict.fromkeys(dropped, 0)) for each in answers]  # type: ignore[arg-type]
        for answers in (got, expected)
    ]
    kept = [[packed(each, query) for each in answers] for answers in parts]
    assert len(expected) > FILES
    return bool(kept[0] == kept[1])


@pytest.mark.usefixtures("told")
def test_items_taken_each_have_the_same_answers_through_a_restart(folder: Path) -> None:
    expected = answered_locally(asked("each-smallest"))
    assert same(folder / "each_part", "each-smallest", expected)


@pytest.mark.usefixtures("told")
def test_a_source_gives_the_same_answers_through_a_restart(folder: Path) -> None:
    """It is larger than what travels in a plan, and of a class that the server does not have."""
    expected = answered_in_shards(asked("worth"), 2)
    assert same(folder / "worth_part", "worth", expected, "candidates")


def test_micro_batches_are_watched(told: dict[str, Any]) -> None:
    seen, expected = told["worth"]["seen"], answered_in_shards(asked("worth"), 2)
    assert {each["query"] for each in seen} == {"worth_part"}
    assert sum(each["windows"] for each in seen) == len(expected)
    assert sum(each["fetched"] for each in seen) == sum(
        each.freshness.fetched for each in expected if each.freshness is not None
    )
    assert all(each["state_bytes"] > 0 for each in seen[-2:])


def test_the_state_can_be_read(told: dict[str, Any]) -> None:
    assert told["worth"]["shards"] == [0, 1, 2]  # and the ranking of both


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("shards", "can't be rewritten for other shards or settings over Spark Connect"),
        ("rescale", "can't be rewritten for other shards or settings over Spark Connect"),
        ("other", "StateError: the checkpoint"),
        ("columns", "keep the column window_end"),
        ("sink", "holds the answers of another run"),
        ("nothing", "StateError: there is no checkpoint in"),
    ],
)
def test_what_cannot_be_done_is_said_before_it_starts(
    told: dict[str, Any], what: str, words: str
) -> None:
    assert words in told["refused"][what]


def test_the_session_of_the_client_is_the_one_that_is_active(told: dict[str, Any]) -> None:
    assert told["refused"]["active"]


@pytest.mark.soak
def test_files_standing_queries_and_rsp_ql_work_too(server: str, tmp_path: Path) -> None:
    told = report_of(server, tmp_path, "files", "standing", "rspql")
    expected = answered_locally(asked("last-and-sum"))
    assert same(tmp_path / "files_part", "last-and-sum", expected, "candidates")
    assert told["standing"] >= 2 * FILES
    assert told["rspql"] == [[f"http://example.org/{item}", total] for item, total in SOLD]
