"""The rankings of one streaming query: what Spark calls each, and what its plan says of them.

A query may have several: side by side in a union, or one over the answers of another. Spark wants
a name of its own for the metrics of each, and numbers their states in the order of the plan.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from topwater.errors import QueryError
from topwater.query import TopKQuery
from topwater.spark.running_query import nodes_of, plan_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OBSERVED = "topwater"
"""How the names of the metrics begin that Spark observes; and what a result's schema says of its
query is called so."""

_NAMED, _NUMBERED = f"{OBSERVED}.", f"{OBSERVED}#"
_METRICS = "CollectMetrics"
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class PlannedRanking:
    """What makes some rows: a query, or standing queries that began so; and how many shards.

    Attributes
    ----------
    query, begun
        One of them is None.
    shards, origin
        See :class:`topwater.spark.state.ShardState`.
    name
        As given.
    label
        What it is called where there are several, as in metrics; a single one may have none.
    """

    query: TopKQuery | None
    begun: str | None
    shards: int
    origin: str = ""
    name: str = ""
    label: str = ""

    @property
    def where(self) -> str:
        """Where its state is, in words, before the name of a checkpoint."""
        return f"the ranking {self.label!r} of " if self.label else ""


def observed_name(name: str) -> str:
    """What Spark is to call the metrics of a ranking.

    Those without a name get a number, so that any two of them may be in one query.

    Examples
    --------
    >>> observed_name("regions")
    'topwater.regions'
    """
    return f"{_NAMED}{name}" if name else f"{_NUMBERED}{next(_numbers)}"


def ranking_labels(observed: Iterable[str]) -> dict[str, str]:
    """By what Spark calls their metrics: what the rankings of one query are called, in order.

    A single one needs no name. Of several without a name the first that was made is ``#1``.

    Examples
    --------
    >>> ranking_labels(["topwater#12", "mine", "topwater.regions", "topwater#9"])
    {'topwater.regions': 'regions', 'topwater#9': '#1', 'topwater#12': '#2'}
    >>> ranking_labels(["topwater#12"])
    {'topwater#12': ''}
    """
    ours = [each for each in observed if is_ours(each)]
    named = sorted(each for each in ours if each.startswith(_NAMED))
    others = sorted((each for each in ours if each not in named), key=_number)
    found = {each: each.removeprefix(_NAMED) for each in named}
    for at, each in enumerate(others, 1):
        found[each] = f"#{at}" if len(ours) > 1 else ""
    return found


def is_ours(observed: str) -> bool:
    """Whether metrics of this name are those of a ranking."""
    return observed == OBSERVED or observed.startswith((_NAMED, _NUMBERED))


def _number(observed: str) -> int:
    number = observed.removeprefix(_NUMBERED)
    return int(number) if number.isdecimal() else 0


def rankings_in(answers: DataFrame) -> list[PlannedRanking]:
    """The rankings that make some rows, in the order of the plan: from the last step to the first.

    Raises
    ------
    QueryError
        If there are none, or one is there twice.
    """
    found: list[tuple[str, PlannedRanking]] = []
    for node in nodes_of(plan_of(answers)):
        if node.nodeName() == _METRICS and is_ours(node.name()):
            about = node.metrics().apply(0).metadata()
            if about.contains(OBSERVED):
                made = _ranking(json.loads(about.getMetadata(OBSERVED).json()))
                found.append((node.name(), made))
    if not found:
        found = [(OBSERVED, _of_schema(answers))]
    labels = ranking_labels(name for name, _ in found)
    if len(labels) < len(found):
        raise QueryError(
            "the same ranking is twice in these rows, and would have two states",
            field="answers",
            fix="call topk() or standing() for each, with a name=",
        )
    return [replace(made, label=labels[name]) for name, made in found]


def _of_schema(answers: DataFrame) -> PlannedRanking:
    """The ranking that the columns name, where the plan can't be seen."""
    for column in answers.schema:
        if OBSERVED in column.metadata:
            return _ranking(column.metadata[OBSERVED])
    raise QueryError(
        "these rows were not made by topk() or standing()",
        field="answers",
        fix="pass what one of them gave, or start these with writeStream",
    )


def _ranking(about: Mapping[str, Any]) -> PlannedRanking:
    query = about.get("query")
    return PlannedRanking(
        None if query is None else TopKQuery.from_json(query),
        about.get("begun"),
        int(about["shards"]),
        about.get("origin", ""),
        about.get("name", ""),
    )
