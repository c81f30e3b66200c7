"""Which pieces and segments are still needed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from topwater.monitor.strand import BUCKETS, SEGMENT, Piece, Segment, Strand


def test_pieces_go_with_their_panes() -> None:
    strand = Strand([Piece(1, 10, 4, (1,)), Piece(2, 10, 6, (2, 3)), Piece(3, 10, None, (4,))])
    strand.expire(None)
    assert strand.ids() == {1, 2, 3, 4}
    strand.expire(5)
    assert strand.ids() == {2, 3, 4}
    strand.expire(7)
    assert (strand.ids(), strand.logged, strand.dropped) == ({4}, 10, 0)


def test_a_piece_goes_when_all_its_buckets_have_a_younger_image() -> None:
    strand = Strand([Piece(number, 10, None, (number,)) for number in (1, 2, 3)])
    strand.begin_images(2 * SEGMENT)
    assert strand.next_range() == (0, 128)
    strand.add_segment(Segment(2, 7, None, (11,), 0, 128))
    strand.expire(None)
    assert strand.ids() == {1, 2, 3, 11}
    told = strand.buckets_of(Piece(2, 10, None, ()))
    assert told is not None
    assert told.tolist() == [False] * 128 + [True] * 128
    assert strand.buckets_of(Piece(3, 10, None, ())) is None
    strand.add_segment(Segment(3, 7, None, (12,), *strand.next_range()))
    strand.expire(None)
    assert (strand.ids(), strand.dropped, strand.width) == ({3, 11, 12}, 2, 0)


def test_a_segment_goes_when_all_its_buckets_have_another() -> None:
    strand = Strand()
    strand.begin_images(1)
    strand.add_segment(Segment(1, 7, 9, (1,), 0, BUCKETS))
    strand.begin_images(2 * SEGMENT)
    strand.add_segment(Segment(4, 7, 9, (2,), 0, 128))
    strand.expire(None)
    assert [each.ids for each in strand.segments] == [(1,), (2,)]
    told = strand.buckets_of(strand.segments[0])
    assert told is not None
    assert np.flatnonzero(told).tolist() == [*range(128, BUCKETS)]
    strand.add_segment(Segment(5, 0, None, (), 128, BUCKETS))
    strand.expire(None)
    assert [each.ids for each in strand.segments] == [(2,)]


@pytest.mark.parametrize("size", [0, 1, SEGMENT, 3 * SEGMENT, 1_000 * SEGMENT])
def test_images_of_all_buckets_are_made_in_turn(size: int) -> None:
    strand = Strand()
    strand.begin_images(size)
    covered: list[int] = []
    while strand.width:
        low, high = strand.next_range()
        covered += range(low, high)
        strand.add_segment(Segment(1, 1, None, (1,), low, high))
    assert covered == [*range(BUCKETS)]


def test_a_strand_can_be_kept_as_json() -> None:
    strand = Strand([Piece(5, 10, 4, (1, 2))], dropped=3, looked=17)
    strand.begin_images(3 * SEGMENT)
    strand.add_segment(Segment(4, 7, None, (3,), *strand.next_range()))
    again = Strand.from_dict(json.loads(json.dumps(strand.to_dict())))
    assert (again.marks == strand.marks).all()
    assert again.to_dict() == strand.to_dict()


def test_many_small_pieces_are_a_crowd_and_few_large_ones_are_not() -> None:
    small = Strand([Piece(number, 100, None, (number,)) for number in range(70)])
    large = Strand([Piece(number, 100_000, None, (number,)) for number in range(70)])
    assert small.crowded
    assert not large.crowded
