"""What is observed of answers beside counts: how late, how well known, and what is left to spend.

Spark gathers it from the rows as they leave the stateful stage; the listener makes figures of a
:class:`~topwater.spark.Progress` from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from topwater.spark.answer_rows import ANSWER

if TYPE_CHECKING:
    from pyspark.sql import Column

    from topwater.model import Millis
    from topwater.query import TopKQuery

_PURSE = "purse"
_PURSE_TYPE = "spent double, left map<string,double>"
_ASKED, _UNANSWERED = "asked ", "unanswered "


def answer_columns(query: TopKQuery) -> list[Column]:
    """What Spark is to observe of the answers of a query, in every micro-batch."""
    answer = F.col("kind") == ANSWER
    found = [
        F.max("window_end").alias("window_end"),
        F.min("window_end").alias("first_end"),
        F.sum(F.when(answer, F.size("key"))).alias("ranked"),
    ]
    if query.refresh is not None:
        known = F.size(F.filter("age", lambda age: age.isNotNull()))
        found += [
            F.sum(F.when(answer, known)).alias("known"),
            F.max(F.when(answer, F.array_max("age"))).alias("value_age_ms"),
        ]
    if query.joins is not None:
        purse = F.from_json("extras", _PURSE_TYPE)
        found.append(F.collect_list(F.when(answer, purse)).alias(_PURSE))
    return found


def answer_figures(
    seen: Mapping[str, Any], done: Millis, shards: Sequence[Mapping[str, int]] = ()
) -> dict[str, Any]:
    """The same as figures of a :class:`~topwater.spark.Progress`.

    Parameters
    ----------
    seen
        What Spark observed, by name.
    done
        When the micro-batch was.
    shards
        What each shard reported.

    Examples
    --------
    >>> answer_figures({"window_end": 9_000, "first_end": 6_000, "ranked": 4}, 10_500)
    {'window_end': 9000, 'delay_ms': 4500, 'ranked': 4}
    """
    names = ("window_end", "ranked", "known", "value_age_ms")
    found = {name: seen[name] for name in names if seen.get(name) is not None}
    if seen.get("first_end") is not None:
        found = {
            "window_end": found.pop("window_end"),
            "delay_ms": done - seen["first_end"],
        } | found
    purses = seen.get(_PURSE)
    if purses is not None:
        found |= by_source(shards)
        found["cost"] = sum(each["spent"] or 0.0 for each in purses)
        found["left"] = _least([each["left"] or {} for each in purses])
    return found


def _least(lefts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """What is left of each quota after the answers of a micro-batch."""
    found: dict[str, float] = {}
    for left in lefts:
        for name, amount in left.items():
            found[name] = min(amount, found.get(name, amount))
    return found


def source_figures(tally: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """How many keys each source was asked for, and did not answer, as a shard reports it."""
    told = {f"{_ASKED}{name}": asked for name, (asked, _) in tally.items()}
    return told | {f"{_UNANSWERED}{name}": lost for name, (_, lost) in tally.items()}


def by_source(figures: Sequence[Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """The same of all shards, by source.

    Examples
    --------
    >>> by_source([source_figures({"shop": (5, 1)}), source_figures({"shop": (2, 0)})])
    {'asked': {'shop': 7}, 'unanswered': {'shop': 1}}
    """
    asked: Counter[str] = Counter()
    unanswered: Counter[str] = Counter()
    for each in figures:
        for name, count in each.items():
            for prefix, sums in ((_ASKED, asked), (_UNANSWERED, unanswered)):
                if name.startswith(prefix):
                    sums[name.removeprefix(prefix)] += count
    return {"asked": dict(asked), "unanswered": dict(unanswered)}
