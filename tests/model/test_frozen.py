"""A mapping that never changes: what it was made of, and its hash."""

from __future__ import annotations

import pytest

from topwater.model.frozen import Frozen


def test_it_is_the_mapping_it_was_made_of() -> None:
    made = Frozen({"a": 1.0}, b=2.0)
    assert dict(made) == {"a": 1.0, "b": 2.0}
    assert (made["b"], len(made), list(made)) == (2.0, 2, ["a", "b"])
    assert repr(made) == "{'a': 1.0, 'b': 2.0}"


def test_equal_ones_have_one_hash_whatever_their_order() -> None:
    one, other = Frozen(a=1.0, b=2.0), Frozen(b=2.0, a=1.0)
    assert one == other
    assert len({one, other}) == 1
    assert one != Frozen(a=1.0)


def test_what_it_was_made_of_may_change_later() -> None:
    given_ = {"a": 1.0}
    made = Frozen(given_)
    given_["a"] = 2.0
    assert made["a"] == 1.0
    with pytest.raises(TypeError):
        made["a"] = 3.0  # type: ignore[index]
