"""Calls whose keywords are checked: a wrong one is a QueryError, and signatures stay."""

from __future__ import annotations

import inspect
import pickle
import pydoc
from dataclasses import dataclass, replace
from typing import Any

import pytest

import topwater
from topwater import remote, streams
from topwater.errors import QueryError
from topwater.local import run
from topwater.replica import Budget, RefreshSettings
from topwater.spark import session, start, topk
from topwater.standing import Standing, StandingQuery
from topwater.validation import checked_call, made_from


@checked_call("sheet")
@dataclass(frozen=True, slots=True)
class Sheet:
    """Paper."""

    width: int
    height: int = 7


@checked_call(of="a fold")
def fold(sheet: Sheet, /, times: int = 1, *, along: str, **more: Any) -> int:
    """Fold it."""
    return sheet.width * times + len(along) + len(more)


def test_calls_that_fit() -> None:
    assert Sheet(3) == Sheet(width=3, height=7) == pickle.loads(pickle.dumps(Sheet(3)))  # noqa: S301
    assert replace(Sheet(3), height=1) == Sheet(3, 1)
    assert fold(Sheet(3), 2, along="ab", other=1) == 9


def made(make: Any, *args: Any, **named: Any) -> Any:
    """A call that a type checker would refuse, too."""
    return make(*args, **named)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: made(Sheet, 3, hieght=1),
            "sheet.hieght: no such setting\n  fix: did you mean height?",
        ),
        (
            lambda: made(Sheet, 3, xyz=1),
            "sheet.xyz: no such setting\n  fix: use one of: width, height",
        ),
        (lambda: made(Sheet), "sheet.width: is missing\n  fix: Sheet needs it"),
        (
            lambda: made(Sheet, 1, 2, 3),
            "sheet: too many positional arguments\n  fix: write Sheet(width, ",
        ),
        (
            lambda: made(Sheet, 1, width=2),
            "sheet: multiple values for argument 'width'\n  fix: write Shee",
        ),
        (
            lambda: made(replace, Sheet(1), heigth=2),
            "sheet.heigth: no such setting\n  fix: did you mean",
        ),
        (lambda: made(fold, Sheet(1)), "along: is missing\n  fix: fold needs it"),
        (
            lambda: made_from(Sheet, {"widht": 1}, "sheet"),
            "sheet.widht: no such setting\n  fix: did",
        ),
        (lambda: made_from(Sheet, {1: 1}, "sheet"), "sheet.1: no such setting\n  fix: use one of"),
        (lambda: made_from(Sheet, [1], "sheet"), "sheet: must be a table of names and values, not"),
    ],
)
def test_calls_that_do_not_fit(call: Any, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        call()
    assert str(caught.value).startswith(message)
    assert caught.value.__cause__ is None


def test_what_goes_wrong_inside_stays_what_it_is() -> None:
    @checked_call()
    def broken(n: int) -> int:
        return n + len(n)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="has no len") as caught:
        broken(3)
    assert not isinstance(caught.value, QueryError)


def test_a_signature_stays_for_help_and_editors() -> None:
    assert str(inspect.signature(Sheet)) == "(width: 'int', height: 'int' = 7) -> None"
    assert [*inspect.signature(fold).parameters] == ["sheet", "times", "along", "more"]
    assert (fold.__name__, fold.__doc__, Sheet.__doc__) == ("fold", "Fold it.", "Paper.")
    assert "height: 'int' = 7" in pydoc.plain(pydoc.render_doc(Sheet))


W = {"window": topwater.tumbling(5), "key": "u", "time": "at", "score": "a", "k": 1}


@pytest.mark.parametrize(
    ("call", "field", "near"),
    [
        (lambda: made(topwater.TopKQuery, **W, keyy="u"), "keyy", "key"),
        (lambda: made(Budget, fetchs=3), "budget.fetchs", "fetches"),
        (lambda: made(RefreshSettings, "f", polcy="lru"), "refresh.polcy", "policy"),
        (lambda: made(topwater.sliding, widht=9, step=3), "window.widht", "width"),
        (lambda: made(topwater.tumbling, 5, strat=3), "window.strat", "start"),
        (lambda: made(topwater.counting, 9, stp=3), "window.stp", "step"),
        (lambda: made(topwater.Formula, "a", oder="largest"), "score.oder", "order"),
        (lambda: made(topwater.WeightedSum, {"a": 1}, rangs={}), "score.rangs", "ranges"),
        (lambda: made(topwater.Euclidean, pont={}), "score.pont", "point"),
        (lambda: made(remote.http, "http://x/{key}", valu="v"), "valu", "value"),
        (lambda: made(remote.stack, None, rat=3), "rat", "rate"),
        (lambda: made(streams.FilesStream, paht="."), "paht", "path"),
        (lambda: made(streams.KafkaStream, servrs="a:1"), "servrs", "servers"),
        (lambda: made(topk, None, None, shard=2), "shard", "shards"),
        (lambda: made(start, None, checkpiont="x"), "checkpiont", "checkpoint"),
        (lambda: made(session, "x", mastr="local"), "mastr", "master"),
        (lambda: made(run, None, [], sorce=None), "sorce", "source"),
        (lambda: made(Standing, ["a"], algoritm="rapf"), "algoritm", "algorithm"),
        (lambda: made(StandingQuery, "a", 1, 5, scor="a"), "scor", "score"),
    ],
)
def test_the_public_calls(call: Any, field: str, near: str) -> None:
    with pytest.raises(QueryError) as caught:
        call()
    assert (caught.value.field, caught.value.fix) == (field, f"did you mean {near}?")
