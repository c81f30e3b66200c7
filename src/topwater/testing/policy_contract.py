"""Whether a policy keeps its contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from topwater.model import (
    BoolArray,
    IntArray,
    Key,
    Millis,
)
from topwater.replica import Ranking, Refresher, RefreshSettings, WindowView
from topwater.replica.policies import Policy, resolve
from topwater.replica.proposals import Proposal, Proposer
from topwater.scoring import Formula
from topwater.testing.scripted_source import Scripted
from topwater.windows import sliding, tumbling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def check_policy(
    policy: str | Callable[[int], Policy],
    *,
    seeds: Iterable[int] = range(3),
    refresh_from: Iterable[Proposer] | None = None,
    steps: int = 15,
) -> None:
    """Run a policy against its contract, on seeded random workloads.

    Parameters
    ----------
    policy
        Its registry name, or what makes it from a seed.
    seeds
        One workload per seed and proposer.
    refresh_from
        Where to propose keys from: by default what the name says, or everywhere for a maker.
    steps
        How many windows to evaluate in each workload.

    Raises
    ------
    AssertionError
        Starting with the number of the clause that is broken.
    """
    named = isinstance(policy, str)
    places = refresh_from or ((None,) if named else ("candidates", "window", "replica"))
    for place in places:
        for seed in seeds:
            _PolicyTrial(policy, seed, place).run(steps)


class _PolicyTrial:
    """One workload, one policy in the loop, and twins that repeat each election."""

    def __init__(
        self, policy: str | Callable[[int], Policy], seed: int, place: Proposer | None
    ) -> None:
        self.policy = policy
        self.seed = seed
        self.rng = np.random.default_rng(seed)
        self.windows = tumbling("1 min") if seed % 3 == 2 else sliding("100 s", "60 s")
        names = np.arange(25)
        self.names = names.astype(str).astype(object) if seed % 2 else names
        self.settings = RefreshSettings(
            "remote",
            policy=policy if isinstance(policy, str) else "wbm",
            budget={"fetches": 3, "carry_over": seed % 2 == 1},  # type: ignore[arg-type]
            spare=4,
            refresh_from=place,
            limit=None if seed % 3 else 18,
            seed=seed,
        )
        self.knows = isinstance(policy, str) and resolve(policy)[0].needs_truth
        self.source = Scripted(self.script())
        self.loop = self.build(self.source)

    def script(self) -> dict[Key, list[tuple[Millis, float]]]:
        """Random values; some keys have none, or only later."""
        return {
            key: [
                (int(since), float(self.rng.normal()))
                for since in np.sort(self.rng.integers(0, 1_000_000, self.rng.integers(9)))
            ]
            for key in self.names.tolist()
        }

    def build(self, source: Scripted) -> Refresher:
        score = Formula("0.7 * stream + remote")
        loop = Refresher(self.settings, score, self.windows, 4, source, source.truth)
        if not isinstance(self.policy, str):
            loop.learners.policy = self.policy(self.seed)
        self.watch(loop.learners.policy, source)
        return loop

    def run(self, steps: int) -> None:
        for window in range(steps):
            view = self.view(window)
            table, meta = self.loop.snapshot()
            twins = []
            for values in (self.source.values, {} if self.knows else self.script()):
                source = Scripted(self.source.values if self.knows else values)
                source.now, source.failing = view.end, self.source.failing
                twin = self.build(source)
                twin.restore(table, meta)
                twins.append(twin.refresh(view).look_ups.keys.tolist())
            ranking = self.evaluated(view)
            self.demand(
                2, ranking.look_ups.keys.tolist() == twins[0], "a restart elects other keys"
            )
            self.demand(
                3, ranking.look_ups.keys.tolist() == twins[1], "other keys for other true values"
            )

    def view(self, window: int) -> WindowView:
        present = np.flatnonzero(self.rng.random(len(self.names)) < 0.5)
        closes = self.windows.window(window).end
        self.source.failing = set(self.rng.choice(self.names, 3).tolist())
        return WindowView(
            window,
            closes,
            self.names[present],
            {"stream": self.rng.integers(0, 3, len(present)).astype(np.float64)},
            closes - self.rng.integers(0, self.windows.width, len(present)),
        )

    def evaluated(self, view: WindowView) -> Ranking:
        self.source.now = view.end
        before = self.source.fetches
        ranking = self.loop.refresh(view)
        self.demand(
            3, self.source.fetches - before == len(ranking.look_ups.keys), "more was fetched"
        )
        return ranking

    def watch(self, policy: Policy, source: Scripted) -> None:
        """Look at each election from outside."""
        rank = policy.rank

        def watched(proposal: Proposal) -> IntArray:
            columns = _columns(proposal)
            before = {name: column.copy() for name, column in columns.items()}
            calls = len(source.calls)
            found = rank(proposal)
            self.demand(1, found.dtype.kind == "i" and found.ndim == 1, f"{found} are not rows")
            self.demand(1, len(np.unique(found)) == len(found), f"a row twice: {found}")
            inside: BoolArray = (found >= 0) & (found < len(proposal))
            self.demand(1, bool(inside.all()), f"not of {len(proposal)} rows: {found}")
            self.demand(2, np.array_equal(rank(proposal), found), "asked again, it ranks anew")
            self.demand(3, len(source.calls) == calls, "it fetched")
            for name, column in before.items():
                same = np.array_equal(column, columns[name], equal_nan=column.dtype.kind == "f")
                self.demand(3, same, f"it wrote {name}")
            return found

        setattr(policy, "rank", watched)  # noqa: B010  for the type checker

    def demand(self, clause: int, holds: bool, broken: str) -> None:
        assert holds, f"P{clause}: {broken}\n  ({self.settings}, {self.windows})"


def _columns(proposal: Proposal) -> dict[str, Any]:
    """All that is proposed, read in full."""
    names = (*proposal.columns, "slots", "position", "ranking", "inside")
    return {name: getattr(proposal, name) for name in names}
