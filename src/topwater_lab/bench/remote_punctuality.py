"""How punctual answers are when the remote side is not, and how well its rate limit is used.

Both against a real service on this machine, in a process of its own. First, several queries
refresh their replicas from a service that misbehaves one time in five, at the pace of the clock on
the wall, and each answer is timed. Then several processes with more to ask than a healthy service
allows share its limit. What was accepted and refused is the service's own count.
"""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from topwater import remote
from topwater.model import Answer, FloatArray
from topwater.monitor import TopKMonitor
from topwater.query import TopKQuery
from topwater.windows import tumbling
from topwater_lab.bench.core_targets import Target
from topwater_lab.bench.harness import Ticker, ticking
from topwater_lab.services import Service, started

_SPAN = 1_000
_EVENTS = 2_000
_USERS = 400
_FIRST = 1_000
_PER_REQUEST = 25
_ROUND = 10
"""Windows of each query between two movements of the progress bar."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure.

    Attributes
    ----------
    windows_each
        How many answers of each query are timed.
    deadline_ms, pace_ms
        How long after its window's close an answer may come; and how often a window closes, on
        the wall.
    faults
        The share of requests that go wrong.
    rate, burst
        How many requests a second the service allows, and how many at once after a pause. A
        service that gets no processor for a while finds all that came meanwhile at once.
    seconds
        How long the limit is tried.
    processes
        How many processes there are: one query each, and then those who share the limit.
    """

    windows_each: int = 250
    deadline_ms: int = 500
    pace_ms: int = 600
    faults: float = 0.2
    rate: int = 50
    burst: int = 10
    seconds: float = 20.0
    processes: int = 4


FULL = Effort()
QUICK = Effort(windows_each=40, seconds=6.0)


@dataclass(frozen=True, slots=True)
class Punctuality:
    """How the answers fared.

    Attributes
    ----------
    late_ms
        Per window, by how much its answer came after the deadline; 0 if it did not.
    starved
        How many of the late ones would have been in time but for the time in which their thread
        was ready to run and others had the processors.
    with_failures
        In how many windows a key failed.
    fetched, failed
        Keys asked for, and those that were not answered.
    problems
        What went wrong with these.
    service
        The service's own figures.
    """

    late_ms: FloatArray
    starved: int
    with_failures: int
    fetched: int
    failed: int
    problems: Counter[str]
    service: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def union(parts: list[Punctuality], service: dict[str, Any]) -> Punctuality:
        """All of several processes."""
        return Punctuality(
            np.concatenate([part.late_ms for part in parts]),
            sum(part.starved for part in parts),
            sum(part.with_failures for part in parts),
            sum(part.fetched for part in parts),
            sum(part.failed for part in parts),
            sum((part.problems for part in parts), Counter()),
            service,
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """How a limit was used while there was more to ask than it allows.

    Attributes
    ----------
    used
        Requests that the service accepted, over what it allows in that time.
    refused
        Requests that came too early for it.
    peak
        The most requests that it saw within one second.
    """

    used: float
    refused: int
    peak: int


def bench_remote(effort: Effort = FULL, *, seed: int = 7, quiet: bool = True) -> dict[str, Any]:
    """Measure both, and check the targets.

    Parameters
    ----------
    effort
        ``FULL`` or ``QUICK``, or one of your own.
    seed
        Another seed, another stream and other faults.
    quiet
        Show no progress.

    Returns
    -------
    dict
        ``windows``, ``on_time``, ``overshoot_ms_p50``, ``overshoot_ms_p99``, ``rate_used``,
        ``rate_exceeded`` and more, as they go into JSON.
    """
    with ticking(-(-effort.windows_each // _ROUND) + 2, quiet=quiet) as ticker:
        ticker.step("starting the service")
        answers = punctuality(effort, seed, ticker)
        ticker.step("sharing the limit")
        usage = sharing(effort, seed)
    return _report(effort, answers, usage)


def punctuality(effort: Effort, seed: int, ticker: Ticker) -> Punctuality:
    """Time the answers of several queries at once whose service misbehaves."""
    rate = 4 * effort.rate
    settings = {"users": _USERS, "seed": seed, "latency": 0.01, "rate": rate}
    with started(**settings, faults=effort.faults) as service:
        source = _source(service, rate)
        with _pool(effort) as pool:
            jobs = [(effort, seed + each, source) for each in range(effort.processes)]
            running = [pool.submit(_timed, job) for job in jobs]
            for window in range(0, effort.windows_each, _ROUND):
                ticker.step(f"window {window * effort.processes:,}")
                wait(running, timeout=_ROUND * effort.pace_ms / 1_000)
            parts = [each.result() for each in running]
        return Punctuality.union(parts, service.stats())


def _pool(effort: Effort) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(effort.processes, multiprocessing.get_context("spawn"))


def _timed(job: tuple[Effort, int, remote.Stack]) -> Punctuality:
    """One process: answer window after window, at the pace of the clock on the wall."""
    effort, seed, source = job
    source.start()
    monitor = TopKMonitor.build(_query(effort), source=source)
    rng = np.random.default_rng(seed)
    found: list[Answer] = []
    late, queued = np.zeros(effort.windows_each), np.zeros(effort.windows_each)
    # Not all at the same time.
    closes = time.perf_counter() + rng.uniform(0, effort.pace_ms) / 1_000
    for window in range(effort.windows_each):
        monitor.ingest(_events(rng, window))
        closes += effort.pace_ms / 1_000
        time.sleep(max(0.0, closes - time.perf_counter()))
        begun, ready = time.perf_counter(), _queued_ms()
        found += monitor.close_until((window + 1) * _SPAN + 1)
        late[window] = (time.perf_counter() - begun) * 1_000 - effort.deadline_ms
        queued[window] = _queued_ms() - ready
    source.close()
    return _judged(found, late, queued)


def _judged(found: list[Answer], late: FloatArray, queued: FloatArray) -> Punctuality:
    fresh = [answer.freshness for answer in found if answer.freshness is not None]
    problems: Counter[str] = Counter()
    for answer in found:
        problems.update(dict(answer.problems))
    return Punctuality(
        late_ms=np.maximum(late, 0.0),
        starved=int(np.count_nonzero((late > 0) & (queued >= late))),
        with_failures=sum(each.failed > 0 for each in fresh),
        fetched=sum(each.fetched for each in fresh),
        failed=sum(each.failed for each in fresh),
        problems=problems,
    )


def _queued_ms() -> float:
    """How long this thread was ready and got no processor so far; 0 where Linux does not tell."""
    told = Path("/proc/thread-self/schedstat")
    return int(told.read_text().split()[1]) / 1e6 if told.exists() else 0.0


def sharing(effort: Effort, seed: int) -> Usage:
    """Let several processes ask for more than a service allows."""
    settings = {"users": _USERS, "seed": seed, "latency": 0.01}
    with started(**settings, rate=effort.rate, burst=effort.burst) as service:
        source = _source(service, effort.rate, at_once=2)
        with _pool(effort) as pool:
            # All of them must be there before anything is counted.
            list(pool.map(_ask, [(source, 1.0)] * effort.processes))
            job = (source, effort.seconds + 2.0)
            asking = [pool.submit(_ask, job) for _ in range(effort.processes)]
            time.sleep(1.0)
            before = service.stats()
            time.sleep(effort.seconds)
            after = service.stats()
            for each in asking:
                each.result()
        done = service.stats()
    accepted = after["accepted"] - before["accepted"]
    allowed = effort.rate * (after["seconds"] - before["seconds"])
    return Usage(accepted / allowed, done["refused"], done["peak"])


def _ask(job: tuple[remote.Stack, float]) -> None:
    """One process: ask for all users, again and again."""
    source, seconds = job
    source.start()
    keys = np.arange(_FIRST, _FIRST + _USERS)
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        source.fetch(keys, left)
    source.close()


def _source(service: Service, rate: int, at_once: int = 4) -> remote.Stack:
    return remote.http(
        service.followers,
        value="users[*].followers",
        key="users[*].id",
        per_request=_PER_REQUEST,
        rate=rate,
        at_once=at_once,
    )


def _query(effort: Effort) -> TopKQuery:
    return TopKQuery(
        key="user",
        time="at",
        window=tumbling(_SPAN),
        take={"mentions": "count"},
        score="mentions * 10 + followers",
        k=10,
        refresh={"remote": "followers", "budget": {"deadline": effort.deadline_ms}},
    )


def _events(rng: np.random.Generator, window: int) -> dict[str, Any]:
    """Mentions in one window; some users have many."""
    users = _FIRST + np.minimum(rng.geometric(0.01, _EVENTS), _USERS) - 1
    times = np.sort(rng.integers(1, _SPAN + 1, _EVENTS)) + window * _SPAN
    return {"user": users, "at": times}


def _report(effort: Effort, answers: Punctuality, usage: Usage) -> dict[str, Any]:
    p50, p99, worst = np.percentile(answers.late_ms, [50, 99, 100]).tolist()
    service = answers.service
    figures = {
        "windows": len(answers.late_ms),
        "on_time": float(np.mean(answers.late_ms == 0)),
        "overshoot_ms_p50": p50,
        "overshoot_ms_p99": p99,
        "rate_used": usage.used,
        "rate_exceeded": usage.refused + service["refused"],
    }
    return {
        "bench": "remote",
        **figures,
        "deadline_ms": effort.deadline_ms,
        "pace_ms": effort.pace_ms,
        "overshoot_ms_max": worst,
        "late": int(np.count_nonzero(answers.late_ms)),
        "late_for_want_of_a_processor": answers.starved,
        "windows_with_failures": answers.with_failures,
        "keys_fetched": answers.fetched,
        "keys_failed": answers.failed,
        "problems": dict(answers.problems.most_common()),
        "requests": service["accepted"],
        "faults": service["faults"],
        "faults_share": sum(service["faults"].values()) / max(1, service["accepted"]),
        "rate": effort.rate,
        "rate_burst": effort.burst,
        "rate_peak": usage.peak,
        "processes": effort.processes,
        "targets": [asdict(target) for target in check_targets(figures)],
    }


def check_targets(figures: dict[str, Any]) -> list[Target]:
    """What must be reached, and whether it is.

    Examples
    --------
    >>> figures = {"windows": 9, "on_time": 1.0, "rate_used": 0.9, "rate_exceeded": 0}
    >>> [target.reached for target in check_targets(figures)]
    [True, False, True]
    """
    judged = (
        ("answers on time: all", "on_time", figures["on_time"] == 1.0),
        ("rate used >= 0.95 of what is allowed", "rate_used", figures["rate_used"] >= 0.95),
        ("requests above the limit: none", "rate_exceeded", figures["rate_exceeded"] == 0),
    )
    return [
        Target(
            told,
            reached,
            figures["windows"] if name == "on_time" else 1,
            float(figures[name]),
            name,
            [] if reached else [f"{name}: {figures[name]:.4g}"],
        )
        for told, name, reached in judged
    ]
