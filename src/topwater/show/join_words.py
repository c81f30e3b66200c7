"""Several remote values in words: where they come from, what they cost, what may be wrong."""

from __future__ import annotations

from collections.abc import Iterator

from topwater.replica.joins.join import Join
from topwater.replica.joins.join_settings import JoinSettings
from topwater.validation import size_text


def join_lines(settings: JoinSettings, key: str) -> Iterator[str]:
    r"""What each look-up brings, and what all of them may cost.

    Examples
    --------
    >>> joins = [{"remote": ["price", "stock"], "from": "shop"},
    ...          {"remote": "trust", "from": "vendors", "key": "vendor", "cost": 5}]
    >>> print(*join_lines(JoinSettings.of(joins, 100), "product"), sep="\n")
    price and stock of each product, from shop
    trust of each vendor, from vendors: 5 a look-up
    100 a window, spent where it is worth most for its cost
    """
    for join in settings.joins:
        costs = ", ".join(_costs(join))
        named = f"{' and '.join(join.remote)} of each {join.key or key}, from {join.source}"
        yield f"{named}: {costs}" if costs else named
    if settings.budget.unlimited:
        yield "no limit: everything that can matter is read for each answer"
        return
    groups = ", all groups together" if settings.budget.over == "all" else ""
    yield f"{settings.budget.in_words}{groups}, spent where it is worth most for its cost"


def _costs(join: Join) -> Iterator[str]:
    if join.cost != 1:
        yield f"{join.cost:g} a look-up"
    if join.request_cost:
        yield f"{join.request_cost:g} a request beside that"
    for each, amount in join.per.items():
        yield f"at most {amount:,g} in {each}"


def memory_line(settings: JoinSettings) -> str:
    """What is remembered of the sources."""
    if settings.memory is None:
        return "and replicas of all that was looked up, without a limit"
    most = size_text(settings.memory)
    return f"and replicas, at most {most}: beyond it what was longest unseen is forgotten"


def uncertain(settings: JoinSettings) -> Iterator[str]:
    """What of an answer may be wrong."""
    names = ", ".join(settings.names)
    yield (
        f"{names}: what is not looked up for a window keeps the last value that came, and each row "
        "says of each value how old it is"
    )
    yield "a value that was never looked up is taken for the median of the known ones"
    yield "each answer carries an estimate of how accurate it is"
