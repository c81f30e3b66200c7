"""The algorithms by name, those of the laboratory among them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.distributions import hide_lab
from topwater.errors import QueryError
from topwater.standing import Standing
from topwater.standing.algorithms import Settings, algorithms
from topwater_lab.rivals import RIVALS


@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_is_known_where_the_laboratory_is_installed(name: str) -> None:
    """In a fresh process too, which may be a worker of Spark's: nobody has imported the rivals."""
    code = f"""
from topwater.standing import Standing
print(Standing(["x"], algorithm={name!r}).settings.algorithm)
"""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{name}\n"


def test_without_the_laboratory_the_error_says_where_rivals_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in RIVALS:
        monkeypatch.delitem(algorithms._entries, name)
    hide_lab(monkeypatch)
    with pytest.raises(QueryError) as caught:
        Standing(["x"], algorithm="snn")
    assert str(caught.value).startswith("algorithm: 'snn' is unknown\n  fix: use one of: sa, sasf,")
    assert caught.value.fix.endswith('; cpm/w and snn come with: pip install "topwater[lab]"')


def test_the_names_that_the_error_promises_are_those_of_the_laboratory() -> None:
    assert algorithms.in_lab == RIVALS


def test_an_unknown_name_shows_all_that_there_are() -> None:
    with pytest.raises(QueryError) as caught:
        Settings(("x",), algorithm="best")
    assert set(caught.value.fix.removeprefix("use one of: ").split(", ")) == {*algorithms, *RIVALS}
