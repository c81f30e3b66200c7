"""The numbers of a replica that belong to no key, where shards become more or fewer.

Rows go where their keys go. What is left is the purse, and what was learnt of all keys together:
shards have a part of it each, and one shard has all.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from topwater.model import FloatArray, Shard
from topwater.replica.proportions import FIRST_PAIRS, TINY
from topwater.replica.ways_to_move import RING

_HALF = 0.5
_FADING = ("prior", "sizes", "scores", "gaps")

Numbers = Mapping[str, Any]
"""What :meth:`topwater.replica.refresher.Refresher.facts` gives."""


def joined_numbers(parts: Sequence[Numbers], rows: int) -> dict[str, Any]:
    """Those of all shards together, by how many rows they remember."""
    values = [part["values"] for part in parts]
    # A shard that has seen more pairs of values knows more.
    weights = np.array(
        [FIRST_PAIRS if each["sums"] is None else each["sums"][0][0] for each in values]
    )
    return {
        "purse": _joined_purse([part["purse"] for part in parts]),
        "arrivals": rows,
        "values": _joined_values(values),
        "rates": np.average([part["rates"] for part in parts], axis=0, weights=weights).tolist(),
        "noise": _noise(np.sum([part["noise"]["sums"] for part in parts], axis=0)),
    }


def divided_numbers(whole: Numbers, shard: Shard, rows: int) -> dict[str, Any]:
    """The part of one shard, by how many rows it remembers."""
    return {
        "purse": _divided_purse(whole["purse"], shard),
        "arrivals": rows,
        "values": _divided_values(whole["values"], shard),
        "rates": whole["rates"],
        "noise": _noise(np.array(whole["noise"]["sums"]) / shard.of),
    }


def _weight(values: Numbers) -> float:
    """Of how many pairs of values something was learnt."""
    return FIRST_PAIRS if values["sums"] is None else float(values["sums"][0][0])


def _noise(sums: FloatArray) -> dict[str, Any]:
    """Of looks that were counted: those of all shards, or the part of one."""
    return {"sums": sums.tolist()}


def _joined_purse(parts: Sequence[Numbers]) -> dict[str, Any]:
    offers = [part["offers"] for part in parts if part["offers"]]
    return {
        "tokens": sum(part["tokens"] for part in parts),
        "seconds_per_fetch": float(np.mean([part["seconds_per_fetch"] for part in parts])),
        "offers": np.sum(offers, axis=0).tolist() if offers else [],
        "windows": max(part["windows"] for part in parts),
    }


def _divided_purse(whole: Numbers, shard: Shard) -> dict[str, Any]:
    """Whole tokens, so that all shards together can spend what one could, and no more."""
    each, rest = divmod(int(whole["tokens"]), shard.of)
    return {
        **whole,
        "tokens": float(each + (shard.index < rest)),
        "offers": [offer / shard.of for offer in whole["offers"]],
    }


def _joined_values(parts: Sequence[Numbers]) -> dict[str, Any]:
    """Pairs of values count as often as they were seen; what every shard began with counts once.

    What fades is as strong in one shard as in all, so its mean is taken.
    """
    known = [part for part in parts if part["sums"] is not None]
    if not known:
        return dict(parts[0])
    # Of each shard, on both scales.
    sums = np.array([part["sums"] for part in known])
    weights = sums[:, 0, 0]
    weight = FIRST_PAIRS + (weights - FIRST_PAIRS).sum()
    means = np.average(sums[:, :, 1], axis=0, weights=weights)
    spreads = sums[:, :, 2:].sum(axis=0) * (weight / weights.sum())
    powers = _joined_powers([part["powers"] for part in known], weights)
    known = [_on_scale(part, on=powers["on"]) for part in known]
    faded = {
        name: np.average([part[name] for part in known], axis=0, weights=weights).tolist()
        for name in _FADING
    }
    rings = zip(*(part["rings"] for part in known), strict=True)
    return {
        **faded,
        "sums": np.column_stack([[weight, weight], means, spreads]).tolist(),
        "powers": powers,
        "rings": [_latest(each) for each in rings],
    }


def _joined_powers(parts: Sequence[Numbers], weights: FloatArray) -> dict[str, Any]:
    """The scale that more of the changes speak for."""
    positive = all(part["positive"] for part in parts)
    most = np.average([part["on"] for part in parts], weights=weights) > _HALF
    sums = np.average([part["sums"] for part in parts], axis=0, weights=weights)
    return {"on": bool(positive and most), "positive": positive, "sums": sums.tolist()}


def _on_scale(part: Numbers, *, on: bool) -> Numbers:
    """What was learnt on one scale, on the other."""
    powers = part["powers"]
    if powers["on"] == on:
        return part
    by = np.maximum(powers["sums"][2:], TINY)
    counts, sizes = np.array(part["sizes"])
    times = by[int(on)] / by[int(powers["on"])]
    return {**part, "sizes": [counts.tolist(), (sizes * times).tolist()]}


def _divided_values(whole: Numbers, shard: Shard) -> dict[str, Any]:
    """The same belief, held as firmly as a shard would that had seen its part of the pairs."""
    if whole["sums"] is None:
        return dict(whole)
    sums = np.array(whole["sums"])
    weight = sums[0, 0]
    own = FIRST_PAIRS + (weight - FIRST_PAIRS) / shard.of
    return {**whole, "sums": (sums * [own / weight, 1.0, own / weight, own / weight]).tolist()}


def _latest(rings: Sequence[str]) -> str:
    """The latest of all shards, which do not know who was first: by turns."""
    opened = [np.frombuffer(b64decode(ring), np.float16) for ring in rings]
    age = np.concatenate([np.arange(len(ring), 0, -1) for ring in opened])
    order = np.argsort(-age, kind="stable")[-RING:]
    return b64encode(np.concatenate(opened)[order].tobytes()).decode()
