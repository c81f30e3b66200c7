"""Where things are: servers, files, and the environment variables that hold secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from topwater.errors import QueryError
from topwater.validation import Address, address_of, listening_of, path_of, secret_of

if TYPE_CHECKING:
    from pathlib import Path

PORTS = {"mqtt": 1883, "tcp": 0}


def test_addresses() -> None:
    assert address_of("mqtt://a", PORTS) == Address("mqtt", "a", 1883)
    assert address_of("tcp://a:7/", PORTS) == Address("tcp", "a", 7)
    assert str(address_of("tcp://[::1]:7", PORTS)) == "[::1]:7"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("tcp://a", "has no port"),
        ("http://a:1", "of an unknown kind"),
        ("tcp://me:secret@a:1", "has a user in it"),
        ("tcp://a:1/path", "not an address"),
        ("tcp://:1", "not an address"),
        ("tcp://a:many", "not an address"),
        ("", "must be text"),
        (7, "must be text"),
    ],
)
def test_what_is_no_address(given: Any, told: str) -> None:
    with pytest.raises(QueryError, match=rf"^url: .*{told}") as caught:
        address_of(given, PORTS)
    assert caught.value.fix
    assert "secret" not in str(caught.value)


def test_paths(tmp_path: Path) -> None:
    assert path_of(str(tmp_path), "path") == str(tmp_path)
    assert path_of("s3a://bucket/x", "path") == "s3a://bucket/x"
    for wrong, told in ((str(tmp_path / "no"), "is not there"), ("", "must be text"), (3, "text")):
        with pytest.raises(QueryError, match=told):
            path_of(wrong, "path")


def test_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPWATER_TOKEN", "hunter2")
    assert secret_of("${TOPWATER_TOKEN}", "password") == "${TOPWATER_TOKEN}"
    for wrong in ("hunter2", "${TOPWATER_TOKEN}x", 7, None, "${TOPWATER_NO}"):
        with pytest.raises(QueryError, match=r"^password: ") as caught:
            secret_of(wrong, "password")
        assert "hunter2" not in str(caught.value)


def test_where_to_listen() -> None:
    assert listening_of("http://10.0.0.7:9464/metrics", "to") == Address("http", "10.0.0.7", 9464)
    assert listening_of("http://[::1]:0/", "to") == Address("http", "::1", 0)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("http://127.0.0.1", "lacks a host or a port"),
        ("http://127.0.0.1:many", "not an address"),
        ("https://127.0.0.1:9464", "not a plain http address"),
        ("http://me:secret@127.0.0.1:9464", "not a plain http address"),
        ("http://127.0.0.1:9464/mine", "another path"),
        (7, "must be text"),
    ],
)
def test_where_nobody_can_listen(given: Any, problem: str) -> None:
    with pytest.raises(QueryError, match=rf"^to: .*{problem}") as caught:
        listening_of(given, "to")
    assert "secret" not in str(caught.value)
    assert caught.value.fix
