"""What a micro-batch did, as maps of numbers: one from each task that answers or keeps a state.

They are made here and not by Spark, which would need time to plan each sum in every micro-batch. It
only gathers them as they leave the stateful stages, and the driver makes figures of a
:class:`~topwater.spark.Progress` of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from topwater.model import Counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from topwater.model import Answer, Freshness, Millis

Figures = dict[str, float]

_COUNTS = tuple(Counts.__slots__)
_FRESH = ("fetched", "failed", "bad", "missed", "nothing_usable", "out_of_reach", "doubtful")
_MEANS = (("precision", "estimated"), ("ndcg", "estimated"), ("audited", "audits"))
"""Of a mean there are the sum and the number."""
_MOST = ("candidates", "window_end", "value_age_ms", "closing_ms")
_STATE = ("came", "written", "held", "kept", "caught_up", "rebuilt")
_FIRST_END = "first_end"
_PROBLEM, _LEFT, _ASKED, _UNANSWERED = "problem ", "left ", "asked ", "unanswered "


def window_figures(answers: Iterable[Answer]) -> Figures:
    """What is reported of the windows that a task answered in a micro-batch."""
    found: Figures = defaultdict(float)
    for answer in answers:
        end = answer.window.end
        found["windows"] += 1
        found["window_end"] = max(end, found.get("window_end", end))
        found[_FIRST_END] = min(end, found.get(_FIRST_END, end))
        found["candidates"] = max(found["candidates"], answer.candidates)
        found["ranked"] += len(answer.rows)
        for name in _COUNTS:
            found[name] += getattr(answer.counts, name)
        for why, keys in answer.problems:
            found[_PROBLEM + why] += keys
        if answer.freshness is not None:
            _add_freshness(found, answer, answer.freshness)
    return dict(found)


def _add_freshness(found: Figures, answer: Answer, fresh: Freshness) -> None:
    ages = [row.age for row in answer.rows if row.age is not None]
    found["known"] += len(ages)
    if ages:
        found["value_age_ms"] = max(*ages, found.get("value_age_ms", 0))
    found["estimated"] += 1
    for name in (*_FRESH, "precision", "ndcg"):
        found[name] += getattr(fresh, name)
    if fresh.audited is not None:
        found["audits"] += 1
        found["audited"] += fresh.audited
    if answer.spent is not None:
        found["cost"] += answer.spent
    for name, amount in answer.left:
        found[_LEFT + name] = min(amount, found.get(_LEFT + name, amount))


def source_figures(tally: Mapping[str, Sequence[int]]) -> Figures:
    """How many keys each source was asked for, and did not answer, as a shard reports it."""
    asked: Figures = {f"{_ASKED}{name}": keys for name, (keys, _) in tally.items()}
    return asked | {f"{_UNANSWERED}{name}": lost for name, (_, lost) in tally.items()}


def progress_figures(figures: Sequence[Mapping[str, float]], done: Millis) -> dict[str, Any]:
    """The maps of all tasks, as figures of a :class:`~topwater.spark.Progress`.

    Parameters
    ----------
    figures
        What each of them reported.
    done
        When the micro-batch was done.

    Examples
    --------
    >>> shards = [{"windows": 1, "window_end": 6_000, "first_end": 6_000}, {"held": 7, "kept": 1}]
    >>> found = progress_figures(shards, 7_500)
    >>> [found[name] for name in ("windows", "window_end", "delay_ms", "state_held")]
    [1, 6000, 1500, 7]
    """
    summed: Counter[str] = Counter()
    for each in figures:
        summed.update(each)
    whole = {name: int(summed[name]) for name in ("windows", "ranked", "known", *_COUNTS, *_FRESH)}
    found: dict[str, Any] = whole | {f"state_{name}": int(summed[name]) for name in _STATE}
    found["bad_values"] = found.pop("bad")
    for name in _MOST:
        told = [each[name] for each in figures if name in each]
        found |= {name: int(max(told))} if told else {}
    for name, number in _MEANS:
        found[name] = summed[name] / summed[number] if summed[number] else None
    ends = [each[_FIRST_END] for each in figures if _FIRST_END in each]
    if ends:
        found["delay_ms"] = done - int(min(ends))
    problems = _named(summed, _PROBLEM)
    found["problems"] = {why: int(problems[why]) for why in sorted(problems)}
    if "cost" in summed:
        found["cost"] = summed["cost"]
        found["left"] = _least(figures)
        for name, prefix in (("asked", _ASKED), ("unanswered", _UNANSWERED)):
            found[name] = {source: int(keys) for source, keys in _named(summed, prefix).items()}
    return found


def _named(figures: Mapping[str, float], prefix: str) -> dict[str, float]:
    return {
        name.removeprefix(prefix): value
        for name, value in figures.items()
        if name.startswith(prefix)
    }


def _least(figures: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """What is left of each quota; groups with one purse say one after the other what it is."""
    found: dict[str, float] = {}
    for each in figures:
        for name, amount in _named(each, _LEFT).items():
            found[name] = min(amount, found.get(name, amount))
    return found
