"""What may be shown of an address, and of a text that holds one."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import topwater
from tests.support.timing import effort
from topwater.redaction import (
    redacted,
    redacted_addresses,
    shown_address,
    shown_path,
    shown_settings,
)

ADDRESSES = {
    "https://api.example/users/{key}": "https://api.example",
    "HTTPS://me:hush@api.example:81/v1?token=hush#hush": "https://api.example:81",
    "http://me:hu@sh@api.example/": "http://api.example",
    "http://hush@api.example/x": "http://api.example",
    "https://api.example/hush/{key}": "https://api.example",
    "http://[::1]:80/v1": "http://[::1]:80",
    "http://me:hush@[fe80::1]/v1": "http://[fe80::1]",
    "https://social.example/@{key}": "https://social.example",
    "http://me:12/hush@host/x": "http://…",
    "http://me:x@hush/y@host/x": "http://…",
    "http://host/x?mail=a@hush": "http://…",
    "http://api.example:hush/{key}": "http://…",
    "htp://me:hush@h/hush?hush": "htp://h",
    "http:/me:hush@h/x": "…",
    "me:hush@h/x": "…",
    "hush": "…",
    "hush:8080/x": "…",
    "": "…",
    "mqtt://h?password=hush": "mqtt://h",
    "mqtt://h:1883/hush": "mqtt://h:1883",
    "mqtt://h;password=hush": "mqtt://h",
    "postgresql://me:hu/sh@db.example/shop?password=hush": "postgresql://db.example/shop",
    "postgresql://me:hu?sh@host/db": "postgresql://host/db",
    "postgresql+psycopg://me:hu@sh@host:5432/db": "postgresql+psycopg://host:5432/db",
    "postgresql://h/db?password=hu@sh": "postgresql://…",
    "postgresql://me:a/b@h/db?x=y@hush": "postgresql://…",
    "mssql+pyodbc:///?odbc_connect=DRIVER=x;PWD=hush": "mssql+pyodbc:///",
    "sqlite:///data/a.db?key=hush": "sqlite:///data/a.db",
    "sqlite:////data/a b.db": "sqlite:////data/a b.db",
    "sqlite+pysqlcipher://:hush@/a.db": "sqlite+pysqlcipher:///a.db",
    "s3a://key:hu/sh@bucket/a/b": "s3a://bucket/a/b",
    "s3a://key:hush@bucket/a": "s3a://bucket/a",
    "abfss://box@account.example/a?sig=hush": "abfss://account.example/a",
    "jdbc:postgresql://h/db?user=me&password=hush": "jdbc:postgresql://h/db",
    "jdbc:mysql://me:hush@h:3306/db": "jdbc:mysql://h:3306/db",
    "jdbc:mysql://(host=h,password=hush)/db": "jdbc:mysql://…",
    "jdbc:sqlserver://h:1433;user=me;password=hush;": "jdbc:sqlserver://h:1433",
    "jdbc:db2://h:50000/db:user=me;password=hush;": "jdbc:db2://h:50000",
    "jdbc:oracle:thin:me/hush@//h:1521/x": "jdbc:oracle:…",
    "mongodb://me:hush@a:27017,b:27017/db": "mongodb://a:27017,b:27017",
}


@pytest.mark.parametrize(("given", "shown"), ADDRESSES.items())
def test_an_address_keeps_its_host_at_most(given: str, shown: str) -> None:
    assert shown_address(given) == shown
    assert "hush" not in shown


@pytest.mark.parametrize("given", [None, 7, ["http://hush"], b"http://hush"])
def test_what_is_not_text_is_not_shown(given: object) -> None:
    assert shown_address(given) == "…"


@pytest.mark.parametrize("given", [each for each in ADDRESSES if "hush" in each])
@pytest.mark.parametrize(
    "frame", ["can't open {}", "'{}' is not there: check it", '("{}")', "<{}>."]
)
def test_a_library_s_message_loses_what_may_be_secret(given: str, frame: str) -> None:
    if "://" not in given and not given.startswith("jdbc:"):
        return  # nothing says that this is an address
    if given.startswith("https://api.example/hush"):
        return  # it may be an IRI
    assert "hush" not in redacted(frame.format(given))


@pytest.mark.parametrize(
    "text",
    [
        "the stream <http://example.org/S> is not registered",
        "http://www.w3.org/2001/XMLSchema#integer",
        "write it like postgresql://ann:$DB_PASSWORD@db.example/shop or sqlite:///users.db",
        "write the address, as https://api.example/users?ids={keys}",
        'write headers = { Authorization = "Bearer ${API_TOKEN}" }',
        'write password = "${PASSWORD}", and set that variable',
        "password: must be the name of an environment variable",
        "no answer from http://127.0.0.1:9: refused",
        "FILTER(?token = ?password)",
        "write tcp://HOST:PORT",
        "the key 'mailto:ann@example.org' is <acct:ann@example.org>",
        "",
    ],
)
def test_names_and_templates_stay(text: str) -> None:
    assert redacted(text) == text


def test_what_is_advised_stays() -> None:
    """No message of ours is cut because it shows how an address is written."""
    advice = [
        part.value
        for path in Path(topwater.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword) and node.arg in ("fix", "help")
        for part in ast.walk(node.value)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    assert len(advice) > 300
    assert [text for text in advice if redacted(text) != text] == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("password=hush&x=1", "password=***&x=1"),
        (
            'connection failed: password = "hu sh" is wrong',
            "connection failed: password = *** is wrong",
        ),
        ("fs.s3a.secret.key=hush", "fs.s3a.secret.key=***"),
        ("X-Api-Key=hush", "X-Api-Key=***"),
        ("Authorization: Basic aHVzaGh1c2g=", "Authorization: Basic ***"),
        ("sent 'Bearer hushhush'", "sent 'Bearer ***'"),
        ("token='hush'", "token=***"),
        ("PGPASSWORD=hush", "PGPASSWORD=***"),
        ("{'password': 'hush', 'user': 'me'}", "{'password': ***, 'user': 'me'}"),
        ('{"api_key":"hu sh"}', '{"api_key":***}'),
        ("X-Api-Key: hush", "X-Api-Key: ***"),
        ("Authorization: ApiKey hushhush", "Authorization: ApiKey ***"),
        ("no file s3a:/key:hush@bucket/a", "no file s3a:/…"),
        ("no host me:hush@h:80", "no host …@h:80"),
        ("services.jdbc:oracle:thin:me/hush@h: no", "services.jdbc:oracle:… no"),
    ],
)
def test_what_is_called_a_secret_is_hidden(text: str, told: str) -> None:
    assert redacted(text) == told
    assert redacted(told) == told


def test_an_explanation_may_speak_of_a_token() -> None:
    assert redacted_addresses("token = count, for each user") == "token = count, for each user"


def test_paths() -> None:
    assert shown_path("/data/a b/@c") == "/data/a b/@c"
    assert shown_path("sensors.py:Sensors") == "sensors.py:Sensors"
    assert shown_path("a:9092,b:9092") == "a:9092,b:9092"
    assert shown_path("file:///data/a@b") == "file:///data/a@b"
    assert shown_path("s3a:/key:hush@bucket") == "…"
    assert shown_path("jdbc:oracle:thin:me/hush@h") == "jdbc:oracle:…"


def test_settings_are_shown_without_what_is_hidden() -> None:
    @dataclass
    class Place:
        path: str
        number: int = 7
        options: str = field(default="hush", repr=False)
        user: str = "hush"

    shown = shown_settings(Place("s3a://a:hush@b/c"), hidden=("user",))
    assert shown == "Place(path='s3a://b/c', number=7)"


PIECES = ["a", "a:", "http://", "a://b:", "@", "=", "token=", "token='", '"', "x=1&", "?a=1="]


@pytest.mark.parametrize("piece", [*PIECES, "jdbc:a:", "a.-", "bearer ", "a:/", "a:b@c "])
def test_the_time_grows_with_the_length_only(piece: str) -> None:
    def work() -> None:
        redacted(f"http://h/?{piece * 20_000}")
        redacted(piece * 20_000)
        shown_address(f"http://{piece * 20_000}")

    assert effort(work, 2) < 2
