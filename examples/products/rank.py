"""What sells best of what is in stock, by revenue: sales of a stream, price and stock of a shop."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import sqlalchemy as sql

from topwater import Answer, TopKQuery, remote, run, sliding

MINUTE, MINUTES, SALES, PRODUCTS = 60_000, 30, 300, 250
KINDS = ["green tea", "mate", "coffee", "cocoa", "rooibos"]
QUERY: dict[str, Any] = {
    "key": "product",
    "time": "at",
    "window": sliding("10 min", "1 min"),
    "k": 5,
    "take": {"sold": "count"},
    "score": "sold * price",
    "where": "stock > 0",
    "refresh": [{"remote": ["price", "stock", "title"], "from": "shop"}],
}
TABLE = "topwater_example_products"


class Shop:
    """A made-up shop with its database, whose stock falls with each sale."""

    def __init__(self, url: str) -> None:
        self._engine = sql.create_engine(url)
        columns = "id integer primary key, price double precision, stock integer, title text"
        rng = np.random.default_rng(3)
        rows = [
            {"id": each, "price": float(price), "stock": int(stock), "title": f"{kind} {each}"}
            for each, price, stock, kind in zip(
                range(PRODUCTS),
                rng.integers(2, 30, PRODUCTS),
                rng.integers(0, 120, PRODUCTS),
                rng.choice(KINDS, PRODUCTS),
                strict=True,
            )
        ]
        with self._engine.begin() as database:
            database.execute(sql.text(f"drop table if exists {TABLE}"))
            database.execute(sql.text(f"create table {TABLE} ({columns})"))
            insert = f"insert into {TABLE} values (:id, :price, :stock, :title)"  # noqa: S608
            database.execute(sql.text(insert), rows)

    def batches(self) -> Iterator[dict[str, Any]]:
        """The sales of each minute, after which the shelves are emptier."""
        rng = np.random.default_rng(4)
        share = 1 / np.arange(4, PRODUCTS + 4)
        sell = f"update {TABLE} set stock = greatest(stock - :n, 0) where id = :id"  # noqa: S608
        bring = f"update {TABLE} set stock = stock + 80 where id = :id"  # noqa: S608
        for minute in range(MINUTES):
            sold = rng.choice(PRODUCTS, SALES, p=share / share.sum())
            products, numbers = np.unique(sold, return_counts=True)
            gone = zip(products.tolist(), numbers.tolist(), strict=True)
            come = rng.choice(PRODUCTS, 3).tolist()
            with self._engine.begin() as database:
                database.execute(sql.text(sell), [{"id": each, "n": n} for each, n in gone])
                database.execute(sql.text(bring), [{"id": each} for each in come])
            at = minute * MINUTE + np.sort(rng.integers(1, MINUTE, SALES))
            yield {"product": sold, "at": at}

    def close(self) -> None:
        """Leave nothing behind."""
        with self._engine.begin() as database:
            database.execute(sql.text(f"drop table {TABLE}"))
        self._engine.dispose()


def answers(url: str, budget: Any) -> list[Answer]:
    """All answers of a new shop."""
    shop = Shop(url)
    source = remote.sql(url, table=TABLE, key="id", value=["price", "stock"], text=["title"])
    try:
        query = TopKQuery(**QUERY, budget=budget)
        return list(run(query, shop.batches(), sources={"shop": source}))
    finally:
        source.close()
        shop.close()


def show(answer: Answer) -> None:
    """One window."""
    print(f"minute {answer.window.end // MINUTE}: {answer.spent:.0f} look-ups")
    for row in answer.rows:
        price, stock, title = (row.remotes[name].value for name in ("price", "stock", "title"))
        about = f"{row.values[0]:.0f} sold at {price:.2f}, {stock:.0f} left"
        print(f"  {row.rank}. {title:<14}{row.score:>8.2f}  {about}")


def main() -> None:
    """Rank with eight look-ups a minute, and again with as many as there are products."""
    url = os.environ["SHOP_DATABASE"]
    found, truth = answers(url, 8), answers(url, None)
    for answer in found:
        if answer.window.end // MINUTE in (10, 20, 30):
            show(answer)
    shares = [len({*a.keys} & {*b.keys}) / len(b.keys) for a, b in zip(found, truth, strict=True)]
    spent, whole = (sum(each.spent or 0 for each in every) for every in (found, truth))
    right = f"{np.mean(shares):.0%} of the rows are right"
    print(f"{right}, with {spent:.0f} look-ups instead of {whole:,.0f}")


if __name__ == "__main__":
    main()
