"""How much a list for changing scores loses, on a seeded stream like that of the AcquaTop paper."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import numpy as np

from tests.support.everything import Everything
from topwater.candidates.rescorable import build
from topwater.windows import Windows


def losses(
    spare: int,
    changes: int,
    where: Literal["kept", "window"],
    *,
    name: str = "panes+n",
    k: int = 5,
    evaluations: int = 150,
    seed: int = 1,
) -> Counter[str]:
    """Count answers over windows of 100 s that move by 60 s, about 38 events of 400 users each.

    At each evaluation ``changes`` remote values change, of keys that are kept, or of any keys in
    the window. ``claimed`` answers say that they are exact; ``right`` ones are; ``right set``
    ones hold the right keys; ``missing`` counts keys that should have been there.
    """
    rng = np.random.default_rng([seed, spare, changes])
    windows = Windows(100, 60)
    weight = 1 / np.arange(1, 401)
    users = rng.permutation(400)
    all_of_it = Everything(windows, {user: float(rng.random()) for user in range(400)})
    lst = build(name, windows, k, spare)
    found: Counter[str] = Counter()
    for window in range(evaluations):
        closes = windows.window(window).end
        since = closes - (60 if window else 100)
        times = np.sort(rng.integers(since + 1, closes + 1, size=(closes - since) * 38 // 100))
        who = users[rng.choice(400, size=len(times), p=weight / weight.sum())]
        parts = rng.random(len(times))
        events = zip(times.tolist(), who.tolist(), parts.tolist(), strict=True)
        all_of_it.arrive(events, lst)
        ranking = all_of_it.ranking(window)
        pool = lst.known(window).key.tolist() if where == "kept" else [r[2] for r in ranking]
        chosen = rng.permutation(pool)[:changes].tolist()
        all_of_it.change({key: float(rng.random()) for key in chosen}, lst)
        right = all_of_it.ranking(window)[:k]
        top = lst.top(window)
        keys = {row[2] for row in right}
        shown = list(zip(top.score.tolist(), top.time.tolist(), top.key.tolist(), strict=True))
        found["answers"] += 1
        found["claimed"] += lst.exact(window)
        found["claimed set"] += lst.exact_set(window)
        found["claimed and wrong"] += lst.exact(window) and shown != right
        found["right"] += shown == right
        found["right set"] += keys == set(top.key.tolist())
        found["missing"] += len(keys - set(top.key.tolist()))
        lst.expire(window)
    return found


if __name__ == "__main__":
    for where in ("kept", "window"):
        for changes in (3, 7, 15):
            for spare in (0, 5, 10, 20):
                total: Counter[str] = Counter()
                for seed in range(5):
                    total += losses(spare, changes, where, seed=seed)
                share = {name: f"{100 * n / total['answers']:.1f}" for name, n in total.items()}
                print(where, "changes", changes, "spare", spare, share)
