"""Queries in tables: windows in words, columns that are there, sources that are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.job_files import job
from topwater.errors import QueryError
from topwater.jobs.explanation import job_explanation
from topwater.windows import sliding, tumbling

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = '[source]\nkind = "memory"\nvalues = {ann = 3.0}\n'
REMOTE = ("query.refresh=f", 'query.score="n * f"')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"9 min"', tumbling("9 min")),
        ('"the last 9 min, every 3 min"', sliding("9 min", "3 min")),
        ('"PT9M every PT3M"', sliding("9 min", "3 min")),
        ('{width = "9 min"}', tumbling("9 min")),
        ("{width = 9, step = 3, start = 1}", sliding(9, 3, start=1)),
    ],
)
def test_windows_are_read_as_people_write_them(tmp_path: Path, text: str, expected: object) -> None:
    assert job(tmp_path, "", f"query.window={text}").query.window == expected


@pytest.mark.parametrize("text", ['"soon"', '"9 min every"', '"9 min every soon"', '""'])
def test_what_is_no_window(tmp_path: Path, text: str) -> None:
    with pytest.raises(QueryError, match=r"--set query\.window: ") as caught:
        job(tmp_path, "", f"query.window={text}")
    assert "9 min every 3 min" in caught.value.fix


@pytest.mark.parametrize(
    ("settings", "setting", "fix"),
    [
        (["query.polcy=1"], "query.polcy", "use"),
        (["query.ky=1"], "query.ky", "did you mean key?"),
        (["query.window={widht=9}"], "query.window.widht", "did you mean width?"),
        (["strem.path=x"], "strem", "did you mean stream?"),
        (["query.k=0"], "query.k", ""),
        (["query.key=usr"], "query.key", "did you mean user?"),
        (["query.take={n='sum(amount)'}"], "query.take", "use one of: user, at"),
        (["query.time=user"], "query.time", "timestamp"),
        (["query.take={n='sum(user)'}"], "query.take", "number"),
        (["stream.schema='user double, at timestamp'"], "query.key", "text, whole numbers"),
        (["query.window={width=9, step=3, by='count'}", "query.time=at"], "query", ""),
        ([*REMOTE], "query.refresh", "[source]"),
    ],
)
def test_what_can_not_work_is_told_with_its_place(
    tmp_path: Path, settings: list[str], setting: str, fix: str
) -> None:
    with pytest.raises(QueryError) as caught:
        job(tmp_path, "", *settings)
    assert setting in caught.value.problem.splitlines()[0]
    assert fix in caught.value.fix


def test_a_source_that_nobody_asks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="source: is never asked"):
        job(tmp_path, SOURCE)
    found = job(tmp_path, SOURCE, *REMOTE)
    assert found.services == {"": {"kind": "memory", "values": {"ann": 3.0}}}
    assert found.query.refresh is not None


def test_a_query_and_a_stream_are_needed(tmp_path: Path) -> None:
    from topwater.jobs import read_job

    for text, missing in (("", "query"), ('[query]\nkey = "user"\n', "stream")):
        (tmp_path / "job.toml").write_text(text)
        with pytest.raises(QueryError, match=f"{missing}: there is no such table"):
            read_job(tmp_path / "job.toml")


def test_a_job_may_rank_the_smallest_first(tmp_path: Path) -> None:
    found = job(tmp_path, "", 'query.order="smallest"')
    assert found.query.order == "smallest"
    assert "the smallest first" in str(job_explanation(found))
