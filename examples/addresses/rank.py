"""Which addresses to look at first: hits, times how they behave elsewhere, times whose they are."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from services import serving

from topwater import Answer, TopKQuery, remote, run, sliding

MINUTE, MINUTES, HITS = 60_000, 30, 400
OWNERS = ["Lakeside Hosting", "Hill Telecom", "Northern University", "Old Mill Broadband"]
QUERY: dict[str, Any] = {
    "key": "ip",
    "time": "at",
    "window": sliding("5 min", "1 min"),
    "k": 3,
    "take": {"hits": "count", "network": "last(network)"},
    "score": "hits * abuse * risk",
    "where": "abuse >= 20",
}
LIMITED: list[dict[str, Any]] = [
    {"remote": "abuse", "from": "reports", "per": {"1 min": 12, "1 day": 10_000}},
    {"remote": ["risk", "owner"], "from": "registry", "key": "network", "per": {"1 min": 3}},
]
FREE = [{name: each[name] for name in each if name != "per"} for each in LIMITED]


class World:
    """Made-up addresses: what they do, and what others know of them."""

    def __init__(self) -> None:
        rng = np.random.default_rng(7)
        self.ips = [f"10.{each // 20}.0.{each % 20}" for each in range(300)]
        self.networks = [f"10.{each}.0.0/24" for each in range(15)]
        self.abuse = rng.integers(0, 60, len(self.ips))
        self.later = np.clip(self.abuse + rng.integers(-30, 90, len(self.ips)), 0, 100)
        self.changes = rng.integers(0, 2 * MINUTES, len(self.ips)) * MINUTE
        self.risk = rng.integers(2, 11, len(self.networks)) / 10
        share = 1 / np.arange(3, len(self.ips) + 3)
        order = rng.permutation(len(self.ips))
        who = order[rng.choice(len(self.ips), (MINUTES, HITS), p=share / share.sum())]
        at = np.sort(rng.integers(1, MINUTE, (MINUTES, HITS)), axis=1)
        self.batches = [
            {
                "ip": [self.ips[each] for each in row],
                "network": [self.networks[each // 20] for each in row],
                "at": number * MINUTE + times,
            }
            for number, (row, times) in enumerate(zip(who, at, strict=True))
        ]

    def reports(self, ips: list[str], at: int) -> list[dict[str, Any]]:
        """How often others reported addresses, as of a moment."""
        found = [self.ips.index(ip) for ip in ips]
        level = [self.later[n] if at >= self.changes[n] else self.abuse[n] for n in found]
        return [{"ip": ip, "abuse": int(each)} for ip, each in zip(ips, level, strict=True)]

    def registry(self, networks: list[str], _at: int) -> list[dict[str, Any]]:
        """Whose networks are, and what is held of the owner."""
        found = [self.networks.index(network) for network in networks]
        return [
            {"network": name, "risk": self.risk[n], "owner": OWNERS[n % len(OWNERS)]}
            for name, n in zip(networks, found, strict=True)
        ]


def answers(world: World, url: str, **changes: Any) -> list[Answer]:
    """All answers, with sources as a client of these services would write them."""
    sources = {
        "reports": remote.http(
            url + "/reports?keys={keys}&at={now}",
            key="[*].ip",
            value={"abuse": "[*].abuse"},
            headers={"Authorization": "Bearer ${REPORTS_KEY}"},
        ),
        "registry": remote.http(
            url + "/registry?keys={keys}&at={now}",
            key="[*].network",
            value={"risk": "[*].risk"},
            text={"owner": "[*].owner"},
            headers={"Authorization": "Bearer ${REGISTRY_KEY}"},
        ),
    }
    return list(run(TopKQuery(**QUERY, **changes), world.batches, sources=sources))


def show(answer: Answer) -> None:
    """One window."""
    left = ", ".join(f"{name} {amount:.0f}" for name, amount in answer.left)
    print(f"minute {answer.window.end // MINUTE}: {answer.spent:.0f} look-ups; left: {left}")
    for row in answer.rows:
        abuse, risk, owner = (row.remotes[name].value for name in ("abuse", "risk", "owner"))
        about = f"{row.values[0]:.0f} hits, abuse {abuse:.0f}, risk {risk}, {owner}"
        print(f"  {row.rank}. {row.key:<11}{row.score:>8.1f}  {about}")


def main() -> None:
    """Rank with the quotas of the services, and again without any."""
    os.environ.setdefault("REPORTS_KEY", "of the reports")
    os.environ.setdefault("REGISTRY_KEY", "of the registry")
    world = World()
    routes = {
        "/reports": (os.environ["REPORTS_KEY"], world.reports),
        "/registry": (os.environ["REGISTRY_KEY"], world.registry),
    }
    with serving(routes) as url:
        found = answers(world, url, refresh=LIMITED, budget={"cost": 15})
        truth = answers(world, url, refresh=FREE, budget=None)
    for answer in found:
        if answer.window.end // MINUTE in (10, 20, 30):
            show(answer)
    shares = [len({*a.keys} & {*b.keys}) / len(b.keys) for a, b in zip(found, truth, strict=True)]
    spent, whole = (sum(each.spent or 0 for each in every) for every in (found, truth))
    right = f"{np.mean(shares):.0%} of the rows are right"
    print(f"{right}, with {spent:.0f} look-ups instead of {whole:,.0f}")


if __name__ == "__main__":
    main()
