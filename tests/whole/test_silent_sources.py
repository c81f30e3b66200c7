"""A source of which nothing can be used is never silent: what a new user gets wrong, and sees.

A real service on this machine, asked with a path, an address or a column that is wrong.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from typer.testing import CliRunner

from topwater import TopKQuery, remote, run, tumbling
from topwater.cli import app
from topwater.cli.starter import start_project
from topwater.errors import SourceError
from topwater.model import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEYS = 12
WINDOWS = 30


class Ratings(BaseHTTPRequestHandler):
    """Knows the rating of every user, but for one."""

    def do_GET(self) -> None:
        """Answer for one user."""
        folder, _, key = self.path.rpartition("/")
        known = folder == "/users" and key != "u3"
        rating = int(key[1:]) / 2 if known else None
        body = json.dumps({"id": key, "rating": rating, "name": "x", "in": {"stars": rating}})
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Ratings) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def answers(source: Any, k: int = 3, **refresh: Any) -> list[Answer]:
    """Of windows in which every key is, once or more often."""
    query = TopKQuery(
        key="user",
        time="at",
        window=tumbling(1_000),
        take={"n": "count"},
        score="n + rating",
        k=k,
        refresh={"remote": "rating", "budget": 2, **refresh},
    )
    rng = np.random.default_rng(3)
    batches = []
    for window in range(WINDOWS):
        users = [f"u{number}" for number in (*range(KEYS), *rng.integers(0, KEYS, 9))]
        at = [1_000 * window + 1 + place for place in range(len(users))]
        batches.append({"user": users, "at": at})
    return list(run(query, batches, source=source))


def http(service: str, **settings: Any) -> Any:
    given = {"url": f"{service}/users/{{key}}", "value": "rating"} | settings
    return remote.http(given.pop("url"), retries=0, breaker=False, **given)


WRONG = {
    "a typing error": ({"value": "ratign"}, "no_value"),
    "one level up": ({"value": "stars"}, "no_value"),
    "a slash": ({"value": "/rating"}, "no_value"),
    "text": ({"value": "name"}, "not_a_number"),
}
wrong = pytest.mark.parametrize(("settings", "reason"), WRONG.values(), ids=WRONG.keys())


@wrong
def test_no_answer_claims_to_be_right(
    service: str, settings: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    found = answers(http(service, **settings))
    assert len(found) == WINDOWS
    for answer in found:
        fresh = answer.freshness
        assert fresh is not None
        assert fresh.nothing_usable
        assert (fresh.precision, fresh.ndcg, answer.exact) == (0.0, 0.0, False)
        told = dict(answer.problems)
        assert (told[reason], told.get("not_found", 0)) in ((2, 0), (1, 1))
        assert len(answer.rows) == 3
        assert all(row.remote is None and row.age is None for row in answer.rows)
        assert {row.assumed for row in answer.rows} <= {reason, "never"}
        assert all(row.score == row.values[0] for row in answer.rows)
    assert found[-1].rows[0].assumed == reason
    assert "nothing usable came from the source" in caplog.text


def test_a_service_that_knows_no_key_is_not_one_that_does_not_know_this_one(service: str) -> None:
    """404 for every key: by then nobody is left to be ranked, and the answer says why."""
    found = answers(http(service, url=f"{service}/usrs/{{key}}"))
    for answer in found:
        assert answer.freshness is not None
        assert answer.freshness.nothing_usable
        assert answer.freshness.precision == 0.0
        assert not answer.exact
        assert dict(answer.problems) == {"not_found": 2}
    last = found[-1].freshness
    assert last is not None
    assert (len(found[-1].rows), last.without_value) == (0, KEYS)
    fine = answers(http(service), budget=None)
    for answer in fine:
        assert answer.freshness is not None
        assert not answer.freshness.nothing_usable
        assert answer.freshness.without_value == 1
        assert dict(answer.problems) == {"not_found": 1}
        assert answer.exact
        assert "u3" not in answer.keys


def test_a_service_that_knows_no_key_is_a_problem_also_where_it_is_not_asked_again(
    service: str,
) -> None:
    found = answers(http(service, url=f"{service}/usrs/{{key}}"), budget=50, policy="at-bsm")
    unasked = [answer for answer in found if not answer.looked_up]
    assert unasked
    for answer in unasked:
        assert answer.freshness is not None
        assert answer.freshness.nothing_usable
        assert answer.freshness.without_value == KEYS


def test_an_unknown_key_alone_is_no_problem_once_others_are_known(service: str) -> None:
    """One look-up a window: when it is for the unknown key, nothing usable came, and rightly so."""
    found = answers(http(service), budget=1, policy="lru")
    alone = [answer for answer in found if dict(answer.problems) == {"not_found": 1}]
    assert alone
    assert not any(answer.freshness and answer.freshness.nothing_usable for answer in alone[-1:])


def test_the_habit_of_jsonpath_is_understood(service: str) -> None:
    found = answers(http(service, value="$.rating"))
    assert not any(answer.freshness and answer.freshness.nothing_usable for answer in found[1:])
    assert found[-1].rows[0].remote is not None


def test_a_source_that_breaks_in_the_middle_keeps_what_it_said(service: str) -> None:
    """What was known stays, and new keys are not believed to be without a value."""

    class Breaks:
        calls = 0

        def fetch(self, keys: Any, deadline: float | None = None) -> Any:
            self.calls += 1
            return (good if self.calls < 4 else bad).fetch(keys, deadline)

    good, bad = http(service), http(service, value="ratign")
    found = answers(Breaks())
    claimed = []
    for answer in found[5:]:
        assert answer.freshness is not None
        assert answer.freshness.nothing_usable
        claimed.append(answer.freshness.precision)
        for row in answer.rows:
            assert (row.assumed is None) == (row.age is not None)
    # One in which all rows are known may be right; most are not.
    assert max(claimed) < 0.95
    assert np.mean(claimed) < 0.85


def test_two_values_for_a_key_are_told_in_its_row(tmp_path: Path) -> None:
    """It is ranked by the median of the others, and says so; in HTTP and SQL alike."""
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as made:
        made.execute("create table r (id text, n real)")
        made.executemany("insert into r values (?, ?)", [("u0", 1), ("u0", 2), ("u1", 4)])
    made.close()
    sql = remote.sql(f"sqlite:///{path}", table="r", key="id", value="n")
    found = answers(sql, k=KEYS, budget=None)
    sql.close()
    for answer in found:
        rows = {row.key: row for row in answer.rows}
        assert rows.keys() == {"u0", "u1"}
        assert (rows["u0"].assumed, rows["u0"].remote, rows["u0"].age) == ("doubled", 4.0, None)
        assert (rows["u1"].assumed, rows["u1"].remote) == (None, 4.0)
        assert dict(answer.problems) == {"doubled": 1, "not_found": KEYS - 2}
        assert not answer.exact


JOB = """\
[query]
key = "user"
time = "at"
window = "1 min"
take = { n = "count" }
score = "n + rating"
k = 3
refresh = { remote = "rating" }

[stream]
kind = "files"
path = "in"
schema = "user string, at timestamp"

[source]
url = "SERVICE/users/{key}"
value = "rating"
"""


@pytest.fixture
def job(tmp_path: Path, service: str) -> Path:
    (tmp_path / "in").mkdir()
    lines = [json.dumps({"user": f"u{number}", "at": "2026-01-01"}) for number in (3, 5, 3, 8)]
    (tmp_path / "in" / "a.jsonl").write_text("\n".join(lines))
    (tmp_path / "job.toml").write_text(JOB.replace("SERVICE", service))
    return tmp_path / "job.toml"


def check(job: Path, *more: str) -> Any:
    return CliRunner().invoke(app, ["run", str(job), "--check", "-q", *more])


def test_check_looks_up_the_first_key_that_is_known(job: Path) -> None:
    told = check(job)
    assert told.exit_code == 0, told.stderr
    assert 'source: the key \'u5\' has 2.5, read at rating in {"id": "u5"' in told.stdout
    plain = json.loads(check(job, "--json").stdout)
    assert plain["looked_up"]["source"]["value"] == 2.5


def test_check_takes_a_key(job: Path) -> None:
    assert "the key 'u8' has 4" in check(job, "--key", "u8").stdout
    told = check(job, "--key", "u3")
    assert told.exit_code == 1
    assert "does not know the key 'u3' (status 404)" in told.stderr


@pytest.mark.parametrize(
    ("setting", "problem", "fix"),
    [
        ("value='ratign'", "there is nothing at ratign in {", 'did you mean value = "rating"?'),
        ("value='stars'", "there is nothing at stars in {", 'did you mean value = "in.stars"?'),
        ("value='name'", "there is no number at name in {", "use a path to a number: rating"),
        ("url='SERVICE/usrs/{key}'", "(status 404)", "check the address"),
    ],
)
def test_check_fails_with_what_came_and_what_may_be_meant(
    job: Path, service: str, setting: str, problem: str, fix: str
) -> None:
    told = check(job, "--set", "source." + setting.replace("SERVICE", service))
    assert told.exit_code == 1
    assert "all is there" not in told.stdout
    assert "none of the first 3 keys of the stream has a usable value" in told.stderr
    assert problem in told.stderr
    assert fix in told.stderr


def test_without_a_key_nothing_is_promised(job: Path) -> None:
    (job.parent / "in" / "a.jsonl").unlink()
    told = check(job)
    assert told.exit_code == 0
    assert "but nothing was looked up: name a key" in told.stdout


def test_a_source_itself_can_be_asked(service: str) -> None:
    source = http(service, value="ratign")
    with pytest.raises(SourceError, match='did you mean value = "rating"'):
        source.check("u5")
    found = http(service).check("u5")
    assert found is not None
    assert found.value == 2.5


def test_a_query_in_rspql_is_checked_by_its_own_keys(tmp_path: Path) -> None:
    """Its first solutions tell them; a pattern that matches nothing is told with the near one."""
    start_project(tmp_path / "mine", rspql=True)
    job = tmp_path / "mine" / "job.toml"
    told = check(job)
    assert told.exit_code == 0, told.stderr
    assert ":Profiles: the key 'http://example.org/user/10" in told.stdout
    assert "read at ?followers in {" in told.stdout
    assert check(job, "--key", "user:1001").exit_code == 0
    query = tmp_path / "mine" / "query.rq"
    query.write_text(query.read_text().replace(":followers ?f", ":folowers ?f"))
    told = check(job)
    assert told.exit_code == 1
    assert "did you mean <http://example.org/followers>?" in told.stderr
