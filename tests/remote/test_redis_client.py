"""Where a Redis server is, and what its errors mean."""

from __future__ import annotations

import ssl

import pytest
from redis import exceptions as failures
from redis.connection import SSLConnection

from topwater.remote.database_address import Unset
from topwater.remote.redis_client import Address, problem_of


def test_an_address_is_shown_without_its_login() -> None:
    assert repr(Address.of("rediss://ann:s3cret@[::1]:7000/3")) == "Address('rediss://[::1]:7000')"
    assert "s3cret" in Address.of("redis://ann:s3cret@h").secrets()


def test_logins_are_quoted_in_an_address_and_variables_are_filled_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REDIS_USER", "a/b")
    link = Address.of("redis://${REDIS_USER}:p%40ss@h/2").connection(1.0)
    assert (link.username, link.password, link.db) == ("a/b", "p@ss", 2)
    monkeypatch.delenv("REDIS_USER")
    with pytest.raises(Unset):
        Address.of("redis://${REDIS_USER}:p@h").connection(1.0)


def test_tls_is_checked_unless_told_otherwise() -> None:
    link = Address.of("rediss://h").connection(1.0)
    assert isinstance(link, SSLConnection)
    assert (link.cert_reqs, link.check_hostname) == (ssl.CERT_REQUIRED, True)
    link = Address.of("rediss://h", verify=False).connection(1.0)
    assert isinstance(link, SSLConnection)
    assert link.cert_reqs == ssl.CERT_NONE


@pytest.mark.parametrize(
    ("error", "connecting", "problem"),
    [
        (failures.ConnectionError("Error 111"), True, "refused"),
        (failures.ConnectionError("Connection closed by server."), False, "dropped"),
        (failures.TimeoutError("Timeout reading"), False, "timeout"),
        (failures.AuthenticationError("invalid username-password pair"), True, "client"),
        (failures.NoPermissionError("this user has no permissions"), False, "client"),
        (failures.BusyLoadingError("LOADING"), True, "server"),
        (failures.ResponseError("WRONGTYPE Operation"), False, "client"),
        (failures.ReadOnlyError("READONLY"), False, "server"),
        (failures.InvalidResponse("Protocol Error"), False, "garbled"),
        (ssl.SSLError("certificate"), True, "tls"),
        (ValueError("odd"), False, "broken"),
    ],
)
def test_what_an_error_means(error: Exception, connecting: bool, problem: str) -> None:
    assert problem_of(error, connecting=connecting) == problem
