"""What a job would do, drawn and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from topwater.cli import app

if TYPE_CHECKING:
    from pathlib import Path

TOML = """\
[query]
key = "user"
time = "at"
window = "9 min every 3 min"
take = {n = "count"}
score = "n"
k = 3

[stream]
kind = "files"
path = "in"
schema = "user string, at timestamp"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path


def test_explain_tells_what_a_job_would_do(folder: Path) -> None:
    more = '[sink]\nkind = "csv"\npath = "out"\n'
    (folder / "job.toml").write_text(TOML + more)
    place = str(folder / "job.toml")
    told = CliRunner().invoke(app, ["explain", place]).stdout
    for text in ("the last 9 min, every 3 min", "n = count", "csv in", "- every answer: what"):
        assert text in told
    plain = json.loads(CliRunner().invoke(app, ["explain", place, "--json"]).stdout)
    assert plain["query"]["k"] == 3
    assert plain["checkpoint"].endswith("out/_checkpoint")
    (folder / "q.rq").write_text(
        "PREFIX : <http://x/> SELECT ?u ?n FROM NAMED WINDOW :w ON :s [RANGE PT1M]"
        "WHERE { WINDOW :w { ?u :p ?n } } ORDER BY DESC(?n) LIMIT 2"
    )
    both = CliRunner().invoke(app, ["explain", str(folder / "q.rq"), "--json"])
    assert json.loads(both.stdout)["query"]["k"] == 2
    typed = CliRunner().invoke(app, ["explain", "-"], input=(folder / "q.rq").read_text())
    assert "the 2 best of each window" in typed.stdout


def test_secrets_are_not_told(folder: Path) -> None:
    source = 'refresh.remote = "f"\n'
    text = TOML.replace("k = 3\n", f"k = 3\n{source}").replace('score = "n"', 'score = "n + f"')
    (folder / "job.toml").write_text(
        f'{text}[source]\nurl = "http://me:hidden@x/{{key}}?token=hidden"\nvalue = "v"\n'
    )
    for more in ([], ["--json"]):
        told = CliRunner().invoke(app, ["explain", str(folder / "job.toml"), *more])
        assert told.exit_code == 0
        assert "hidden" not in told.stdout


RSPQL = """\
PREFIX : <http://x/>
SELECT ?u (?n + ?f AS ?score)
FROM NAMED WINDOW :w ON :s [RANGE PT1M]
WHERE { WINDOW :w { ?u :p ?n } SERVICE :b { ?u :f ?f } }
ORDER BY DESC(?score) LIMIT 2
"""


def test_a_job_in_rsp_ql_adds_where_its_streams_and_services_are(folder: Path) -> None:
    (folder / "q.rq").write_text(RSPQL)
    (folder / "q.toml").write_text(
        '[query]\nrspql = "q.rq"\n'
        '[streams.":s"]\nkind = "files"\npath = "in"\nformat = "ntriples"\n'
        '[services.":b"]\nurl = "http://127.0.0.1:9/sparql"\n'
    )
    done = CliRunner().invoke(app, ["explain", str(folder / "q.toml")])
    assert done.exit_code == 0, done.output
    for line in (
        ":s  files, ntriples: ",
        "source   :b  http://127.0.0.1:9",
        "answer   ?u ?score",
    ):
        assert line in done.stdout
    assert "sink     the terminal\n\nexact:" in done.stdout


def test_the_same_explanation_is_in_the_json(folder: Path) -> None:
    (folder / "job.toml").write_text(TOML)
    plain = json.loads(CliRunner().invoke(app, ["explain", f"{folder}/job.toml", "--json"]).stdout)
    assert plain["explanation"]["exact"] == "always"
    titles = [step["title"] for step in plain["explanation"]["steps"]]
    assert titles == ["stream", "window", "take", "score", "list", "sink"]


@pytest.mark.parametrize("name", ["a.py", "a.ipynb", "A.PY"])
def test_a_program_is_not_taken_for_a_query(folder: Path, name: str) -> None:
    (folder / name).write_text("from topwater import TopKQuery")
    done = CliRunner().invoke(app, ["explain", str(folder / name)])
    assert done.exit_code == 2
    assert f"{name} is a program, and not a job or a query in RSP-QL" in done.output
    assert "print(topwater.explain(query))" in done.output


def test_the_budget_of_each_group_is_told_as_such(folder: Path) -> None:
    more = 'group_by = "team"\nrefresh = {remote = "f", budget = 20}\n'
    text = TOML.replace("k = 3\n", f"k = 3\n{more}").replace('score = "n"', 'score = "n + f"')
    text = text.replace("user string,", "user string, team string,")
    (folder / "job.toml").write_text(f'{text}[source]\nurl = "http://x/{{key}}"\nvalue = "v"\n')
    done = CliRunner().invoke(app, ["explain", str(folder / "job.toml")])
    assert "20 look-ups a window for each team" in done.output


@pytest.mark.parametrize(
    ("shards", "refresh", "told"),
    [
        (4, "", "4 shards have one budget, spent on the best of all their keys"),
        (4, 'refresh.policy = "lru"\n', "each of 4 shards spends its part of the budget"),
        (4, 'refresh.budget = "unlimited"\n', ""),
        (1, "", ""),
    ],
)
def test_who_spends_the_budget_of_shards_is_told(
    folder: Path, shards: int, refresh: str, told: str
) -> None:
    query = TOML.replace("k = 3\n", f'k = 3\nrefresh.remote = "f"\n{refresh}')
    query = query.replace('score = "n"', 'score = "n + f"')
    more = '[source]\nkind = "http"\nurl = "http://127.0.0.1:9/{key}"\nvalue = "f"\n'
    (folder / "job.toml").write_text(query + more + f"[spark]\nshards = {shards}\n")
    shown = CliRunner().invoke(app, ["explain", str(folder / "job.toml")]).stdout
    assert "http://127.0.0.1:9" in shown
    assert " ".join(shown.split()).count(told) >= 1
    assert bool(told) is (" shards " in shown)
