"""One look at a key: through a check that takes one, or else through a fetch."""

from __future__ import annotations

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
        (Own(np.inf), "key not found"),
        (Own(np.nan, ok=False), "can't tell why"),
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
