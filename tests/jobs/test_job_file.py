"""Descriptions of jobs: what they say, in which line, and what the command line says instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.timing import effort
from topwater.errors import QueryError, SourceError
from topwater.jobs.job_file import Written, overridden, read, text_of
from topwater.validation import choice_of


def test_where_settings_stand(tmp_path: Path) -> None:
    text = '[query]\n# k = 1\nk = 0\nrefresh.remote = "f"\n\n[streams.":S"]\npath = "x"\n'
    (tmp_path / "a.toml").write_text(text)
    (tmp_path / "a.yaml").write_text("query:\n  # k: 1\n  k: 0\nstreams:\n  ':S':\n    path: x\n")
    toml, yaml = read(tmp_path / "a.toml"), read(tmp_path / "a.yaml")
    assert toml.line(("query", "k")) == yaml.line(("query", "k")) == 3
    assert toml.line(("query", "refresh", "remote")) == 4
    assert toml.line(("streams", ":S", "path")) == 7
    assert yaml.line(("streams", ":S", "path")) == 6
    assert toml.line(("streams", ":S", "format")) == 6, "that of the table"


def test_what_is_said_instead(tmp_path: Path) -> None:
    settings = ["query.k=7", "sink={kind='json', path='out'}", 'streams.":S".speed=2', "a.b=x y"]
    said = overridden(Written(tmp_path / "j", {"query": {"k": 3, "key": "u"}}), settings).said
    assert said == {
        "query": {"k": 7, "key": "u"},
        "sink": {"kind": "json", "path": "out"},
        "streams": {":S": {"speed": 2}},
        "a": {"b": "x y"},
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("on: {k: 3}\n", "line 1: a name must be text"),
        ("query:\n  1: 2\n", "line 2: a name must be text"),
    ],
)
def test_names_in_yaml_are_text(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "job.yaml").write_text(text)
    with pytest.raises(QueryError, match=problem):
        read(tmp_path / "job.yaml")


def test_yaml_that_names_itself_over_and_over(tmp_path: Path) -> None:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{n}: &a{n} {{x: *a{n - 1}, y: *a{n - 1}}}" for n in range(1, 60)]
    path = tmp_path / "job.yaml"
    path.write_text("\n".join(lines[:13]))
    assert read(path).line(("a12", "x")) == 13

    def refuse() -> None:
        path.write_text("\n".join(lines))
        with pytest.raises(QueryError, match=r"line 17: stands for over 100,000 values"):
            read(path)
        path.write_text("a0: 1\nself: &self {again: *self}")
        with pytest.raises(QueryError, match=r"line 2: refers to itself"):
            read(path)

    assert effort(refuse, 5) < 5


WRITTEN = Written(
    Path("job.toml"),
    {"query": {"k": 3, "refresh": {"budget": {"fetches": 0}}}, "odd": 7},
    {("query",): 1, ("query", "k"): 2, ("query", "refresh"): 3},
    frozenset({("sink", "path")}),
)


def test_an_error_names_the_file_the_line_and_the_setting() -> None:
    for place, told in (
        (("query", "k"), "job.toml, line 2: query.k: is wrong"),
        (("query", "refresh", "spare"), "job.toml, line 3: query.refresh.spare: is wrong"),
        (("stream",), "job.toml: stream: is wrong"),
        (("streams", ":S"), 'job.toml: streams.":S": is wrong'),
        (("sink", "path"), "--set sink.path: is wrong"),
        (("sink", "path", "deeper"), "--set sink.path.deeper: is wrong"),
        ((), "job.toml: is wrong"),
    ):
        error = WRITTEN.error("is wrong", place, "mend it")
        assert (error.problem, error.fix) == (told, "mend it")


def test_a_table_has_to_be_one() -> None:
    assert WRITTEN.table("sink") == {}
    assert WRITTEN.table("query")["k"] == 3
    with pytest.raises(QueryError, match="odd: must be a table"):
        WRITTEN.table("odd")


def test_an_unknown_name_is_told_with_the_near_one() -> None:
    WRITTEN.require_known(("query",), {"k": 3}, ["k", "key"])
    for place, name, told, fix in (
        (("query",), "polcy", "no such setting", "did you mean policy?"),
        ((), "quary", "no such table", "use one of: policy, budget"),
    ):
        with pytest.raises(QueryError, match=told) as caught:
            WRITTEN.require_known(place, {name: 1}, ["policy", "budget"])
        assert caught.value.fix == fix


def test_the_settings_of_a_library_are_blamed_where_they_stand() -> None:
    with pytest.raises(QueryError) as caught, WRITTEN.blamed("query"):
        raise QueryError("must be at least 1", field="k", fix="ask for more")
    assert caught.value.problem == "job.toml, line 2: query.k: must be at least 1"
    assert caught.value.__cause__ is None
    inner = (("refresh",), ("refresh", "budget"))
    with pytest.raises(QueryError, match=r"query\.refresh\.budget\.fetches: "):  # noqa: SIM117
        with WRITTEN.blamed("query", inner=inner):
            raise QueryError("is wrong", field="fetches")
    with pytest.raises(SourceError, match=r"job\.toml, line 1: query: no answer") as lost:  # noqa: SIM117
        with WRITTEN.blamed("query"):
            raise SourceError("no answer", field="", fix="start it")
    assert lost.value.fix == "start it"


def test_the_near_name_is_told_where_it_stands() -> None:
    for wrong, fix in (("jsn", "did you mean json?"), ("xyz", "use one of: json, csv")):
        with pytest.raises(QueryError) as caught, WRITTEN.blamed("sink"):
            choice_of(wrong, ("json", "csv"), "kind")
        assert caught.value.fix == fix
        assert "sink.kind: " in caught.value.problem


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.toml", "[query\n", "line 1"),
        ("a.yaml", "a: b: c\n", "line 1"),
        ("a.yaml", "- a\n", "no settings"),
    ],
)
def test_what_is_no_description(tmp_path: Path, name: str, text: str, told: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(QueryError, match=told) as caught:
        read(tmp_path / name)
    assert caught.value.fix


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    for name in ("a.toml", "a.yaml"):
        (tmp_path / name).write_text("")
        assert read(tmp_path / name).said == {}


def test_a_file_that_can_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe")
    for path in (tmp_path / "a.toml", tmp_path / "absent.toml", tmp_path):
        with pytest.raises(QueryError, match=f"the query {path} can't be read"):
            text_of(path, "the query")


@pytest.mark.parametrize("text", ["query.k", "=3", "", "..=3"])
def test_what_is_no_setting_on_the_command_line(text: str) -> None:
    with pytest.raises(QueryError, match="--set"):
        overridden(WRITTEN, [text])
