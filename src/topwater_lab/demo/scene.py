"""What the demo plays: an evening of mentions, a question, and a service that may be asked.

The stream is generated. The remote side is a real HTTP service over the same evening, in a process
of its own, which Spark's workers ask as of the time of each window: so the answers are the same in
every run, however fast it goes. The service answers so many requests a second and refuses the
rest; each request is for one user.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from topwater.query import TopKQuery
from topwater.remote import Replay, http
from topwater.replica import Budget, RefreshSettings
from topwater_lab.experiments.generated_evening import make_evening
from topwater_lab.experiments.oracle import Oracle
from topwater_lab.experiments.workloads import REMOTE, Workload, follower_growth
from topwater_lab.services import Service, missing_package, started
from topwater_lab.services.followers import CHANGING

if TYPE_CHECKING:
    from topwater.protocols import Source

K = 5
RATE, BURST = 40, 10
"""Requests a second that the service answers, and how many at once after a pause."""


@dataclass(frozen=True)
class Scene:
    """A stretch of a generated evening, and what is asked of it.

    Parameters
    ----------
    windows
        How many windows are answered.
    budget
        How many users may be looked up for each.
    policy
        Which of them, by registry name.
    seed
        Another seed, another evening.
    """

    windows: int = 40
    budget: int = 7
    policy: str = "worth"
    seed: int = 7

    @functools.cached_property
    def workload(self) -> Workload:
        """The windows, and the truth about them."""
        views = self._recording.views("true", self.windows)
        return follower_growth(self._recording, views, "true", CHANGING, self.seed)

    @functools.cached_property
    def oracle(self) -> Oracle:
        """The true ranking of every window."""
        return Oracle.of(self.workload)

    @functools.cached_property
    def _recording(self) -> Any:
        return make_evening(self.seed)

    def refresh(self, policy: str, budget: int) -> RefreshSettings:
        """How the replica is kept fresh by a policy."""
        return RefreshSettings(REMOTE, policy=policy, budget=Budget(budget))

    def query(self) -> TopKQuery:
        """The 5 users that matter most in the last 100 s, every minute."""
        return TopKQuery(
            key="user",
            time="time",
            window=self.workload.windows,
            take={"mentions": "count"},
            score=self.workload.score,
            k=K,
            refresh=self.refresh(self.policy, self.budget),
        )

    @property
    def asked(self) -> str:
        """The question, in words."""
        return (
            f"The {K} users who matter most in the last 100 s: 0.7 × mentions (stream) + 0.3 × "
            "growth of their following (remote)."
        )

    def source(self) -> Replay:
        """The remote side, in this process."""
        return Replay(self.workload.remote)

    @contextlib.contextmanager
    def remote(self) -> Iterator[Remote]:
        """The remote side as a service, stopped at the end; in this process if there can be none.

        Raises
        ------
        EnvironmentProblem
            If the service does not start.
        """
        if missing_package() is not None:
            yield Remote(self.source())
            return
        with started(seed=self.seed, rate=RATE, burst=BURST) as service:
            source = http(
                service.growth,
                value=f"users[*].{REMOTE}",
                key="users[*].id",
                per_request=1,
                rate=RATE,
                at_start="stop",
                name="",
            )
            try:
                yield Remote(source, service)
            finally:
                source.close()

    def batches(self) -> Iterator[pa.Table]:
        """The mentions, a minute at a time, up to the first that ends the last window."""
        windows = self.workload.windows
        times, users = self._recording.times, self._recording.keys
        last = windows.window(self.windows - 1).end
        end = int(np.searchsorted(times, last, side="right")) + 1
        minute = (times[:end] - windows.start - 1) // windows.step
        for part in np.split(np.arange(end), np.flatnonzero(np.diff(minute)) + 1):
            moments = pa.array(times[part] * 1_000).cast(pa.timestamp("us", "UTC"))
            yield pa.table({"time": moments, "user": users[part]})


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the service saw, by its own count.

    Attributes
    ----------
    rate
        Requests a second that it answers.
    requests, refused, peak
        Those it answered and refused while the stream ran, and the most within one second.
    hurried, hurried_refused
        Requests sent afterwards as fast as they go, to see that the limit is kept, and how many
        of them it refused.
    """

    rate: float
    requests: int
    refused: int
    peak: int
    hurried: int
    hurried_refused: int


@dataclass(frozen=True, slots=True)
class Remote:
    """Who is asked, and the service behind it, if there is one."""

    source: Source
    service: Service | None = None

    @property
    def in_words(self) -> str:
        """Who it is, in words."""
        if self.service is not None:
            return (
                f"The remote side is an HTTP service at {self.service.url}, a process of its own, "
                f"which answers {RATE} requests a second and refuses the rest."
            )
        return (
            f"The remote side is not a service: the package {missing_package()} is missing. It is "
            'part of\nSpark\'s workers. For a real one: pip install "topwater[lab]"'
        )

    def traffic(self) -> Traffic | None:
        """What the service says; None if there is none."""
        if self.service is None:
            return None
        calm = self.service.stats()
        sent = _hurry(self.service)
        refused = self.service.stats()["refused"] - calm["refused"]
        return Traffic(RATE, calm["accepted"], calm["refused"], calm["peak"], sent, refused)


def _hurry(service: Service) -> int:
    """Ask for one user after the other without keeping to the limit; how many times."""
    import httpx

    sent = 2 * RATE
    with httpx.Client(trust_env=False, timeout=10.0) as client:
        for user in range(sent):
            client.get(f"{service.url}/growth", params={"ids": 1_000 + user, "at": 0})
    return sent
