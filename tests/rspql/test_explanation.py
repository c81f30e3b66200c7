"""The plan as a person would draw it, from Python and from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support import corpus_files
from tests.support.rspql_asked import asked
from topwater.cli import app
from topwater.rspql import explain
from topwater.rspql.explanation import plan_explanation

LISTING = corpus_files.FOLDER / "acquatop_listing.rq"

DRAWN = """\
:TopkUsersToContact: the 1 best of each window; all rows of every answer go out (RSTREAM)

  stream   :S
     │
  window   :W  the last 9 min, every 3 min: 3 panes of 3 min
     │
  match    ?user :hasMentions ?mentionCount
     │     inside each event
  take     mentionCount = last(mentionCount), for each ?user of a window
     │
  remote   :BKG  gives ?followerCount for ?user
     │     ?user <http://example.org/hasFollowers> ?followerCount
     │     7 look-ups a window, chosen by worth
  score    0.3 * mentionCount + 0.7 * followerCount, the largest first
     │
  list     one row for each ?user in each of 3 panes: it grows with the keys
     │     and a replica, at most 64 MB: beyond it the keys longest unseen are forgotten
  answer   ?user ?score

exact:
  - what the stream says of every key: none is forgotten while it is in a window
  - an answer for which every ?user of its window was looked up: its field exact is then true

approximate:
  - ?followerCount: a window may have more keys than are looked up for it; the others keep the
    last value that came, and their rows say how old it is
  - however many look-ups there are, worth makes none that it expects to leave the answer as it
    is; WITH BUDGET UNLIMITED looks up every key of the window
  - a key whose ?followerCount was never looked up is ranked with the median of the known values
  - of the look-ups, 5% go to keys drawn at random from those never looked up, where there are
    more of these than look-ups
  - each answer carries an estimate of how accurate it is

unlike SPARQL over all triples of a window:
  - a ?user counts once in a window, with its latest solution, where SPARQL gives a row for each
  - equal scores are ranked by age, the younger first, where SPARQL leaves it open"""


def explained(name: str, more: str = "") -> str:
    return explain((corpus_files.FOLDER / f"{name}.rq").read_text() + more)


def test_the_listing_is_drawn() -> None:
    assert explain(LISTING.read_text()) == DRAWN


def test_the_command_prints_the_same() -> None:
    done = CliRunner().invoke(app, ["explain", str(LISTING)])
    assert (done.exit_code, done.output) == (0, DRAWN + "\n")
    done = CliRunner().invoke(app, ["explain", "-"], input=LISTING.read_text())
    assert (done.exit_code, done.output) == (0, DRAWN + "\n")


def test_the_command_points_at_what_is_wrong(tmp_path: Path) -> None:
    query = tmp_path / "q.rq"
    query.write_text(LISTING.read_text().replace("LIMIT 1", ""))
    done = CliRunner().invoke(app, ["explain", str(query)])
    assert done.exit_code == 2
    assert "error: line 9, column 1: without LIMIT" in done.output
    assert "\n    ^\n  fix: " in done.output


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_the_command_needs_a_text(tmp_path: Path, content: bytes | None) -> None:
    query = tmp_path / "q.rq"
    if content is not None:
        query.write_bytes(content)
    done = CliRunner().invoke(app, ["explain", str(query)])
    assert done.exit_code == 2
    assert "can't be read" in done.output


def test_without_a_service_every_answer_is_exact() -> None:
    told = explained("rspql_select_star")
    assert "  - every answer: what is forgotten" in told
    assert "approximate" not in told
    assert "at most k of each pane: 3 × 48 = 144 items" in told


def test_spare_is_a_bound_on_the_memory() -> None:
    told = explained("acquatop_bounded_memory")
    assert "panes+n: at most k + spare of each open window: (5 + 10) × 2 = 30 keys" in told
    assert "a key that is not among the k + 10 best" in told
    assert "whatever its value is now" in told


def test_an_unlimited_budget_reads_every_key() -> None:
    told = explain(LISTING.read_text() + "WITH BUDGET UNLIMITED")
    assert "no limit on look-ups, chosen by worth" in told
    assert "every key that is remembered of a window is looked up for its answer" in told
    assert "however many look-ups" not in told
    assert "wst never looks one up" in explain(
        LISTING.read_text() + "WITH BUDGET UNLIMITED POLICY wst"
    )


def test_spare_says_where_it_is_none() -> None:
    for name, clause in (
        ("lsbench_friends_reach", "SPARE 3"),
        ("acquatop_product", "WITH SPARE 3"),
    ):
        assert "SPARE does not bound the memory here" in explained(name, clause)
    assert "SPARE" not in explained("acquatop_product", "WITH POLICY wsj-lru")
    assert "however many" not in explained("acquatop_product", "WITH POLICY wsj-lru")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("acquatop_deadline", "what can be looked up within 2 s, chosen by"),
        ("acquatop_deadline", "less than 0.9 right are marked"),
        ("acqua_listing", "where (count_post > 1000 and followerCount > 10000)"),
        ("acqua_listing", "?user a :InfluentialUser"),
        ("acquatop_optional_default", "0 for those that it does not know"),
        ("citybench_two_streams", "<#AarhusTraffic1>, <#AarhusTraffic2>"),
        ("citybench_static_unused", "FROM <http://127.0.0.1:9000/parking.rdf> is read by no"),
        ("citybench_weather_filter", "join inside one event, and not across events"),
        ("rspql_elements_step", "the last 100 solutions, every 20 (in process only)"),
        ("rspql_elements_step", "windows count solutions"),
        ("rspql_plain_numbers", "the last 10 ms, every 2 ms"),
        ("rspql_construct_istream", "the triples that were not in the answer before"),
        ("rspql_union_in_window", "or"),
    ],
)
def test_it_tells(name: str, told: str) -> None:
    assert told in explained(name)


def test_a_policy_that_never_refreshes_says_so() -> None:
    told = explained("acquatop_listing", "WITH POLICY wst")
    assert "?followerCount: wst never looks one up" in told


@pytest.mark.parametrize("path", corpus_files.QUERIES, ids=lambda path: path.stem)
def test_no_line_is_too_wide_to_read(path: Path) -> None:
    if path.stem.startswith("error_"):
        return
    for line in explain(path.read_text()).splitlines():
        assert len(line) < 140 or "<http" in line


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("?s :v ?v ; :t ?t", ""),
        ("?s :v ?v . ?s :in ?room . ?room :floor ?f", ""),
        ("?s :v ?v . ?other :w ?x", "nothing joins them"),
        ("?s :v ?v . ?other :v ?x . ?s :in ?room . ?other :in ?room", "two events do not match"),
    ],
)
def test_a_pattern_that_needs_several_events_is_told_so(where: str, says: str) -> None:
    plan = asked("?s", f"WINDOW :w {{ {where} }}", "ORDER BY DESC(?v) LIMIT 3")
    promises = {each.title: each.reasons for each in plan_explanation(plan).promises}
    told = " ".join(promises.get("matches nothing unless", ()))
    assert (says in told) if says else not told
