"""Streams of scores for one query, and what a perfect memory would tell of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import hypothesis.strategies as st
import numpy as np

from topwater.candidates.published.object_trees import ResultStream, Seen, Structure

ORDERS = ("random", "rising", "falling", "wave")


@dataclass(frozen=True)
class Stream:
    """Scores with their stamps, which do not fall, and the windows over them."""

    scores: list[float]
    stamps: list[int]
    width: int
    k: int

    def __iter__(self) -> Iterator[tuple[float, int]]:
        return zip(self.scores, self.stamps, strict=True)


def ordered(order: str, count: int, rng: np.random.Generator, *, noise: float = 0.3) -> list[float]:
    """Scores in random order, or with a trend or a wave under the noise."""
    places = np.arange(count)
    trend = {
        "random": np.zeros(count),
        "rising": places / 10,
        "falling": -places / 10,
        "wave": 3 * np.sin(places * 2 * math.pi / 60),
    }
    found: list[float] = (trend[order] + noise * rng.standard_normal(count)).tolist()
    return found


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    """Any order, with ties or without, by position or with gaps and crowds in time."""
    count = draw(st.integers(1, 120))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = ordered(draw(st.sampled_from(ORDERS)), count, rng)
    if draw(st.booleans()):
        scores = [float(round(score)) for score in scores]
    stamps = list(range(1, count + 1))
    if draw(st.booleans()):
        stamps = np.cumsum(rng.choice([0, 0, 1, 1, 2, 9], count)).tolist()
    return Stream(scores, stamps, draw(st.integers(1, 40)), draw(st.integers(1, 6)))


def tops(stream: Stream) -> Iterator[list[int]]:
    """Definition 3.5, from scratch: the places of the k best of each step's window."""
    everything = list(stream)
    for place, (_, now) in enumerate(everything):
        inside = [j for j in range(place + 1) if everything[j][1] > now - stream.width]
        # Of two with the same score and stamp the one that came first has the smaller key.
        inside.sort(key=lambda j: (-everything[j][0], -everything[j][1], j))
        yield inside[: stream.k]


def reported(stream: Stream) -> list[tuple[int, int]]:
    """Definition 3.6: (step, place) of each object when it is first among the k best."""
    known: set[int] = set()
    found = []
    for step, top in enumerate(tops(stream)):
        found += [(step, place) for place in top if place not in known]
        known |= {*top}
    return found


def played(structure: Structure, stream: Stream) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """The answers of each step and the result stream, with a check after each step."""
    results = ResultStream(structure, stream.width)
    answers, told = [], []
    for step, (score, stamp) in enumerate(stream):
        fresh: list[Seen] = results.add(score, stamp, key=step)
        structure.check()
        told += [(step, each.key) for each in fresh]
        answers.append([each.key for each in structure.top()])
    return answers, told
