"""Which ads bring most in which country: views of a stream, rates and bids of a feature store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from redis import Redis

from topwater import Answer, TopKQuery, remote, run, sliding

MINUTE, MINUTES, VIEWS = 60_000, 30, 500
CAMPAIGNS = [f"campaign {each}" for each in range(25)]
COUNTRIES = ["DE", "FR", "IT", "PL", "SE", "ES", "AT", "NL"]
QUERY: dict[str, Any] = {
    "key": ("campaign", "country"),
    "time": "at",
    "window": sliding("5 min", "1 min"),
    "k": 4,
    "take": {"views": "count"},
    "score": "views * rate * bid",
    "where": "bid > 0",
    "refresh": [{"remote": ["rate", "bid"], "from": "features"}],
}
NAME = "topwater-example:{campaign}:{country}"


class Store:
    """Made-up features, which change from minute to minute."""

    def __init__(self, url: str) -> None:
        self._redis = Redis.from_url(url)
        self._rng = np.random.default_rng(11)
        self._pairs = [(each, country) for each in CAMPAIGNS for country in COUNTRIES]
        self._names = [NAME.format(campaign=one, country=two) for one, two in self._pairs]
        self._rates = self._rng.gamma(2, 0.01, len(self._pairs))
        self._bids = self._rng.choice([0, 0.1, 0.2, 0.5, 1], len(self._pairs))
        self._write(range(len(self._pairs)))

    def _write(self, places: Any) -> None:
        with self._redis.pipeline() as pipeline:
            for at in places:
                told = {"rate": float(self._rates[at]), "bid": float(self._bids[at])}
                pipeline.hset(self._names[at], mapping=told)
            pipeline.execute()

    def batches(self) -> Iterator[dict[str, Any]]:
        """The views of each minute, and what the store has learnt meanwhile."""
        share = 1 / np.arange(10, len(self._pairs) + 10)
        order = self._rng.permutation(len(self._pairs))
        for minute in range(MINUTES):
            changed = self._rng.choice(len(self._pairs), 40, replace=False)
            self._rates[changed] *= self._rng.lognormal(0, 0.5, len(changed))
            self._write(changed.tolist())
            seen = order[self._rng.choice(len(self._pairs), VIEWS, p=share / share.sum())]
            yield {
                "campaign": [self._pairs[each][0] for each in seen],
                "country": [self._pairs[each][1] for each in seen],
                "at": minute * MINUTE + np.sort(self._rng.integers(1, MINUTE, VIEWS)),
            }

    def close(self) -> None:
        """Leave nothing behind."""
        self._redis.delete(*self._names)
        self._redis.close()


def answers(url: str, budget: Any) -> list[Answer]:
    """All answers of a new store."""
    store = Store(url)
    source = remote.redis(url, key=NAME, parts=["campaign", "country"], value=["rate", "bid"])
    try:
        query = TopKQuery(**QUERY, budget=budget)
        return list(run(query, store.batches(), sources={"features": source}))
    finally:
        source.close()
        store.close()


def show(answer: Answer) -> None:
    """One window."""
    print(f"minute {answer.window.end // MINUTE}: {answer.spent:.0f} look-ups")
    for row in answer.rows:
        (campaign, country), rate = row.key, row.remotes["rate"]
        about = (
            f"{row.values[0]:.0f} views, rate {rate.value:.3f} of {(rate.age or 0) // 1000} s ago"
        )
        print(f"  {row.rank}. {campaign:<12} {country}{row.score:>7.2f}  {about}")


def main() -> None:
    """Rank with ten look-ups a minute, and again with one for each ad that was seen."""
    url = os.environ["FEATURE_STORE"]
    found, truth = answers(url, 10), answers(url, None)
    for answer in found:
        if answer.window.end // MINUTE in (10, 20, 30):
            show(answer)
    shares = [len({*a.keys} & {*b.keys}) / len(b.keys) for a, b in zip(found, truth, strict=True)]
    spent, whole = (sum(each.spent or 0 for each in every) for every in (found, truth))
    right = f"{np.mean(shares):.0%} of the rows are right"
    print(f"{right}, with {spent:.0f} look-ups instead of {whole:,.0f}")


if __name__ == "__main__":
    main()
