"""Pieces in chunks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater import StateError
from topwater.monitor.journal_chunks import MOST, cut, joined


@given(st.binary(max_size=50), st.integers(1, 12))
def test_what_is_cut_can_be_joined(content: bytes, most: int) -> None:
    chunks = cut("panes 3", content, most)
    assert len(chunks) == max(1, -(-len(content) // most))
    assert joined("panes 3", chunks) == content


def test_no_chunk_is_much_larger_than_the_most() -> None:
    chunks = cut("replica 12", bytes(2 * MOST + 1))
    assert [len(chunk) // MOST for chunk in chunks] == [1, 1, 0]
    assert max(map(len, chunks)) < MOST + 100


@pytest.mark.parametrize("place", [0, 4, 6, 20, -1])
def test_a_damaged_chunk_is_named(place: int) -> None:
    first, second = cut("panes 3", b"abcdefgh", 4)
    damaged = bytearray(second)
    damaged[place] ^= 1
    with pytest.raises(StateError, match="panes 3, chunk 2 of 2, is damaged"):
        joined("panes 3", [first, bytes(damaged)])


def test_a_missing_chunk_and_one_of_another_piece_are_named() -> None:
    first, second = cut("panes 3", b"abcdefgh", 4)
    with pytest.raises(StateError, match="panes 3, chunk 1 of 2, is missing"):
        joined("panes 3", [None, second])
    with pytest.raises(StateError, match=r"is not there, but panes 3, chunk 2 of 2 is"):
        joined("panes 3", [second, first])
    with pytest.raises(StateError, match="panes 4, chunk 1 of 1, is not there, but panes 3"):
        joined("panes 4", cut("panes 3", b"abc"))
