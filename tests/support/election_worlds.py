"""Random workloads for elections: what is ranked, what is believed, and what the source does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from topwater.model import Fetched, FloatArray, KeyArray, Millis
from topwater.replica import RefreshSettings, WindowView
from topwater.scoring import Formula, Score
from topwater.scoring.score_kinds import WeightedDistance
from topwater.windows import Windows, sliding, tumbling

MINUTE = 60_000

SCORES: dict[str, Score] = {
    "sum": Formula("stream + remote"),
    "product": Formula("stream * remote"),
    "difference": Formula("stream - 2 * remote"),
    "wave": Formula("stream - abs(remote - 3)"),
    "square": Formula("(remote - stream) ** 2"),
    "least": Formula("min(stream, remote)"),
    "greatest": Formula("max(10 * stream, remote)"),
    "share": Formula("stream / remote"),
    "root": Formula("sqrt(remote) + stream"),
    "logarithm": Formula("stream * log(remote)"),
    "stepped": Formula("stream + clip(remote, 0, 1)"),
    "stream": Formula("stream + 0 * remote"),
    "remote": Formula("remote"),
    "low": Formula("stream + remote", order="smallest"),
    "near": WeightedDistance({"stream": 2, "remote": 1}, {"stream": 1, "remote": 0.5}),
}


class Changing:
    """A source whose values are a function of key and time; some keys fail, some have none."""

    punctual = True

    def __init__(self, seed: int, spread: str, *, failing: float, lacking: float) -> None:
        self.seed, self.spread = seed, spread
        self.failing, self.lacking = failing, lacking
        self.now: Millis = 0

    def seek(self, now: Millis) -> None:
        self.now = now

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        numbers = np.array([int(str(key).removeprefix("k")) for key in keys.tolist()], np.int64)
        values = self.values(numbers, self.now)
        window = np.int64(self.now // MINUTE)
        ok = _chance(numbers * 7 + window * 31, self.seed) >= self.failing
        return Fetched(np.where(ok, values, np.nan), ok, 0.001 * len(numbers))

    def values(self, numbers: Any, now: Millis) -> FloatArray:
        """Of a third of the keys the value never changes."""
        epoch = np.where(numbers % 3 == 0, 0, now // ((1 + numbers % 7) * 2 * MINUTE))
        drawn = _chance(numbers * 1_000 + epoch, self.seed + 1)
        values = {
            "whole": np.floor(6 * drawn) - 1,
            "even": 5.0 * drawn,
            "heavy": np.exp(4.0 * (drawn - 0.3)) ** 2,
            "same": np.full(len(drawn), 2.0),
        }[self.spread]
        return np.where(_chance(numbers, self.seed + 2) < self.lacking, np.nan, values)


def _chance(numbers: Any, seed: int) -> FloatArray:
    """A number between 0 and 1 for each number, always the same."""
    mixed = (np.asarray(numbers, np.uint64) + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray((mixed >> np.uint64(11)).astype(np.float64) / 2**53)


@dataclass
class Workload:
    """Windows of keys that come and go.

    Attributes
    ----------
    keys, busy
        How many keys there are, and what share of them each window has.
    text
        Whether keys are text.
    seeded
        What share of the values is known from the start.
    telling
        Whether the stream says more of keys whose values were great at the start.
    """

    seed: int
    score: str = "sum"
    spread: str = "even"
    keys: int = 60
    busy: float = 0.6
    k: int = 3
    windows: Windows = field(default_factory=lambda: sliding("3 min", "1 min"))
    text: bool = False
    whole: bool = True
    bad: float = 0.0
    seeded: float = 0.0
    failing: float = 0.0
    lacking: float = 0.0
    telling: bool = False
    settings: dict[str, Any] = field(default_factory=dict)

    def made(self, kind: type[Any]) -> Any:
        """A refresher of this kind for it."""
        settings = RefreshSettings.of({"remote": "remote", **self.settings})
        source = Changing(self.seed, self.spread, failing=self.failing, lacking=self.lacking)
        made = kind(settings, SCORES[self.score], self.windows, self.k, source)
        known = np.arange(int(self.seeded * self.keys))
        if len(known):
            made.seed_replica(self.named(known), source.values(known, 0), 0)
        return made

    def views(self, count: int) -> Iterator[WindowView]:
        rng = np.random.default_rng(self.seed)
        for window in range(count):
            end = self.windows.window(window).end
            present = np.flatnonzero(rng.random(self.keys) < self.busy)
            stream = rng.exponential(3.0, len(present))
            if self.telling:
                stream *= np.exp(3.0 * _chance(present * 1_000, self.seed + 1))
            stream = np.floor(stream) + 1 if self.whole else stream
            stream[rng.random(len(present)) < self.bad] = np.nan
            spoke = end - rng.integers(0, self.windows.width, len(present))
            if window % 2:
                spoke = end - spoke % 2
            keys = self.named(present)
            order = np.argsort(keys, kind="stable")
            values = {"stream": stream[order]} if self.score != "remote" else {}
            yield WindowView(window, end, keys[order], values, np.minimum(spoke, end)[order])

    def named(self, numbers: Any) -> KeyArray:
        return np.array([f"k{each}" for each in numbers], object) if self.text else numbers


def random_workload(seed: int) -> Workload:
    """Any of them."""
    rng = np.random.default_rng([seed, 5])

    def one_of(*choices: Any) -> Any:
        return choices[int(rng.integers(len(choices)))]

    fetches = one_of(1, 3, 7, 7, 20, 1_000, None)
    budget: dict[str, Any] = {"fetches": fetches}
    if fetches is not None and rng.random() < 0.2:
        budget["carry_over"] = True
    settings = {
        "budget": budget if rng.random() < 0.95 else {"deadline": "30 ms"},
        "policy": "worth",
        "aim": one_of("relevance", "accuracy"),
        "hint": bool(rng.random() < 0.25),
        "default": one_of(None, None, 0.5),
        "refresh_from": one_of(None, None, None, "candidates", "replica"),
        "limit": one_of(None, None, 30),
        "seed": int(rng.integers(3)),
    }
    return Workload(
        seed,
        one_of(*SCORES),
        one_of("whole", "even", "heavy", "heavy", "same"),
        keys=one_of(3, 25, 60, 200, 900),
        busy=one_of(0.2, 0.6, 0.95),
        k=one_of(1, 3, 10, 50),
        windows=one_of(sliding("3 min", "1 min"), tumbling("1 min"), sliding("10 min", "1 min")),
        text=bool(rng.random() < 0.2),
        whole=bool(rng.random() < 0.6),
        bad=one_of(0.0, 0.0, 0.1),
        seeded=one_of(0.0, 0.5, 1.0, 1.0, 1.0),
        failing=one_of(0.0, 0.0, 0.3),
        lacking=one_of(0.0, 0.0, 0.2, 1.0),
        settings=settings,
    )
