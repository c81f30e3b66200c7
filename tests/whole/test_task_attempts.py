"""Tasks run twice, fail and are undone, their workers keep what they have; no answer changes.

Spark runs a task again that failed, on any worker, and with ``spark.speculation`` a second time
while the first still runs. Both ask the source, which may answer each of them otherwise; one is
committed, and what the other one left in its worker is a lie. Without Java: workers are told apart
by what they keep, and one after the other stands for both at once, as they share nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pyspark.sql import Row

from tests.support.scenarios import Bench, Scenario, hand_over, remote_side, scenario
from topwater.remote.replay import Replay
from topwater.spark.monitor_cache import CACHE
from topwater.spark.packed_rows import FIGURES
from topwater.spark.processor import MonitorProcessor, ShardJournal

if TYPE_CHECKING:
    from pyspark.sql.streaming.tws_tester import TwsTester

    from topwater.model import Fetched, KeyArray

WORKERS = ("one", "another", "a third")
FAULTS = ("", "", "", "before its record", "after its record", "dies")
"""Most attempts come to their end."""


class Moody(Replay):
    """Gives other values to other attempts."""

    mood = 1.0

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        got = super().fetch(keys, deadline)
        return replace(got, values=got.values * Moody.mood)


class Lost(Exception):
    """A task that failed."""


class Attempt(MonitorProcessor):
    """A task that may fail just before its record is written, or just after."""

    def __init__(self, fault: str, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._fault = fault

    def _record(self, own: ShardJournal, shard: int) -> dict[str, float]:
        if self._fault == "before its record":
            raise Lost
        figures = super()._record(own, shard)
        if self._fault:
            raise Lost
        return figures


class MoodyScenario(Scenario):
    """The same with a source that is not of one mind."""

    __slots__ = ()

    @property
    def source(self) -> Moody:
        return remote_side(Moody, self.known)  # type: ignore[return-value]


class Workers(Bench):
    """Attempts on several workers; of each micro-batch any one that came to its end is committed.

    Attributes
    ----------
    moods
        That of the source in each attempt that was committed.
    how
        How attempts came by their monitors; and how often one that was kept was not believed.
    """

    def __init__(self, each: Scenario, seed: int) -> None:
        super().__init__(each, 1, np.random.default_rng(seed))
        self._chance = np.random.default_rng([seed, 1])
        self.name = str(self._chance.random())
        self.moods: list[float] = []
        self.how: Counter[str] = Counter()

    def _stateful(self, rows: list[Row]) -> list[dict[str, Any]]:
        if not rows:
            self.moods.append(1.0)
            return []
        before = self._tester
        ended: list[tuple[TwsTester, float, list[Row]]] = []
        while not ended or self._chance.random() < 0.4:
            Moody.mood = float(self._chance.integers(1, 4))
            fault = str(self._chance.choice(FAULTS))
            self._run = f"{self.name} {self._chance.choice(WORKERS)}"
            self._tester = self._started(partial(Attempt, fault))  # type: ignore[arg-type]
            hand_over(before, self._tester, 0)
            with_one = (self._run, 0) in CACHE._kept
            try:
                found = self._tester.test(0, rows)
            except Lost:
                if fault == "dies":
                    CACHE.drop((self._run, 0))
                continue
            self._note(found, kept=with_one)
            ended.append((self._tester, Moody.mood, found))
        self._tester, mood, found = ended[self._chance.integers(len(ended))]
        self.moods.append(mood)
        return [row.asDict() for row in found if row.kind != FIGURES]

    def _note(self, found: list[Row], *, kept: bool) -> None:
        figures = next(row.figures for row in found if row.kind == FIGURES)
        for how in {"begun", "kept", "caught_up", "rebuilt"} & figures.keys():
            self.how[how] += 1
            self.how["caught"] += kept and how == "rebuilt"


def in_one_worker(each: Scenario, seed: int, moods: list[float]) -> list[dict[str, Any]]:
    """The rows where nothing fails, and the source is in these moods."""
    bench = Bench(each, 1, np.random.default_rng(seed))
    for file, mood in zip(each.files, moods, strict=True):
        Moody.mood = mood
        bench.run([file])
    return bench.rows


def attempted(name: str, seed: int) -> Counter[str]:
    """How attempts came by their monitors, where all rows were right."""
    plain = scenario(name, seed, files=12, rows=400)
    each = MoodyScenario(plain.query, plain.files, plain.keys, plain.known)
    workers = Workers(each, seed)
    workers.run(each.files)
    right = in_one_worker(each, seed, workers.moods)
    assert len(right) >= 8
    assert workers.rows == right, seed
    return workers.how


def test_attempts_fail_and_run_twice() -> None:
    how = attempted("worth", 1) + attempted("worth", 3)
    assert all(how[each] >= 2 for each in ("kept", "caught_up", "rebuilt", "caught")), how


@pytest.mark.soak
@pytest.mark.parametrize("name", ["worth", "lru", "groups-worth", "listed"])
def test_attempts_fail_and_run_twice_for_long(name: str) -> None:
    for seed in range(12):
        attempted(name, seed)
