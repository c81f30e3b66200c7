"""The look-ups of all groups of a window: one list, one call, one deadline."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from tests.support.timing import took
from topwater import TopKQuery, remote, tumbling
from topwater.model import Fetched, KeyArray
from topwater.monitor.group_look_ups import Granted, GroupLookUps, grant
from topwater.monitor.grouped import GroupedMonitor
from topwater.monitor.remote_part import RemotePart
from topwater.replica import Budget
from topwater.replica.look_ups import Demand, LookingUp
from topwater.testing import HandClock, Scripted

LATENCY = 0.05


def demand(*keys: Any) -> Demand:
    kind = object if keys and isinstance(keys[0], str) else np.int64
    return Demand(np.array(keys, kind), np.ones(len(keys)), 100)


def query_of(**refresh: Any) -> TopKQuery:
    return TopKQuery(
        key="who",
        time="at",
        window=tumbling(100),
        take={"n": "count"},
        score="n + remote",
        k=2,
        group_by="team",
        refresh={"remote": "remote", "budget": 7, **refresh},
    )


def looking_up(source: Any, budget: Any = 7) -> GroupLookUps:
    part = RemotePart.of(query_of(budget=budget), source, HandClock())
    assert part is not None
    return GroupLookUps(part, Budget.of(budget))


def group(*wanted: Demand) -> LookingUp[list[Fetched | None]]:
    """Tells what it was sent for each of its demands."""
    came: list[Fetched | None] = []
    for each in wanted:
        got = yield each
        came.append(got)
    return came


def events(groups: int, keys: int, at: int = 30) -> dict[str, Any]:
    """As many keys for each group; every group shares half of them with the next."""
    team = np.repeat(np.arange(groups), keys)
    who = team * (keys // 2) + np.tile(np.arange(keys), groups)
    return {"team": team, "who": who, "at": np.full(len(who), at)}


class TestGrant:
    def test_the_first_keys_of_all_come_before_the_second_ones(self) -> None:
        demands = [demand(1, 2, 3), demand(4), demand(5, 6)]
        keys = grant(demands, window=3).keys.tolist()
        assert [sorted(keys[:3]), sorted(keys[3:5]), keys[5:]] == [[1, 4, 5], [2, 6], [3]]

    def test_each_key_is_asked_for_once_and_everybody_gets_it(self) -> None:
        demands = [demand("a", "b"), demand("b", "c"), demand("b")]
        granted = grant(demands, window=0)
        assert sorted(granted.keys) == ["a", "b", "c"]
        for each, where in zip(demands, granted.where, strict=True):
            assert granted.keys[where].tolist() == each.keys.tolist()

    @pytest.mark.parametrize("most", [0, 1, 3, 5, 6, 9])
    def test_what_there_is_no_time_for_is_the_end_of_each_demand(self, most: int) -> None:
        demands = [demand(1, 2, 3), demand(), demand(3, 4), demand(5, 1, 6)]
        granted = grant(demands, window=5, most=most)
        assert len(granted.keys) == min(most, 6)
        assert len(np.unique(granted.keys)) == len(granted.keys)
        for each, where in zip(demands, granted.where, strict=True):
            assert granted.keys[where].tolist() == each.keys[: len(where)].tolist()
        sizes = [len(where) for where in granted.where]
        short = [
            len(where)
            for each, where in zip(demands, granted.where, strict=True)
            if len(where) < len(each.keys)
        ]
        assert max(sizes) - min(short, default=max(sizes)) <= 1

    def test_it_depends_on_the_window_alone(self) -> None:
        demands = [demand(each) for each in range(50)]
        orders = [grant(demands, window).keys.tolist() for window in (7, 7, 8, 2**40)]
        assert orders[0] == orders[1]
        assert len({tuple(order) for order in orders}) == 3

    def test_nothing_is_wanted(self) -> None:
        assert len(grant([], 0).keys) == 0
        granted = grant([demand(), demand()], 0)
        assert [len(granted.keys), *map(len, granted.where)] == [0, 0, 0]

    def test_time_is_divided_as_keys_are(self) -> None:
        granted = Granted(np.arange(3), [np.array([0, 1]), np.array([1]), np.array([2])])
        got = Fetched(np.arange(3.0), np.array([True, False, True]), 2.0)
        one, other, third = granted.shares(got)
        assert (one.values.tolist(), one.ok.tolist(), one.seconds) == ([0, 1], [True, False], 1.0)
        assert (other.seconds, third.seconds, third.values.tolist()) == (0.5, 0.5, [2.0])


class TestGroupLookUps:
    def test_all_elect_before_anything_is_asked(self) -> None:
        source = Scripted({1: 10.0, 2: 20.0, 3: 30.0})
        together = looking_up(source)
        together.begin()
        found = together.run(0, [group(demand(1, 2)), group(), group(demand(2, 3))])
        assert [sorted(call) for call in source.calls] == [[1, 2, 3]]
        assert [[got.values.tolist() for got in each if got] for each in found] == [
            [[10.0, 20.0]],
            [],
            [[20.0, 30.0]],
        ]

    def test_without_a_demand_the_source_is_left_alone(self) -> None:
        source = Scripted({})
        together = looking_up(source)
        together.begin()
        assert together.run(0, [group(), group(demand())])[0] == []
        assert source.calls == []

    def test_what_some_want_after_that_is_asked_for_together_again(self) -> None:
        source = Scripted({each: float(each) for each in range(6)})
        together = looking_up(source)
        together.begin()
        groups = [group(demand(1), demand(2)), group(demand(3)), group(demand(4), demand(5))]
        found = together.run(0, groups)
        assert [sorted(call) for call in source.calls] == [[1, 3, 4], [2, 5]]
        assert [[got.values.tolist() for got in each if got] for each in found] == [
            [[1.0], [2.0]],
            [[3.0]],
            [[4.0], [5.0]],
        ]

    def test_numbers_and_texts_are_asked_for_apart(self) -> None:
        source = Scripted({1: 1.0, "a": 2.0})
        together = looking_up(source)
        together.begin()
        found = together.run(0, [group(demand(1)), group(demand("a"))])
        assert source.calls == [[1], ["a"]]
        assert [got.values.tolist() for (got,) in found if got] == [[1.0], [2.0]]

    def test_a_source_is_given_no_more_than_it_takes_at_a_time(self) -> None:
        class Few(Scripted):
            most = 2

        source = Few({each: float(each) for each in range(5)})
        together = looking_up(source)
        together.begin()
        found = together.run(0, [group(demand(0, 1, 2)), group(demand(3, 4))])
        assert [len(call) for call in source.calls] == [2, 2, 1]
        assert [got.values.tolist() for (got,) in found if got] == [[0, 1, 2], [3, 4]]

    def test_what_a_look_up_costs_is_learnt_for_all_groups_and_kept(self) -> None:
        source = Scripted(dict.fromkeys(range(1_000), 1.0), seconds_per_key=0.001)
        together = looking_up(source, {"deadline": "1 s"})
        allowed = []
        for window in range(20):
            allowed.append(together.begin())
            together.run(
                window, [group(demand(*range(at, at + 100))) for at in range(0, 1_000, 100)]
            )
        assert allowed[0] == 50
        assert 900 < (allowed[-1] or 0) <= 1_000
        assert [len(call) for call in source.calls] == allowed
        again = looking_up(source, {"deadline": "1 s"})
        again.restore_facts(json.loads(json.dumps(together.facts())))
        assert again.begin() == together.begin()


def test_a_group_without_a_deadline_pays_for_its_own_keys_though_others_ask_for_them_too() -> None:
    source = Scripted(dict.fromkeys(range(100), 1.0))
    monitor = GroupedMonitor.build(query_of(budget=3), source=source)
    monitor.ingest({"team": [1] * 4 + [2] * 4, "who": [1, 2, 3, 4] * 2, "at": [30] * 8})
    answers = monitor.close_until(101)
    assert [each.freshness.fetched for each in answers if each.freshness] == [3, 3]
    assert source.calls == [[1, 2, 3]]


def test_groups_may_have_keys_of_different_kinds() -> None:
    source = Scripted({1: 1.0, "a": 2.0})
    monitor = GroupedMonitor.build(query_of(), source=source)
    monitor.ingest({"team": ["x"], "who": [1], "at": [30]})
    monitor.ingest({"team": ["y"], "who": ["a"], "at": [31]})
    assert [each.rows[0].remote for each in monitor.close_until(101)] == [1.0, 2.0]


@pytest.mark.parametrize("problem", ["raises", "fails", "is late"])
def test_a_source_that_fails_lets_all_groups_down_alike_and_each_answer_says_so(
    problem: str,
) -> None:
    class Failing:
        punctual = True

        def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
            if problem == "raises":
                raise OSError
            why = np.full(len(keys), "server" if problem == "fails" else "late", object)
            return Fetched(np.full(len(keys), np.nan), np.zeros(len(keys), bool), 0.5, why)

    budget = {"deadline": "1 s"}
    monitor = GroupedMonitor.build(
        query_of(budget=budget, default=1.0), source=Failing(), clock=HandClock()
    )
    monitor.ingest(events(5, keys=4))
    answers = monitor.close_until(101)
    told = {"raises": "broken", "fails": "server", "is late": "late"}[problem]
    assert [answer.problems for answer in answers] == [((told, 4),)] * 5
    assert all(each.freshness and each.freshness.nothing_usable for each in answers)
    assert not any(answer.exact for answer in answers)


class Values(BaseHTTPRequestHandler):
    """Takes its time for a request, and answers for as many keys as are asked for."""

    protocol_version = "HTTP/1.1"
    requests: ClassVar[list[list[str]]] = []

    def do_GET(self) -> None:
        """Answer for some keys."""
        keys = parse_qs(urlsplit(self.path).query)["ids"][0].split(",")
        self.requests.append(keys)
        time.sleep(LATENCY)
        body = json.dumps([{"id": key, "value": int(key) % 7} for key in keys]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Values) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_two_hundred_groups_wait_for_a_few_requests_over_http(service: str) -> None:
    """One after the other they would wait for two hundred, ten seconds in all."""
    Values.requests.clear()
    source = remote.http(
        f"{service}/values?ids={{keys}}",
        value="$[*].value",
        key="$[*].id",
        per_request=200,
        at_start="ignore",
    )
    monitor = GroupedMonitor.build(query_of(), source=source)
    monitor.ingest(events(200, keys=4))
    answers, seconds = took(lambda: monitor.close_until(101))
    monitor.close()
    asked = [key for keys in Values.requests for key in keys]
    assert len(asked) == len({*asked}) == 402
    assert len(Values.requests) == 3
    assert len(answers) == 200
    assert all(answer.exact for answer in answers)
    assert all(row.remote == int(str(row.key)) % 7 for answer in answers for row in answer.rows)
    assert seconds < 0.5 * 200 * LATENCY
