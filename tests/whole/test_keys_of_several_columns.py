"""Keys of several columns, looked up in real services: each part is data, at each border."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from datetime import date
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest

from topwater import Answers, QueryError, TopKQuery, remote, run, tumbling
from topwater.testing import check_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOSTILE = [
    "a/b",
    "..",
    "x' OR '1'='1",
    '"',
    "{country}",
    "a?b&c",
    "tea\x01DE",
    "\0",
    "é",
    "",
    ";--",
]
KEYS = [("tea", "DE"), ("tea", "IT"), *((each, "DE") for each in HOSTILE)]
PRICES = {key: float(at) for at, key in enumerate(KEYS, 1)}


def keys_of(*keys: Any) -> Any:
    found = np.empty(len(keys), object)
    found[:] = keys
    return found


class _Prices(BaseHTTPRequestHandler):
    """Answers ``/PRODUCT/COUNTRY`` with a price."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = tuple(map(unquote, urlsplit(self.path).path.split("/")[1:]))
        self._tell(PRICES.get(parts))  # type: ignore[arg-type]

    def do_HEAD(self) -> None:
        self._tell(None)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._tell(PRICES.get((asked["product"], asked["country"])))

    def _tell(self, price: float | None) -> None:
        body = json.dumps({"price": price}).encode()
        self.send_response(404 if price is None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Prices)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def over_http(address: str, **changes: Any) -> Any:
    plain = {"url": f"{address}/{{product}}/{{country}}", "parts": ["product", "country"]}
    return remote.http(**{**plain, "value": "price", "retries": 0, **changes})


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prices") / "prices.db"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table prices (article text, land text, price real)")
        rows = [(*key, price) for key, price in PRICES.items()]
        connection.executemany("insert into prices values (?, ?, ?)", rows)
    return path


def over_sql(table: Path) -> Any:
    return remote.sql(f"sqlite:///{table}", table="prices", key=["article", "land"], value="price")


def query_of(**changes: Any) -> TopKQuery:
    plain = {"key": ("product", "country"), "time": "at", "window": tumbling(10), "k": 3}
    asked = {"take": {"sold": "count"}, "score": "sold * price", "refresh": "price"}
    return TopKQuery(**{**plain, **asked, **changes})


def test_a_table_is_asked_by_all_columns_at_once(table: Path) -> None:
    source = over_sql(table)
    got = source.fetch(keys_of(*KEYS, ("DE", "tea"), ("tea", "' OR 1=1")))
    assert got.values[: len(KEYS)].tolist() == [*PRICES.values()]
    assert np.isnan(got.values[len(KEYS) :]).all()
    check_source(lambda: over_sql(table), keys_of(*KEYS[:5]), keys_of(("no", "DE"), ("tea", "no")))
    assert "('tea', 'DE') has 1" in str(source.check(("tea", "DE")))
    source.close()


def test_an_address_has_a_place_for_each_part(address: str) -> None:
    source = over_http(address)
    askable = [key for key in KEYS if key[0] not in ("..", "", "a/b")]
    got = source.fetch(keys_of(*askable, ("..", "DE"), ("", "DE"), ("DE", "tea")))
    assert got.values[: len(askable)].tolist() == [PRICES[key] for key in askable]
    assert np.isnan(got.values[len(askable) :]).all()
    check_source(lambda: over_http(address), keys_of(*KEYS[:2]), keys_of(("no", "DE"), ("a", "no")))
    source.close()


def test_a_body_has_a_place_for_each_part(address: str) -> None:
    body = {"product": "{product}", "country": "{country}"}
    source = over_http(address, url=f"{address}/", body=body)
    assert source.fetch(keys_of(*KEYS[:6])).values.tolist() == [*PRICES.values()][:6]
    source.close()


def test_answers_have_what_the_services_say(address: str, table: Path) -> None:
    sales = [*KEYS[:2] * 3, KEYS[4]]
    events = [{"product": each[0], "country": each[1], "at": 1} for each in sales]
    for source in (over_http(address), over_sql(table)):
        (answer,) = answers = Answers(run(query_of(), [events], source=source))
        source.close()
        assert answer.keys == [KEYS[1], KEYS[4], KEYS[0]]
        assert {row.key: row.remote for row in answer.rows} == {
            key: PRICES[key] for key in dict.fromkeys(sales)
        }
        rows = answers.to_arrow().select(["product", "country", "remote"]).to_pylist()
        assert rows[0] == {"product": "tea", "country": "IT", "remote": 2.0}


@pytest.mark.parametrize(
    ("key", "url", "parts", "problem"),
    [
        (("product", "country"), "/{key}", None, "asks by whole keys, and keys of the query have"),
        (
            ("country", "product"),
            "/{product}/{country}",
            ["product", "country"],
            "asks by the part",
        ),
        ("product", "/{product}/{country}", ["product", "country"], "asks by the parts product"),
    ],
)
def test_places_that_do_not_fit_the_key_are_told_before_it_starts(
    address: str, key: Any, url: str, parts: Any, problem: str
) -> None:
    source = over_http(address, url=address + url, parts=parts)
    with pytest.raises(QueryError, match=f"(?s)^source.parts: {problem}.*fix: write"):
        next(run(query_of(key=key), [[]], source=source))


@pytest.mark.parametrize(
    ("parts", "url", "field"),
    [
        (["product", "product"], "/{product}", "parts"),
        (["product"], "/{product}", "parts"),
        (["product", "no-name"], "/{product}/{no-name}", "parts"),
        (["product", "key"], "/{product}/{key}", "parts"),
        (["product", "country"], "/{product}", "url"),
        (["product", "country"], "/{product}/{contry}", "url"),
        (["product", "country"], "/{product}/{country}/{keys}", "url"),
    ],
)
def test_places_that_can_not_be_are_refused(parts: Any, url: str, field: str) -> None:
    with pytest.raises(QueryError, match=f"^{field}: "):
        over_http("http://127.0.0.1:1", url=f"http://127.0.0.1:1{url}", parts=parts)


def test_other_sources_say_what_they_can_not_be_asked_by(table: Path) -> None:
    one = remote.sql(f"sqlite:///{table}", table="prices", key="article", value="price")
    sparql = remote.sparql("http://127.0.0.1:1/", "?p <x:price> ?v", key="p", value="v")
    for source, key in ((one, ("product", "country")), (over_sql(table), "product")):
        with pytest.raises(QueryError, match=r"(?s)source\.key: looks up by.*in the same order"):
            next(run(query_of(key=key), [[]], source=source))
    with pytest.raises(QueryError, match="asks by one text"):
        next(run(query_of(), [[]], source=sparql))


def test_parts_of_other_types_find_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "days.db"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table t (day text, size numeric, n integer, open int, v real)")
        connection.execute("insert into t values ('2026-11-18', 1.5, -7, 1, 9.0)")
    names = ["day", "size", "n", "open"]
    source = remote.sql(f"sqlite:///{path}", table="t", key=names, value="v")
    day = date(2026, 11, 18)
    keys = keys_of((day, Decimal("1.50"), -7, True), (day, Decimal("1.5"), 7, True))
    assert source.fetch(keys).values.tolist()[0] == 9.0
    assert np.isnan(source.fetch(keys).values[1])
    source.close()
