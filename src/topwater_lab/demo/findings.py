"""What the demo found: every figure that is told anywhere, in one value."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from topwater.local import run as run_locally
from topwater.model import Answer
from topwater_lab.demo.contenders import (
    METRICS,
    Contender,
    Field,
    Metric,
    Rung,
    contest,
    judged,
    mean,
    needed,
)
from topwater_lab.demo.scene import Scene, Traffic

_PACKAGES = ("topwater", "pyspark", "pyarrow", "numpy", "httpx")


@dataclass(frozen=True, slots=True)
class LookedUp:
    """What the look-ups brought, all together.

    Attributes
    ----------
    keys, first, changed, same, lost
        How many there were; those of users never asked for before; those that found another
        value; those that found the one that was known; and those that were not answered.
    windows, better, worse
        In how many windows they changed the answer's nDCG: for the better, for the worse.
    without
        The mean nDCG, had no window used its own look-ups.
    """

    keys: int = 0
    first: int = 0
    changed: int = 0
    same: int = 0
    lost: int = 0
    windows: int = 0
    better: int = 0
    worse: int = 0
    without: float = 0.0


@dataclass(frozen=True, slots=True)
class Report:
    """What the demo did, and how right its answers were.

    Attributes
    ----------
    scene
        What was played.
    answers, ours
        The answers on Spark, and how right they were.
    others, rungs
        The others with the same budget, and all with other budgets.
    differing
        How many windows were not answered as the same query in process does.
    looked_up
        What the look-ups brought.
    traffic
        What the service saw; None if there was none.
    seconds
        How long each step took; those in the background ran beside others.
    """

    scene: Scene
    answers: tuple[Answer, ...]
    ours: Contender
    others: Field
    rungs: tuple[Rung, ...] = ()
    differing: int = 0
    looked_up: LookedUp = field(default_factory=LookedUp)
    traffic: Traffic | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """Ours first, then the others as they are told."""
        return self.ours, *self.others.best_of_each

    @property
    def said(self) -> float:
        """What precision the answers said they had, on average."""
        return mean(each.freshness.precision for each in self.answers if each.freshness)

    def needed(self, kind: str, metric: Metric) -> Rung | None:
        """What others need for what ours has; None if no budget that was tried is enough."""
        return needed(self.rungs, kind, metric, getattr(self.ours, metric))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        table = self.others.table
        everyone = (
            self.ours,
            *self.others.published,
            *self.others.caches,
            table,
            self.others.everything,
        )
        return {
            "scene": asdict(self.scene),
            "windows": len(self.answers),
            "differing": self.differing,
            "shown": [each.name for each in (self.ours, *self.others.finalists)],
            "standings": [_standing(each, table) for each in everyone],
            "said_precision": self.said,
            "looked_up": asdict(self.looked_up),
            "needed": {kind: _needs(self, kind) for kind in ("published", "cache")},
            "rungs": [
                {"kind": rung.kind, "budget": rung.budget, **rung.contender.to_dict()}
                for rung in self.rungs
            ],
            "service": None if self.traffic is None else asdict(self.traffic),
            "seconds": dict(self.seconds),
            "versions": versions(),
        }


def _standing(each: Contender, table: Contender) -> dict[str, Any]:
    gains = {f"{metric}_won_per_fetch": each.gain(metric, over=table) for metric in METRICS}
    return each.to_dict() | gains


def _needs(report: Report, kind: str) -> dict[str, Any]:
    found = {metric: report.needed(kind, metric) for metric in METRICS}
    return {
        metric: None if rung is None else {"budget": rung.budget, **rung.contender.to_dict()}
        for metric, rung in found.items()
    }


def made(
    scene: Scene,
    found: Sequence[Answer],
    others: Field,
    rungs: Sequence[Rung] = (),
    traffic: Traffic | None = None,
) -> Report:
    """The answers against the truth, against the others, and against the same query in process."""
    given = {answer.window.index: answer for answer in found}
    local = {
        answer.window.index: answer
        for answer in run_locally(scene.query(), scene.batches(), source=scene.source())
        if answer.window.index < scene.windows
    }
    repeated = len(found) - len(given)
    differing = sum(local.get(each) != given.get(each) for each in local.keys() | given.keys())
    ours = Contender(scene.policy, tuple(judged(scene, answer) for answer in found))
    return Report(
        scene=scene,
        answers=tuple(found),
        ours=ours,
        others=others,
        rungs=tuple(rungs),
        differing=differing + repeated,
        looked_up=_looked_up(found, contest(scene, scene.policy)),
        traffic=traffic,
    )


def _looked_up(found: Sequence[Answer], twin: Contender) -> LookedUp:
    """What was fetched, and what the same windows would have been like without."""
    each = [look_up for answer in found for look_up in answer.looked_up]
    fresh = [answer.freshness for answer in found if answer.freshness is not None]
    answered = [look_up for look_up in each if look_up.ok]
    gains = [window.ndcg - (window.unfetched or 0.0) for window in twin.windows]
    return LookedUp(
        keys=sum(answer.fetched for answer in fresh),
        first=sum(look_up.before is None for look_up in answered),
        changed=sum(look_up.changed and look_up.before is not None for look_up in answered),
        same=sum(not look_up.changed for look_up in answered),
        lost=sum(answer.failed for answer in fresh),
        windows=len(gains),
        better=sum(gain > 1e-9 for gain in gains),
        worse=sum(gain < -1e-9 for gain in gains),
        without=mean(window.unfetched or 0.0 for window in twin.windows),
    )


def versions() -> dict[str, str]:
    """What ran: Python, the machine, and the packages that matter."""
    found = {"Python": platform.python_version(), "machine": platform.platform(terse=True)}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
