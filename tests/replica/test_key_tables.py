"""The arrays of the index: compiled loops take them apart by place."""

from __future__ import annotations

import numpy as np

from topwater.replica.key_tables import FREE, Arena, Places, Texts


def test_the_order_in_which_they_are_taken_apart() -> None:
    assert Places._fields == ("table", "hashes", "uses")
    assert Texts._fields == ("data", "offsets")
    assert Arena._fields == ("data", "start", "length")


def test_no_number_of_uses_is_that_of_a_free_slot() -> None:
    assert FREE < 0 == np.int32(0)
