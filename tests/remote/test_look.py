"""One look at a key: through a check that takes one, or else through a fetch."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from topwater import remote
from topwater.errors import SourceError
from topwater.model import Fetched
from topwater.remote import Look
from topwater.remote.look import NoValue, checked, excerpt, looked_up
from topwater.testing import Scripted


class Own:
    """A user's own source, whose check takes no key."""

    def __init__(self, value: float, *, ok: bool = True) -> None:
        self.value, self.ok, self.checks = value, ok, 0

    def fetch(self, keys: Any, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        return Fetched(np.full(len(keys), self.value), np.full(len(keys), self.ok))

    def check(self) -> None:
        self.checks += 1


def test_a_source_of_ones_own_is_checked_and_asked_for_the_key() -> None:
    own = Own(4.5)
    assert checked(own) is None
    assert checked(own, "ann") == Look("ann", 4.5)
    assert own.checks == 2


def test_a_source_without_a_check_is_asked_for_the_key() -> None:
    assert checked(Scripted({7: 2.0}), 7) == Look(7, 2.0)
    assert checked(Scripted({})) is None


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (Own(np.nan), "key not found"),
        (Own(np.inf), "not a number"),
        (Own(np.nan, ok=False), "can't say why"),
    ],
)
def test_no_usable_value_is_an_error(source: Own, words: str) -> None:
    with pytest.raises(NoValue, match=words) as caught:
        looked_up(source, "ann")
    assert caught.value.fix


def test_wrappers_pass_the_key_on() -> None:
    stacked = remote.stack(remote.memory({"ann": 3.0}))
    assert stacked.check("ann") == Look("ann", 3.0)
    with pytest.raises(SourceError, match="did you mean 'ann'"):
        stacked.check("anna")


def test_keys_of_another_type_are_told_apart() -> None:
    with pytest.raises(SourceError, match="did you mean 7"):
        remote.memory({7: 1.0}).check("7")
    with pytest.raises(SourceError, match="not a number"):
        remote.memory({7: float("nan")}).check(7)


def test_a_key_that_is_an_iri_is_told_in_full() -> None:
    """It is a name, and not an address that may hold a secret."""
    iri = "http://example.org/user/1016"
    assert str(Look(iri, 3.0)) == f"the key '{iri}' has 3"
    with pytest.raises(NoValue, match=iri):
        looked_up(Own(np.nan), iri)


def test_an_excerpt_is_one_short_line_without_secrets() -> None:
    told = excerpt("a\n\tb \x1b[31m\u202e tok3n " + "x" * 5_000, ["tok3n", "", "x"])
    assert told.startswith("a b \\x1b[31m\\u202e *** xxx")
    assert len(told) < 330
    assert excerpt(b"\xff\xfe") == "��"


def test_a_secret_that_is_cut_off_is_not_told_in_part() -> None:
    secret = "s" * 40
    assert "sss" not in excerpt("x" * 290 + secret, [secret])


def giving(act: Any) -> Any:
    """A source whose fetch does something else than it should."""

    class Odd:
        def fetch(self, keys: Any, deadline: float | None = None) -> Any:  # noqa: ARG002
            return act(len(keys))

    return Odd()


def raising(error: BaseException) -> Any:
    def act(*_: Any) -> Any:
        raise error

    return act


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (raising(KeyError("password hunter2")), "raised KeyError at .*test_look.py"),
        (raising(SystemExit(0)), "raised SystemExit"),
        (raising(asyncio.CancelledError()), "raised CancelledError"),
        (lambda _: None, "gave NoneType, not Fetched"),
        (lambda n: dict.fromkeys(range(n), 1.0), "gave dict, not Fetched"),
        (lambda _: Fetched(np.ones(2), np.ones(2, bool)), "for 1 keys"),
        (lambda n: Fetched(np.ones(n), np.ones(n)), "ok of float64"),  # type: ignore[arg-type]
    ],
)
@pytest.mark.parametrize("wrap", [lambda source: source, remote.stack])
def test_a_source_that_no_query_could_use_does_not_pass_a_check(
    act: Any, words: str, wrap: Any
) -> None:
    with pytest.raises(SourceError, match=words) as caught:
        checked(wrap(giving(act)), "ann")
    assert "hunter2" not in str(caught.value)


def test_a_check_that_raises_is_told_without_its_message() -> None:
    own = Own(1.0)
    own.check = raising(RuntimeError("token abc"))  # type: ignore[method-assign]
    with pytest.raises(SourceError, match="raised RuntimeError") as caught:
        checked(own)
    assert "abc" not in str(caught.value)


def test_a_key_of_more_than_64_bits_is_asked_for() -> None:
    assert looked_up(Scripted({2**70: 2.0}), 2**70) == Look(2**70, 2.0)
