"""Errors: what is wrong, then what to do, in two lines, by kinds that programs can tell apart."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from topwater import errors
from topwater.errors import (
    AFRESH,
    LONGEST,
    BatchError,
    EnvironmentProblem,
    QueryError,
    SourceError,
    StateError,
    TopwaterError,
    known_fix,
    lab_missing,
)

KINDS = [TopwaterError, QueryError, SourceError, BatchError, StateError, EnvironmentProblem]
FIELDS = [QueryError, SourceError]


def test_no_kind_is_left_out() -> None:
    found = {each for each in vars(errors).values() if isinstance(each, type)}
    assert found == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_two_lines_what_and_what_to_do(kind: type[TopwaterError]) -> None:
    error = kind("it is broken", fix="mend it")
    assert str(error) == "it is broken\n  fix: mend it"
    assert (error.problem, error.fix) == ("it is broken", "mend it")
    assert isinstance(error, TopwaterError)
    assert str(kind("it is broken")) == "it is broken"


@pytest.mark.parametrize("kind", FIELDS)
def test_the_setting_to_look_at_comes_first(kind: Any) -> None:
    error = kind("must be positive", field="rate", fix="use 1 or more")
    assert str(error) == "rate: must be positive\n  fix: use 1 or more"
    assert (error.field, error.problem) == ("rate", "rate: must be positive")
    assert kind("is wrong").field == ""


def test_a_wrong_setting_is_a_value_error() -> None:
    assert issubclass(QueryError, ValueError)
    others = [each for each in KINDS if each is not QueryError]
    assert not any(issubclass(each, ValueError) for each in others)


@pytest.mark.parametrize("kind", KINDS)
def test_the_message_survives_another_process(kind: type[TopwaterError]) -> None:
    """Spark's workers pickle what they raise."""
    error = kind("it is broken", fix="mend it")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (type(again), str(again)) == (kind, str(error))
    assert again.fix == error.fix


def test_whoever_advises_an_empty_checkpoint_says_what_becomes_of_the_sink() -> None:
    """One text has the advice, and all messages have it from there."""
    assert "empty checkpoint" in AFRESH
    assert "the old one keeps its windows" in AFRESH
    place = Path(errors.__file__)
    for module in sorted(place.parent.rglob("*.py")):
        if module != place:
            text = module.read_text()
            assert "empty checkpoint" not in text, module
            assert "from an empty one" not in text, module


@pytest.mark.parametrize(
    ("problem", "fix"),
    [
        ("SparkException: Python worker failed to connect back.", "too busy"),
        ("SparkException: Python worker exited unexpectedly (crashed)", "same checkpoint"),
        ("Redefining watermark is disallowed.", "withWatermark"),
        ("1.changelog does not exist", "the old one keeps its windows"),
    ],
)
def test_what_to_do_about_errors_of_spark(problem: str, fix: str) -> None:
    assert fix in known_fix(problem)
    assert known_fix("something else") == ""


def test_what_the_laboratory_has() -> None:
    error = lab_missing("the command bench")
    assert isinstance(error, EnvironmentProblem)
    assert error.fix == 'pip install "topwater[lab]"'


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_told_is_not_endless(kind: type[TopwaterError]) -> None:
    """A text from outside, of any length, may be part of it."""
    error = kind("a" * 10_000_000, fix="b" * 10_000_000)
    assert error.problem == "a" * (LONGEST - 1) + "…"
    assert len(str(error)) < 3 * LONGEST
