"""The text of a job's file: what is plain is read, all else is refused with its place, soon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.timing import effort
from topwater.errors import QueryError
from topwater.jobs.job_file import overridden, read
from topwater.jobs.job_text import LONGEST, misfits, name_parts, toml_tables, yaml_tables

PATH = Path("job")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("query:\n  k: 2001-99-99\n", "job, line 2: '2001-99-99' is not a date"),
        ("query:\n  k: !!int abc\n", "job, line 2: 'abc' is not a whole number"),
        ("query:\n  k: !!float abc\n", "job, line 2: 'abc' is not a number"),
        ("query:\n  k: !!bool abc\n", "job, line 2: 'abc' is not true or false"),
        ("query:\n  k: !!timestamp abc\n", "job, line 2: 'abc' is not a date"),
        (f"query:\n  k: {'9' * 5_000}\n", "job, line 2: '999"),
        ("query:\n  k: !x abc\n", "job is not YAML: line 2: "),
        ("query:\n  k: !!python/name:os.system x\n", "job is not YAML: line 2: "),
        ("query:\n  ? [a, b]\n  : 3\n", "job, line 2: a name must be text, not a sequence"),
        ("query:\n  !!binary aGk=: 3\n", "job, line 2: a name must be text"),
        ("query:\n  k: 1\n  j: 2\n  k: 3\n", "job, line 4: 'k' is there twice, first in line 2"),
        ("a: [{k: 1, k: 1}]", "job, line 1: 'k' is there twice"),
        ('{"query": {"k": 1,\n "k": 1}}', "job, line 2: 'k' is there twice, first in line 1"),
        ('k: "\\UFFFFFFFF"', "job is not YAML"),
        ('k: "\\U00110000"', "job is not YAML"),
        ("a: &a [*a]", "job, line 1: refers to itself"),
        ("a: &a {<<: *a}", "job, line 1: refers to itself"),
        (f"a: {'[' * 10_000}", "job is nested too deep"),
        ("\n".join(f"{' ' * n}a:" for n in range(2_000)), "job is nested too deep"),
        ("- a\n", "job has no settings"),
        ("a: 1\n---\nb: 2\n", "job is not YAML: line 2"),
    ],
)
def test_yaml_that_is_refused(text: str, problem: str) -> None:
    with pytest.raises(QueryError) as caught:
        yaml_tables(PATH, text)
    assert caught.value.problem.startswith(problem)
    assert caught.value.fix
    assert len(caught.value.problem) < 400


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("k = 2001-99-99", "job is not TOML: "),
        (f"k = {'9' * 5_000}", "job has a number that is too long"),
        (f"k = {'[' * 10_000}", "job is nested too deep"),
        (f"k = {'{a=' * 10_000}", "job is nested too deep"),
        ("k = 1\nk = 2\nj = 3", "job is not TOML: Cannot overwrite a value (at line 2"),
        (f"[{'a.' * 2_000}a]", "job, line 1: has too many dots"),
    ],
)
def test_toml_that_is_refused(text: str, problem: str) -> None:
    with pytest.raises(QueryError) as caught:
        toml_tables(PATH, text)
    assert caught.value.problem.startswith(problem)
    assert caught.value.fix


@pytest.mark.parametrize("merged", [False, True])
def test_a_few_lines_of_yaml_that_stand_for_more_than_fits_in_memory(merged: bool) -> None:
    lines = ["a0: &a0 {x: 1}"]
    for n in range(1, 60):
        inner = f"<<: [*a{n - 1}, *a{n - 1}]" if merged else f"x: *a{n - 1}, y: *a{n - 1}"
        lines.append(f"a{n}: &a{n} {{{inner}}}")

    def refuse() -> None:
        with pytest.raises(QueryError, match="stands for over 100,000 values"):
            yaml_tables(PATH, "\n".join(lines))

    assert effort(refuse, 1) < 1


def test_what_is_named_again_is_read_and_stands_where_it_stood_first() -> None:
    said, lines = yaml_tables(PATH, "a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: *a\nd: {x: 3, <<: *a}\n")
    assert said == {"a": {"x": 1}, "b": {"x": 1, "y": 2}, "c": {"x": 1}, "d": {"x": 3}}
    assert (lines["a", "x"], lines["b", "y"], lines[("c",)]) == (1, 2, 3)
    assert yaml_tables(PATH, "# nothing") == ({}, {})


@pytest.mark.parametrize(
    ("text", "ending", "problem"),
    [
        ("query:\n  k: 2001-01-01\n", "yaml", "line 2: query.k: 2001-01-01 is a date or a time"),
        ("query:\n  k: !!binary aGk=\n", "yaml", "line 2: query.k: b'hi' is neither text nor"),
        ("query:\n  k: !!set {a, b}\n", "yaml", "line 2: query.k: {"),
        ('query:\n  k: "\\ud800"\n', "yaml", "line 2: query.k: '\\ud800' has half a character"),
        (f"query:\n  k: 0x{'f' * 5_000}\n", "yaml", "line 2: query.k: is a number of more than 64"),
        ("[query]\nk = 12:30:00\n", "toml", "line 2: query.k: 12:30:00 is a date or a time"),
        ("[query]\nk = [[2001-01-01]]\n", "toml", "line 2: query.k: 2001-01-01 is a date"),
        ("[query]\nk = 9223372036854775808\n", "toml", "line 2: query.k: is a number of more than"),
        (f"[query]\nk = {'[' * 50}{']' * 50}\n", "toml", "line 2: query.k: is nested too deep"),
        (f"[query]\nk = {'{a=' * 50}1{'}' * 50}\n", "toml", "line 2: query.k.a: is nested too"),
    ],
)
def test_values_that_no_setting_can_have(
    tmp_path: Path, text: str, ending: str, problem: str
) -> None:
    path = tmp_path / f"job.{ending}"
    path.write_text(text)
    with pytest.raises(QueryError) as caught:
        read(path)
    assert caught.value.problem.startswith(f"{path}, {problem}")
    assert caught.value.fix


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("query.k=2001-01-01", "--set query.k: 2001-01-01 is a date or a time"),
        (f"query.k={'9' * 30}", "--set query.k: is a number of more than 64 bits"),
        (f"{'a.' * 5_000}a=1", "--set: 'a.a."),
        ("query..k=1", "--set: 'query..k=1' is not NAME=VALUE"),
        ("que ry.k=1", "--set: 'que ry.k=1' is not NAME=VALUE"),
        ("=1", "--set: '=1' is not NAME=VALUE"),
    ],
)
def test_settings_of_the_command_line_that_are_refused(
    tmp_path: Path, setting: str, problem: str
) -> None:
    (tmp_path / "job.toml").write_text("[query]\nk = 3\n")
    with pytest.raises(QueryError) as caught:
        overridden(read(tmp_path / "job.toml"), [setting])
    assert caught.value.problem.startswith(problem)


@pytest.mark.parametrize(
    "value", ["1\nx = 2", "[" * 10_000, "9" * 5_000, "2001-99-99", '"""a\nb', "x\ty"]
)
def test_what_is_not_toml_on_the_command_line_is_text(tmp_path: Path, value: str) -> None:
    (tmp_path / "job.toml").write_text("[query]\nk = 3\n")
    said = overridden(read(tmp_path / "job.toml"), [f"query.k={value}"]).said
    assert said == {"query": {"k": value}}


def test_a_file_without_end(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text("#" * (LONGEST + 1))
    for path in (tmp_path / "job.toml", Path("/dev/zero")):
        with pytest.raises(QueryError, match="can't be read: it has more than 262,144 characters"):
            read(path)


def test_what_is_plain(tmp_path: Path) -> None:
    plain: Any = {"a": [1, -(2**63), 2**63 - 1, 1.5, True, None, "é😀", {"b": [[]]}], "": {}}
    assert not [*misfits(plain)]
    assert name_parts("a . 'b.c' . \"\"") == ("a", "b.c", "")
    assert name_parts("") == name_parts("a.") == name_parts("a!b") == ()
