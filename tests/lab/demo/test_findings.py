"""What the demo counts."""

from __future__ import annotations

from tests.support.demo_played import reported


def test_look_ups_are_counted_by_what_they_brought() -> None:
    seen = reported().looked_up
    assert seen.keys == 25 * 7 == seen.first + seen.changed + seen.same + seen.lost
    assert (seen.windows, seen.lost) == (25, 0)
    assert seen.better > seen.worse
    assert seen.without < reported().ours.ndcg
