"""No more requests than allowed, in any span, from any number of processes."""

from __future__ import annotations

import math
import pickle
import stat
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.troubled import Acting, waiting
from topwater.errors import QueryError
from topwater.model import Fetched
from topwater.remote.wrappers.rate_limit import Limit, Limited, path_of
from topwater.remote.wrappers.wrapper import failed
from topwater.testing import HandClock, Scripted, check_source

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYS = np.array([1, 2])


@pytest.fixture
def name() -> Iterator[str]:
    """Of a limit that nobody else uses."""
    made = f"test-{uuid.uuid4()}"
    yield made
    path_of(made).unlink(missing_ok=True)


def most_in_a_span(times: list[float], seconds: float) -> int:
    """In any half-open span of this length."""
    ends = np.searchsorted(times, np.array(times) + seconds, side="left")
    return int(np.max(ends - np.arange(len(times))))


def test_it_keeps_the_contract(name: str) -> None:
    check_source(
        lambda: Limited(Scripted({1: 1.0, 2: 2.0}), Limit(10_000, name=name)),
        np.array([1, 2]),
        np.array([7]),
    )


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 60),
    st.sampled_from([0.5, 1.0, 60.0, 900.0]),
    st.integers(1, 5),
    st.lists(st.floats(0, 3), min_size=1, max_size=40),
    st.floats(0, 0.05),
)
def test_no_span_holds_more_than_allowed(
    requests: int, seconds: float, burst: int, gaps: list[float], late: float
) -> None:
    hand = HandClock()
    times: list[float] = []

    def note(keys: Any, _: Any) -> Fetched:
        times.append(hand.at)
        return failed(keys, "server")

    limited = Limited(Acting(note), Limit(requests, seconds, min(burst, requests)), hand)
    for gap in gaps:
        for _ in range(4):
            limited.fetch(KEYS)
            hand.at += late * seconds / requests
        hand.at += gap * seconds / requests
    assert most_in_a_span(times, seconds * (1 - 1e-9)) <= requests


@pytest.mark.parametrize("limit", [Limit(50), Limit(1), Limit(15, 900), Limit(10, 1, 2)])
def test_with_demand_nearly_all_of_it_is_used(limit: Limit) -> None:
    hand = HandClock()
    limited = Limited(Acting(), limit, hand)
    assert limit.requests is not None
    begun = hand.at
    for _ in range(40 * limit.requests):
        limited.fetch(KEYS)
    used = 40 * limit.requests / (hand.at - begun) * limit.seconds
    least = 0.96 * (limit.requests - limit.burst + 1)
    assert least <= used <= limit.requests


def test_requests_that_go_a_little_late_lose_no_rate() -> None:
    rng = np.random.default_rng(7)

    class Lazy(HandClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds + rng.uniform(0, 0.015))

    hand = Lazy()
    limited = Limited(Acting(), Limit(50), hand)
    begun = hand.at
    for _ in range(1_000):
        limited.fetch(KEYS)
    assert 0.955 * 50 <= 1_000 / (hand.at - begun) <= 50


def test_what_cannot_go_before_the_deadline_fails_at_once() -> None:
    hand, source = HandClock(), Acting()
    limited = Limited(source, Limit(1, 10.0), hand)
    assert limited.fetch(KEYS, 1.0).ok.all()
    assert limited.fetch(KEYS, 1.0).problems() == {"rate": 2}
    assert not hand.slept
    assert limited.fetch(KEYS, 20.0).ok.all()
    left = source.deadlines[-1]
    assert left is not None
    assert 9.0 < left < 10.0


def test_a_request_that_waited_its_time_away_is_not_held_against_the_service() -> None:
    hand = HandClock()
    limited = Limited(Acting("ok", "late", "server"), Limit(1, 10.0), hand)
    limited.fetch(KEYS)
    assert limited.fetch(KEYS, 11.0).problems() == {"rate": 2}
    assert limited.fetch(KEYS, 11.0).problems() == {"server": 2}


def test_a_service_that_asks_for_quiet_gets_it_from_all_that_share_the_limit(name: str) -> None:
    hand = HandClock()
    # The real clock's times would lie before or after those of a clock moved by hand.
    one = Limited(Acting(waiting("limited", 4.0), "ok"), Limit(name=name), hand)
    other = Limited(Acting(), Limit(name=name), hand)
    assert one.fetch(KEYS).problems() == {"limited": 2}
    assert other.fetch(KEYS, 3.0).problems() == {"rate": 2}
    assert other.fetch(KEYS, 5.0).ok.all()
    assert hand.slept == [4.0]


def test_nobody_waits_for_ever() -> None:
    hand = HandClock()
    limited = Limited(Acting(waiting("limited", 1e12), "ok"), Limit(), hand)
    limited.fetch(KEYS)
    assert limited.fetch(KEYS).problems() == {"rate": 2}
    assert limited.fetch(KEYS, 500.0).ok.all()
    assert hand.slept == [300.0]


WORKER = """
import sys, time
import numpy as np
from topwater.model import Fetched
from topwater.remote.wrappers.rate_limit import Limit, Limited

class Noting:
    def fetch(self, keys, deadline=None):
        print(repr(time.monotonic()), flush=True)
        return Fetched(np.zeros(1), np.ones(1, bool))

limited = Limited(Noting(), Limit(100, name=sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for _ in range(80):
    limited.fetch(np.array([1]), 60.0)
"""


def test_processes_share_it(name: str) -> None:
    workers = [
        subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", WORKER, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    told = [worker.communicate(timeout=100)[0].split() for worker in workers]
    assert all(worker.returncode == 0 for worker in workers)
    assert [len(mine) for mine in told] == [80] * 3
    times = sorted(float(each) for mine in told for each in mine)
    # A process that is interrupted between its turn and its note moves one note.
    assert most_in_a_span(times, 1.0) <= 103
    assert times[-1] - times[0] >= 2.3


def test_sources_without_a_name_share_nothing() -> None:
    hand = HandClock()
    for _ in range(3):
        Limited(Acting(), Limit(1), hand).fetch(KEYS)
    assert not hand.slept


def test_the_file_is_only_ours(name: str) -> None:
    Limited(Acting(), Limit(1, name=name)).fetch(KEYS)
    path = path_of(name)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o077 == 0
    assert name not in path.name


def test_a_damaged_file_is_begun_anew(name: str) -> None:
    limited = Limited(Acting(), Limit(1, name=name))
    path_of(name).write_bytes(b"short")
    assert limited.fetch(KEYS, 1.0).ok.all()
    assert path_of(name).stat().st_size == 16


@given(st.integers(1, 500), st.integers(1, 60))
def test_shares_together_stay_below_the_whole(requests: int, parts: int) -> None:
    share = Limit(requests).share(parts)
    assert share.requests is not None
    # In any second, each host sends at most its requests once for each of its periods begun.
    hosts_at_once = math.ceil(parts / max(1.0, share.seconds))
    assert share.requests * hosts_at_once <= requests
    assert share.requests / share.seconds * parts > requests / 2 - 1e-9


@pytest.mark.parametrize(
    ("spec", "requests", "seconds"),
    [(5, 5, 1.0), (5.0, 5, 1.0), (2.5, 2, 0.8), (0.2, 1, 5.0), (None, None, 1.0)],
)
def test_limits_from_numbers(spec: Any, requests: Any, seconds: float) -> None:
    made = Limit.of(spec, "me")
    assert (made.requests, made.name) == (requests, "me")
    assert made.seconds == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (0, "rate.requests"),
        (-1.5, "rate.requests"),
        (float("inf"), "rate.requests"),
        (float("nan"), "rate.requests"),
        (True, "rate.requests"),
        ("5", "rate.requests"),
    ],
)
def test_bad_rates_are_refused(spec: Any, field: str) -> None:
    with pytest.raises(QueryError) as caught:
        Limit.of(spec)
    assert caught.value.field == field


def test_other_bad_limits_are_refused() -> None:
    with pytest.raises(QueryError, match="seconds"):
        Limit(1, 0)
    with pytest.raises(QueryError, match="burst"):
        Limit(2, burst=3)


def test_pickles(name: str) -> None:
    limited = Limited(Acting(), Limit(1, 60.0, name=name))
    limited.fetch(KEYS)
    copied = pickle.loads(pickle.dumps(limited))  # noqa: S301
    assert copied.fetch(KEYS, 1.0).problems() == {"rate": 2}


def test_nothing_to_ask_takes_no_turn() -> None:
    hand = HandClock()
    limited = Limited(Acting(lambda *_: Fetched(np.empty(0), np.empty(0, bool))), Limit(1))
    for _ in range(3):
        limited.fetch(KEYS[:0])
    assert not hand.slept
