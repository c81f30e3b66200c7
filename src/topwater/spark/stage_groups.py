"""Which stateful stages of a checkpoint belong to which ranking.

Spark numbers them in the order of the plan, from its last step to the first and from left to right.
A ranking has one stage for its shards; where shards rank together, a second one comes right before
it in that order. A stage to which no row has come yet tells nothing of itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["whole", "parts", "joint", "unknown"]
"""Shards that answer; shards that offer to a joint ranking, and that ranking; or nothing known."""


class Stage(NamedTuple):
    """A stateful stage of ours.

    Attributes
    ----------
    number
        The one that Spark gave it.
    kind
        What it was found to be.
    """

    number: int
    kind: Kind


def stage_groups(stages: Sequence[Stage], joint: Sequence[bool] = ()) -> list[tuple[int, ...]]:
    """The numbers of the stages of each ranking, in the order of the plan.

    Parameters
    ----------
    stages
        In the order of their numbers.
    joint
        Whether each ranking has a second stage now: it decides where nothing is known.

    Examples
    --------
    >>> stage_groups([Stage(0, "joint"), Stage(1, "parts"), Stage(2, "whole")])
    [(0, 1), (2,)]
    >>> silent = [Stage(0, "unknown"), Stage(1, "unknown")]
    >>> stage_groups(silent), stage_groups(silent, [True])
    ([(0,), (1,)], [(0, 1)])
    """
    found: list[tuple[int, ...]] = []
    at = 0
    while at < len(stages):
        behind: Kind | None = stages[at + 1].kind if at + 1 < len(stages) else None
        now = len(found) < len(joint) and joint[len(found)]
        width = 1 + _has_second(stages[at].kind, behind, now=now)
        found.append(tuple(each.number for each in stages[at : at + width]))
        at += width
    return found


def _has_second(kind: Kind, behind: Kind | None, *, now: bool) -> bool:
    if kind == "unknown" and behind == "unknown":
        return now
    return kind == "joint" or (kind == "unknown" and behind == "parts")
