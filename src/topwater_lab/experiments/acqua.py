"""ACQUA's experiments: how many rows of a join are right, by proposer and ranker.

Dehghanzadeh and others join the users mentioned in a window with their follower counts. The
first table compares where keys are proposed from, the second how they are ranked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from topwater_lab.experiments.parallel_runs import Job
from topwater_lab.experiments.tracks import Contender

EVALUATIONS = 60
BUDGETS = (3, 5, 10)
REPEATS = 5
PRINTED: Mapping[str, tuple[float, float, float]] = {
    "wst": (0.30, 0.30, 0.30),
    "gnr-rnd": (0.34, 0.36, 0.41),
    "gnr-lru": (0.33, 0.35, 0.41),
    "wsj-rnd": (0.46, 0.57, 0.68),
    "wsj-lru": (0.47, 0.58, 0.80),
    "wsj-wbm": (0.52, 0.61, 0.80),
    "bst": (0.56, 0.74, 0.98),
    "wbm*": (0.59, 0.77, 0.98),
}
"""What the paper prints for its real data, by budget."""

TABLES: Mapping[int, tuple[str, ...]] = {
    1: ("wst", "gnr-rnd", "gnr-lru", "wsj-rnd", "wsj-lru", "bst"),
    2: ("wst", "wsj-rnd", "wsj-lru", "wsj-wbm", "wbm*"),
}


def jobs(data: str, *, quick: bool = False) -> list[Job]:
    """All policies and budgets; the ones that draw at random are run five times."""
    repeats = 1 if quick else REPEATS
    return [
        Job(
            data,
            "true",
            0,
            0,
            tuple(
                Contender(policy, budget, seed=seed)
                for policy in PRINTED
                for seed in range(repeats)
            ),
            EVALUATIONS,
        )
        for budget in BUDGETS
    ]


def summary(records: pa.Table) -> dict[str, Any]:
    """The mean accuracy over windows and repeats, next to the printed one."""
    means = records.group_by(["policy", "budget"]).aggregate([("accuracy", "mean")]).to_pylist()
    found = {(row["policy"], row["budget"]): row["accuracy_mean"] for row in means}
    return {
        "cells": [
            {
                "policy": policy,
                "budget": budget,
                "accuracy": found[policy, budget],
                "printed": value,
            }
            for policy, printed in PRINTED.items()
            for budget, value in zip(BUDGETS, printed, strict=True)
        ]
    }
