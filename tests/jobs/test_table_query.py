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


TWO = """
[[query.refresh]]
remote = ["price", "stock"]
from = "shop"

[[query.refresh]]
remote = "trust"
from = "vendors"
key = "vendor"
cost = 5
per = {"1 day" = 50}

[query.budget]
cost = 20
deadline = "2 s"
"""
SOURCES = """
[sources.shop]
kind = "memory"
values = {ann = {price = 3.0, stock = 2}}

[sources.vendors]
kind = "memory"
values = {a = 0.5}
"""
JOINED = (
    'query.take={n = "count", vendor = "last(vendor)"}',
    'query.score="n * price * trust"',
    'query.where="stock > 0"',
    'stream.schema="user string, at timestamp, vendor string"',
)


def test_several_sources_have_tables_by_their_names(tmp_path: Path) -> None:
    found = job(tmp_path, TWO + SOURCES, *JOINED, "spark.shards=4")
    assert [*found.services] == ["shop", "vendors"]
    assert found.query.joins is not None
    assert found.query.joins.sources == ("shop", "vendors")
    assert found.query.joins.budget.cost == 20
    assert found.query.joins.joins[1].per == {"1 d": 50}
    told = str(job_explanation(found))
    assert "shop  values in memory" in told
    assert "all keys are ranked in one place, with one budget: 4 shards are not used" in told
    one = job(tmp_path, SOURCE, 'query.refresh={remote="f", cost=2}', 'query.score="n * f"')
    assert [*one.services] == [""], "the only source needs no name"


@pytest.mark.parametrize(
    ("more", "setting", "problem", "fix"),
    [
        (SOURCES.replace("shop", "shpo"), "query.refresh", "names the source 'shop'", "mean shpo?"),
        ("", "query.refresh", "names the source 'shop'", "write [sources.shop] with a url"),
        (
            SOURCES + '[sources.more]\nkind = "memory"\nvalues = {a = 1}\n',
            "sources.more",
            "is never asked: the query names shop, vendors",
            "leave it out",
        ),
        (SOURCES + SOURCE, "source", "stands beside [sources]", "[sources.shop]"),
        (SOURCES.replace("stock =", "stok ="), "sources.shop", "no value 'stock'", "mean stok?"),
        (SOURCES.replace('"memory"', '"memry"'), "sources.shop.kind", "'memry'", "mean memory?"),
        ("[sources]\nshop = 3\n", "sources.shop", "must be a table", "[sources.shop] above"),
        (SOURCES.replace("sources", "source"), "source.shop", "by a name", "write [sources.shop]"),
    ],
)
def test_what_several_sources_can_not_be(
    tmp_path: Path, more: str, setting: str, problem: str, fix: str
) -> None:
    with pytest.raises(QueryError) as caught:
        job(tmp_path, TWO + more, *JOINED)
    first = caught.value.problem.splitlines()[0]
    assert f" {setting}: " in first
    assert problem in first
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("changed", "problem", "fix"),
    [
        (('remote = "trust"', 'remote = "price"'), "'price' names two remote values", "once"),
        (("cost = 5", "cots = 5"), "no such setting", "did you mean cost?"),
        (("cost = 5", "cost = 0"), "cost", "leave it out for 1"),
        (("cost = 20", "cost = 2"), "2 is less than one look-up, which takes 5", "allow 5 or more"),
        (('key = "vendor"', 'key = "vendr"'), "'vendr' is not among", "last(vendr)"),
    ],
)
def test_what_is_wrong_with_a_join_is_told_with_its_line(
    tmp_path: Path, changed: tuple[str, str], problem: str, fix: str
) -> None:
    with pytest.raises(QueryError, match=r"job\.toml, line \d+: query\.") as caught:
        job(tmp_path, TWO.replace(*changed) + SOURCES, *JOINED)
    assert problem in caught.value.problem
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("schema", "take", "fix"),
    [
        ("vendor date", "last(vendor)", "text or whole numbers"),
        ("vendor string", "last(vendr)", "did you mean vendor?"),
        ("vendor string, more date", "last(vendor)", "use text, or a number"),
    ],
)
def test_columns_that_are_looked_up_by_or_shown(
    tmp_path: Path, schema: str, take: str, fix: str
) -> None:
    more = ', more = "last(more)"' if "more" in schema else ""
    changes = [
        f'query.take={{n = "count", vendor = "{take}"{more}}}',
        f'stream.schema="user string, at timestamp, {schema}"',
    ]
    with pytest.raises(QueryError, match=r"query\.take: ") as caught:
        job(tmp_path, TWO + SOURCES, *JOINED, *changes)
    assert fix in caught.value.fix


def test_of_one_value_it_must_be_known_where_it_comes_from(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="may come from shop or vendors") as caught:
        job(tmp_path, SOURCES, *REMOTE)
    assert 'from = "shop"' in caught.value.fix


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
