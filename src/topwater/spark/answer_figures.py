"""What a micro-batch did, as one map of numbers from each task that answers.

Spark observes nothing but a list of these maps, and they are added up on the driver. It plans every
micro-batch anew, and planning an aggregate for each number took longer than answering.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from topwater.model import Counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from topwater.model import Answer

Figures = dict[str, float]

_COUNTS = tuple(field.name for field in fields(Counts))
_ADDED = ("fetched", "failed", "bad", "missed", "nothing_usable", "out_of_reach", "doubtful")
_AVERAGED = ("precision", "ndcg", "audited")
_GREATEST = ("candidates", "closing_ms")
_STATE = ("came", "written", "held", "kept", "caught_up", "rebuilt")
_TIMES = "times "  # how many answers have a number of which the mean is told
_PROBLEM = "problem "
_NAMED = {"bad": "bad_values"} | {name: f"state_{name}" for name in _STATE}


def figures_of(answers: Iterable[Answer]) -> Figures:
    """The numbers of answers, so that those of several tasks can be added up."""
    found: Counter[str] = Counter()
    candidates = 0
    for answer in answers:
        found["windows"] += 1
        found.update(asdict(answer.counts))
        found.update({f"{_PROBLEM}{why}": count for why, count in answer.problems})
        candidates = max(candidates, answer.candidates)
        fresh = answer.freshness
        if fresh is None:
            continue
        found.update({name: int(getattr(fresh, name)) for name in _ADDED})
        for name in _AVERAGED:
            if (value := getattr(fresh, name)) is not None:
                found[name] += value
                found[f"{_TIMES}{name}"] += 1
    return {name: float(value) for name, value in found.items()} | {"candidates": float(candidates)}


def added_up(figures: Iterable[Mapping[str, float]]) -> dict[str, Any]:
    """The figures of all tasks, by the names of :class:`~topwater.spark.Progress`."""
    total: Counter[str] = Counter()
    greatest = dict.fromkeys(_GREATEST, 0.0)
    for each in figures:
        total.update({name: value for name, value in each.items() if name not in greatest})
        greatest = {name: max(most, each.get(name, 0)) for name, most in greatest.items()}
    means = {name: total[name] / times for name in _AVERAGED if (times := total[f"{_TIMES}{name}"])}
    problems = {name: value for name, value in total.items() if name.startswith(_PROBLEM)}
    whole = {name: total[name] for name in ("windows", *_COUNTS, *_ADDED, *_STATE) if name in total}
    return {
        **{_NAMED.get(name, name): int(value) for name, value in (whole | greatest).items()},
        **means,
        "problems": {name.removeprefix(_PROBLEM): int(problems[name]) for name in sorted(problems)},
    }
