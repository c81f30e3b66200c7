"""What shards offer, as bytes and together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from topwater.errors import StateError
from topwater.model import Window
from topwater.replica.offers import Offer, joined


def offer(*keys: str, left_out: int = 0) -> Offer:
    size = len(keys)
    return Offer(
        pa.array(keys, pa.large_string()),
        {"n": np.arange(size, dtype=np.float64), "key": np.full(size, 0.5)},
        np.arange(size),
        np.arange(size) % 2 == 0,
        left_out,
        unscored=1,
    )


def test_an_offer_comes_back_from_its_bytes() -> None:
    """A column may have any name, that of the keys too."""
    given = offer("a", "ü", "", left_out=7)
    found = Offer.unpack(given.pack())
    assert found.keys.to_pylist() == ["a", "ü", ""]
    assert {name: each.tolist() for name, each in found.values.items()} == {
        "n": [0.0, 1.0, 2.0],
        "key": [0.5] * 3,
    }
    assert (found.last_event.tolist(), found.nominated.tolist()) == ([0, 1, 2], [True, False, True])
    assert (found.left_out, found.unscored) == (7, 1)


def test_damaged_bytes_are_refused() -> None:
    packed = offer("a").pack()
    with pytest.raises(StateError, match="damaged"):
        Offer.unpack(packed[:-9] + b"?" + packed[-8:])


def test_offers_are_one_view_of_the_window() -> None:
    view = joined(Window(3, 10, 20), [offer("a", "b", left_out=2), offer("c", left_out=1)])
    assert (view.index, view.end, len(view), view.left_out) == (3, 20, 3, 3)
    assert view.keys.tolist() == ["a", "b", "c"]
    assert view.nominated is not None
    assert view.nominated.tolist() == [True, False, True]
    assert view.by_key().keys.tolist() == ["a", "b", "c"]
