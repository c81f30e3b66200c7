"""Several values of a key, and several rows of one, from a database, an endpoint and a service.

All are asked for the same offers, and have to say what the offers themselves do.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pyoxigraph as ox
import pytest

from tests.support import postgres
from tests.support.loopback import serving
from topwater import remote
from topwater.errors import QueryError, SourceError
from topwater.testing import check_source

OFFERS = [
    ("tea", 3.0, 7, "ann"),
    ("tea", 5.5, 7, "bob"),
    ("mate", 4.0, 0, "cy"),
    ("it's", 1.0, 2, 'a "b"'),
    ("Tea", 9.0, 1, "dan"),
]
KEYS = np.array(["tea", "mate", "it's", "Tea"], object)
MISSING = np.array(["none", "TEA"], object)
WANTED: dict[str, list[Any]] = {
    "price": [5.5, 4.0, 1.0, 9.0],
    "low": [3.0, 4.0, 1.0, 9.0],
    "mean": [4.25, 4.0, 1.0, 9.0],
    "all": [8.5, 4.0, 1.0, 9.0],
    "offers": [2.0, 1.0, 1.0, 1.0],
    "by": ["ann", "cy", 'a "b"', "dan"],
}
EX = "http://example.org/"


def sqlite_url(folder: Path) -> str:
    with contextlib.closing(sqlite3.connect(folder / "shop.db")) as database, database:
        database.execute(
            "create table offers "
            "(product text collate nocase, price real, stock integer, seller text)"
        )
        database.executemany("insert into offers values (?, ?, ?, ?)", OFFERS)
    return f"sqlite:///{folder / 'shop.db'}"


def postgres_url(_: Path) -> str:
    server = postgres.server()
    with contextlib.closing(server.connect()) as connection:
        connection.execute("drop table if exists many_offers")
        connection.execute(
            "create table many_offers (product text, price numeric, stock int, seller text)"
        )
        with connection.cursor() as cursor:
            cursor.executemany("insert into many_offers values (%s, %s, %s, %s)", OFFERS)
    return server.url()


def sparql(method: str, path: str, body: bytes) -> tuple[int, str, bytes]:
    """A real store of RDF behind an endpoint."""
    store = ox.Store()
    for at, (product, price, stock, seller) in enumerate(OFFERS):
        offer = ox.NamedNode(f"{EX}offer/{at}")
        for name, value in (
            ("of", ox.Literal(product)),
            ("price", ox.Literal(price)),
            ("stock", ox.Literal(str(stock))),  # numbers that are written as texts count, too
            ("by", ox.Literal(seller)),
        ):
            store.add(ox.Quad(offer, ox.NamedNode(EX + name), value))
    query = parse_qs(body.decode())["query"][0]
    found = store.query(query)
    if not isinstance(found, ox.QuerySolutions):
        return 200, "application/json", b'{"boolean": true}'
    told = found.serialize(format=ox.QueryResultsFormat.JSON)
    assert told is not None
    return 200, "application/sparql-results+json", told


def http(method: str, path: str, body: bytes) -> tuple[int, str, bytes]:
    asked = json.loads(body)["products"]
    rows = [
        {"product": product, "price": price, "stock": stock, "by": seller}
        for product, price, stock, seller in OFFERS
        if product in asked
    ]
    return 200, "application/json", json.dumps({"offers": rows}).encode()


MERGED = ("price", "low", "mean", "all", "offers")


def places(form: str, count: str = "count()") -> dict[str, str]:
    """By what each of the wanted values is made of the prices."""
    merges = dict(zip(MERGED, ("max", "min", "mean", "sum"), strict=False))
    return {name: f"{merge}({form})" for name, merge in merges.items()} | {"offers": count}


@pytest.fixture(params=["sqlite", "postgres", "sparql", "sparql one by one", "http"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Builds a source of the offers with some values and texts."""
    kind = request.param
    with contextlib.ExitStack() as stack:
        if kind in ("sqlite", "postgres"):
            url = sqlite_url(tmp_path) if kind == "sqlite" else postgres_url(tmp_path)
            table = "offers" if kind == "sqlite" else "many_offers"

            def of_sql(value: Any, text: Any) -> Any:
                return remote.sql(url, table=table, key="product", value=value, text=text)

            yield of_sql
        elif kind == "http":
            url = stack.enter_context(serving(http))

            def of_http(value: Any, text: Any) -> Any:
                def path(place: str) -> str:
                    for name in ("price", "stock"):
                        place = place.replace(name, f"offers[*].{name}")
                    return place.replace("seller", "offers[*].by")

                return remote.http(
                    url,
                    body={"products": "{keys}"},
                    key="offers[*].product",
                    value={name: path(place) for name, place in value.items()},
                    text={name: path(place) for name, place in text.items()},
                )

            yield of_http
        else:
            url = stack.enter_context(serving(sparql))
            pattern = "?o ex:of ?product; ex:price ?price; ex:stock ?stock; ex:by ?seller"
            more: dict[str, Any] = {"one_by_one": True} if kind != "sparql" else {}

            def of_sparql(value: Any, text: Any) -> Any:
                return remote.sparql(
                    url, pattern, key="product", key_as="literal", prefixes={"ex": EX},
                    value=value, text=text, **more,
                )  # fmt: skip

            yield of_sparql


def test_rows_of_a_key_become_what_was_asked_for(make: Callable[..., Any]) -> None:
    source = make(places("price"), {"by": "min(seller)"})
    check_source(lambda: make(places("price"), {"by": "min(seller)"}), KEYS, np.array(["none"]))
    got = source.fetch(np.concatenate([KEYS, MISSING]))
    for name, wanted in WANTED.items():
        assert got.columns[name][: len(KEYS)].tolist() == wanted
    assert got.numbers("offers")[len(KEYS) :].tolist() == [0.0, 0.0]
    assert np.isnan(got.numbers("price")[len(KEYS) :]).all()
    assert got.texts("by")[len(KEYS) :].tolist() == [None, None]
    told = str(source.check("tea"))
    assert "has price 5.5, low 3, mean 4.25, all 8.5, offers 2, by 'ann'" in told


def test_values_beside_merged_ones_have_to_be_the_same_in_all_rows(
    make: Callable[..., Any],
) -> None:
    source = make({"price": "max(price)", "stock": "stock"}, {"by": "sample(seller)"})
    got = source.fetch(KEYS)
    assert got.numbers("price").tolist() == WANTED["price"]
    assert got.numbers("stock").tolist() == [7.0, 0.0, 2.0, 1.0]
    assert got.texts("by")[1:].tolist() == WANTED["by"][1:]
    doubled = make({"price": "price", "stock": "stock"}, {"by": "max(seller)"}).fetch(KEYS)
    assert doubled.problems() == {"doubled": 1}
    assert doubled.texts("by").tolist() == [None, *WANTED["by"][1:]]


def test_numbers_that_are_texts_have_no_greatest_text(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as database, database:
        database.execute("create table t (k integer, n text)")
        database.executemany("insert into t values (?, ?)", [(1, "9"), (1, "10"), (2, "abc")])
    for merge in ("max", "min", "sum", "mean"):
        source = remote.sql(
            f"sqlite:///{tmp_path / 'a.db'}", table="t", key="k", value=f"{merge}(n)"
        )
        assert source.fetch(np.array([1, 2])).lacks() == {"not_a_number": 2}


def test_a_query_names_its_columns(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path)
    query = "select product, seller, price from offers where product in :keys"
    source = remote.sql(url, query=query, value=["price"], text={"by": "seller"})
    got = source.fetch(KEYS[1:])
    assert (got.values.tolist(), got.texts("by").tolist()) == (
        WANTED["price"][1:],
        WANTED["by"][1:],
    )
    with pytest.raises(SourceError, match="yields no column cost beside its first"):
        remote.sql(url, query=query, value={"price": "cost"}).check()
    assert remote.sql(url, query=query, value={"price": "cost"}).fetch(KEYS).problems() == {
        "client": 4
    }
    with pytest.raises(QueryError, match="a query says itself"):
        remote.sql(url, query=query, value="price")


def test_a_wrong_name_among_several_is_told_with_the_right_one(tmp_path: Path) -> None:
    source = remote.sql(
        sqlite_url(tmp_path),
        table="offers",
        key="product",
        value={"a": "max(price)", "b": "max(stok)"},
    )
    with pytest.raises(SourceError) as caught:
        source.check("mate")
    assert caught.value.fix == "did you mean stock?"
