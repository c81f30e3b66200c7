"""The contract of sources: sound ones pass, broken ones are told which clause they break."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from topwater.model import Fetched
from topwater.testing import Scripted, check_failing_source, check_source


class Unordered(Scripted):
    def fetch(self, keys: Any, deadline: float | None = None) -> Any:
        return super().fetch(np.sort(keys), deadline)


def test_the_check_of_sources_finds_what_is_broken() -> None:
    keys, missing = np.array(["a", "b"], object), np.array(["x"], object)
    with pytest.raises(AssertionError, match="F1"):
        check_source(lambda: Unordered({"a": 1.0, "b": 2.0}), keys, missing)
    with pytest.raises(AssertionError, match="F1"):
        check_source(lambda: Scripted({"a": 1.0}), keys, missing)


class Acting(Scripted):
    """A source with two values that breaks one clause."""

    def __init__(self, how: str) -> None:
        super().__init__({"a": 1.0, "b": 2.0})
        self.how = how

    def fetch(self, keys: Any, deadline: float | None = None) -> Any:
        got = super().fetch(keys, deadline)
        values, ok = got.values, got.ok
        if self.how == "short":
            return Fetched(values[:-1], ok[:-1])
        if self.how == "whole numbers":
            return Fetched(np.nan_to_num(values).astype(np.int64), ok)
        if self.how == "invents":
            return Fetched(np.nan_to_num(values), ok)
        if self.how == "fails with a value":
            return Fetched(values, np.array([False] * len(keys), bool))
        if self.how == "negative time":
            return Fetched(values, ok, seconds=-1.0)
        if self.how == "raises" and deadline is not None:
            raise TimeoutError
        return got

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self.how == "copies badly":
            self.values = {"a": 2.0, "b": 1.0}


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("short", r"F1: \(1,\) values for \(2,\) keys"),
        ("whole numbers", "F1: values of type int64"),
        ("invents", "F1: a value from nowhere"),
        ("fails with a value", "F2: a key that failed has a value"),
        ("negative time", "F2: it took -1.0 seconds"),
        ("raises", "F2: TimeoutError with a deadline of 0.0"),
        ("copies badly", "F3: a copy answers differently"),
    ],
)
def test_a_broken_source_is_told_which_clause_it_breaks(how: str, told: str) -> None:
    keys, missing = np.array(["a", "b"], object), np.array(["x"], object)
    check_source(lambda: Acting("well"), keys, missing)
    with pytest.raises(AssertionError, match=f"^{told}"):
        check_source(lambda: Acting(how), keys, missing)


class Several(Scripted):
    """A source with several values that breaks one clause."""

    def __init__(self, how: str) -> None:
        row = {"price": 1.0, "title": "tea"}
        super().__init__({"a": row, "b": {"price": 2.0, "title": "mate"}})
        self.how = how

    def fetch(self, keys: Any, deadline: float | None = None) -> Any:
        got = super().fetch(keys, deadline)
        columns = dict(got.columns)
        if self.how == "moved":
            columns["title"] = np.sort(columns["title"]) if len(keys) < 3 else columns["title"]
        if self.how == "short":
            columns["title"] = columns["title"][:-1]
        if self.how == "fails with a text":
            ok = np.zeros(len(keys), bool)
            return Fetched(np.full(len(keys), np.nan), ok, columns={"title": columns["title"]})
        if self.how == "other names":
            columns["stock"] = columns.pop("title")
        if self.how == "other kinds":
            columns["title"] = np.ones(len(keys))
        if self.how == "other values":
            return Fetched(got.values + 1, got.ok, columns=columns)
        return Fetched(got.values, got.ok, columns=columns)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("other names", r"F4: columns \['price', 'stock'\], names"),
        ("other kinds", r"F4: texts in \[\], and text_names"),
        ("other values", "F4: values are not those of price"),
        ("moved", "F1: "),
        ("short", r"F1: \(1,\) title"),
        ("fails with a text", "F2: a key that failed has a title"),
    ],
)
def test_several_values_are_checked_too(how: str, told: str) -> None:
    keys, missing = np.array(["a", "b"], object), np.array(["x"], object)
    check_source(lambda: Several("well"), keys, missing)
    with pytest.raises(AssertionError, match=f"^{told}"):
        check_source(lambda: Several(how), keys, missing)


class Down:
    """A service that does not work, and a source that says so, or not."""

    def __init__(self, why: str | None = None, *, answers: bool = False) -> None:
        self.why = why
        self.answers = answers

    def fetch(self, keys: Any, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        why = None if self.why is None else np.full(len(keys), self.why, object)
        return Fetched(np.full(len(keys), np.nan), np.full(len(keys), self.answers), why=why)


def test_a_source_whose_service_is_down_says_why() -> None:
    keys = np.array([1, 2])
    check_failing_source(lambda: Down("timeout"), keys)
    with pytest.raises(AssertionError, match=r"^F2: \{'bad luck'\} for problems"):
        check_failing_source(lambda: Down("bad luck"), keys)
    with pytest.raises(AssertionError, match=r"^F2: a key was answered"):
        check_failing_source(lambda: Down("timeout", answers=True), keys)
