"""Which alarms to go to first: how bad each is, times how much its asset matters."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import sqlalchemy as sql

from topwater import Answer, TopKQuery, remote, run, tumbling

MINUTE, MINUTES, ALARMS, ASSETS = 60_000, 20, 60, 40
SITES = ["pump house", "boiler", "mill", "quay"]
QUERY: dict[str, Any] = {
    "key": "alarm",
    "time": "at",
    "window": tumbling("2 min"),
    "k": 4,
    "take": {"severity": "max(severity)", "asset": "last(asset)"},
    "score": "severity * weight * (1 + orders)",
    "refresh": [{"remote": ["weight", "orders", "site"], "from": "assets", "key": "asset"}],
}
TABLE = "topwater_example_orders"


class Plant:
    """A made-up plant: its work orders, each for an asset, in a database."""

    def __init__(self, url: str) -> None:
        self._engine = sql.create_engine(url)
        self._rng = np.random.default_rng(5)
        columns = "asset text, weight double precision, site text, open integer"
        with self._engine.begin() as database:
            database.execute(sql.text(f"drop table if exists {TABLE}"))
            database.execute(sql.text(f"create table {TABLE} ({columns})"))
            for _ in range(2):  # so that many assets have several orders
                self._order(database, range(ASSETS))

    def _order(self, database: sql.Connection, assets: Any) -> None:
        insert = f"insert into {TABLE} values (:asset, :weight, :site, :open)"  # noqa: S608
        rows = [
            {
                "asset": f"asset {each}",
                "weight": 1 + each * 7 % 10,
                "site": SITES[each % len(SITES)],
                "open": int(self._rng.integers(0, 2)),
            }
            for each in assets
        ]
        database.execute(sql.text(insert), rows)

    def batches(self) -> Iterator[dict[str, Any]]:
        """The alarms of each minute, of many devices on few assets, and a few new orders."""
        for minute in range(MINUTES):
            devices = self._rng.integers(0, 400, ALARMS)
            with self._engine.begin() as database:
                self._order(database, self._rng.integers(0, ASSETS, 3).tolist())
            yield {
                "alarm": [f"device {each}" for each in devices],
                "asset": [f"asset {each % ASSETS}" for each in devices],
                "severity": self._rng.integers(1, 6, ALARMS),
                "at": minute * MINUTE + np.sort(self._rng.integers(1, MINUTE, ALARMS)),
            }

    def close(self) -> None:
        """Leave nothing behind."""
        with self._engine.begin() as database:
            database.execute(sql.text(f"drop table {TABLE}"))
        self._engine.dispose()


def answers(url: str, budget: Any) -> list[Answer]:
    """All answers of a new plant; several orders of an asset become one value in the database."""
    plant = Plant(url)
    source = remote.sql(
        url,
        table=TABLE,
        key="asset",
        value={"weight": "max(weight)", "orders": "sum(open)"},
        text={"site": "min(site)"},
    )
    try:
        query = TopKQuery(**QUERY, budget=budget)
        return list(run(query, plant.batches(), sources={"assets": source}))
    finally:
        source.close()
        plant.close()


def show(answer: Answer) -> None:
    """One window."""
    print(f"minute {answer.window.end // MINUTE}: {answer.spent:.0f} assets looked up")
    for row in answer.rows:
        severity, asset = row.values
        orders, site = (row.remotes[name].value for name in ("orders", "site"))
        about = f"severity {severity:.0f} on {asset} ({site}), {orders:.0f} open orders"
        print(f"  {row.rank}. {row.key:<12}{row.score:>5.0f}  {about}")


def main() -> None:
    """Rank with six look-ups a window, and again with one for each asset that has an alarm."""
    url = os.environ["PLANT_DATABASE"]
    found, truth = answers(url, 6), answers(url, None)
    for answer in found:
        if answer.window.end // MINUTE in (8, 14, 20):
            show(answer)
    shares = [len({*a.keys} & {*b.keys}) / len(b.keys) for a, b in zip(found, truth, strict=True)]
    spent, whole = (sum(each.spent or 0 for each in every) for every in (found, truth))
    right = f"{np.mean(shares):.0%} of the rows are right"
    print(f"{right}, with {spent:.0f} look-ups instead of {whole:,.0f}")


if __name__ == "__main__":
    main()
