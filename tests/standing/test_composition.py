"""What a query keeps, and for how long an object is recent."""

from __future__ import annotations

import pytest

from topwater.errors import QueryError
from topwater.standing.composition import Composition


def test_by_default_half_of_the_window_is_recent() -> None:
    assert Composition("strict", "relaxed").recent(101) == 51
    assert Composition("strict", "relaxed", buffer=20).recent(101) == 20
    assert Composition("strict").recent(101) == 0


def test_more_than_half_would_not_be_exact() -> None:
    with pytest.raises(QueryError, match="at most 51"):
        Composition("strict", "relaxed", buffer=52).recent(101)
