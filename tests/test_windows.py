"""Durations, borders and panes, against drawings and against counting by hand."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topwater.errors import QueryError
from topwater.model import Arrivals, Items
from topwater.windows import FARTHEST, Windows, counting, millis, sliding, tumbling

spans = st.builds(
    lambda step, more, start: Windows(step + more, step, start=start),
    st.integers(1, 12),
    st.integers(0, 30),
    st.integers(-40, 40),
)


class TestDurations:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("5ms", 5),
            ("5 MS", 5),
            ("250 ms", 250),
            ("90s", 90_000),
            ("1 sec", 1_000),
            ("3 secs", 3_000),
            ("2 seconds", 2_000),
            ("9m", 540_000),
            ("9 min", 540_000),
            ("2 mins", 120_000),
            ("1 minute", 60_000),
            ("1.5h", 5_400_000),
            (" 2 hours ", 7_200_000),
            ("1d", 86_400_000),
            ("2 days", 172_800_000),
            ("PT9M", 540_000),
            ("PT1M30S", 90_000),
            ("PT0.25S", 250),
            ("P1DT1H", 90_000_000),
            ("P2D", 172_800_000),
            ("pt1s", 1_000),
        ],
    )
    def test_texts(self, text: str, expected: int) -> None:
        assert millis(text) == expected

    def test_every_unit_alone_and_in_the_plural(self) -> None:
        for unit, one in (("sec", 1_000), ("minute", 60_000), ("hour", 3_600_000)):
            assert millis(f"1 {unit}") == millis(f"1 {unit}s") == one

    @pytest.mark.parametrize("span", [7, np.int64(7), np.int16(7), timedelta(milliseconds=7)])
    def test_numbers_are_milliseconds(self, span: Any) -> None:
        assert (millis(span), type(millis(span))) == (7, int)

    @given(st.integers(0, 10**12))
    def test_timedelta(self, span: int) -> None:
        assert millis(timedelta(milliseconds=span)) == span

    @pytest.mark.parametrize(
        "span",
        [
            *("", "9", "min", "9 parsecs", "1w", "-3s", "2ss", "3 mss", "P", "PT", "P1M", "1h30m"),
            *("9" * 400 + "d", "1e3s", "0x1s", "3x", None, True, 1.5, [9], b"9s"),
        ],
    )
    def test_what_is_no_duration(self, span: Any) -> None:
        with pytest.raises(QueryError, match=r"^lateness: .* is not a duration\n  fix: write mil"):
            millis(span, field="lateness")


class TestBorders:
    def test_open_on_the_left_closed_on_the_right(self) -> None:
        """Width 9, slide 3, t0 = 1: the windows of the AcquaTop paper.

        ::

            time  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19
            W0    (────────────────────────]
            W1             (────────────────────────]
            W2                      (────────────────────────]
            W3                               (────────────────────────]
            pane   0───────  1───────  2───────  3───────
        """
        nine = sliding(9, 3, start=1)
        assert [(w.start, w.end) for w in map(nine.window, range(4))] == [
            (1, 10),
            (4, 13),
            (7, 16),
            (10, 19),
        ]
        found = {
            time: list(range(nine.span_of(pane)[0], nine.span_of(pane)[1] + 1))
            for time, pane in zip(
                (2, 4, 5, 10, 11), nine.pane_of(np.array([2, 4, 5, 10, 11])).tolist(), strict=True
            )
        }
        assert found == {2: [0], 4: [0], 5: [0, 1], 10: [0, 1, 2], 11: [1, 2, 3]}
        assert nine.pane_of(np.array([1, 0])).tolist() == [-1, -1]  # in no window

    def test_width_no_multiple_of_the_step(self) -> None:
        """Width 100, step 60: panes of 20, five to a window, three to a step.

        ::

            time  0    20   40   60   80  100  120  140  160  180  200  220
            W0    (────────────────────────]
            W1                   (────────────────────────]
            W2                                  (────────────────────────]
        """
        hundred = sliding("100 ms", "60 ms")
        assert (hundred.pane, hundred.panes_per_window, hundred.panes_per_step) == (20, 5, 3)
        assert hundred.overlap == 2
        times = np.array([1, 60, 61, 100, 101, 120, 121, 160, 161])
        spans = [hundred.span_of(pane) for pane in hundred.pane_of(times).tolist()]
        assert spans[:3] == [(0, 0), (0, 0), (0, 1)]
        assert spans[3:] == [(0, 1), (1, 1), (1, 1), (1, 2), (1, 2), (2, 2)]

    def test_tumbling(self) -> None:
        """::

        time  0         10        20
        W0    (─────────]
        W1              (─────────]
        """
        ten = tumbling(10)
        assert (ten.width, ten.step, ten.pane, ten.overlap) == (10, 10, 10, 1)
        assert ten.pane_of(np.array([1, 10, 11, 20])).tolist() == [0, 0, 1, 1]
        assert [ten.span_of(pane) for pane in (0, 1)] == [(0, 0), (1, 1)]

    def test_counting(self) -> None:
        """The first event has position 1.

        ::

            position  1  2  3  4  5  6  7  8
            W0        ──────────]
            W1              ──────────]
        """
        four = counting(4, 2)
        assert four == Windows(4, 2, by="count")
        assert (four.window(0).start, four.window(0).end) == (0, 4)
        assert [four.span_of(p) for p in four.pane_of(np.array([1, 2, 3, 4, 5])).tolist()] == [
            (0, 0),
            (0, 0),
            (0, 1),
            (0, 1),
            (1, 2),
        ]
        assert counting(5) == counting(5, 5) == counting(np.int64(5))  # type: ignore[arg-type]

    @given(spans, st.integers(-60, 120))
    def test_a_time_is_in_the_windows_that_its_pane_is_in(self, spans: Windows, time: int) -> None:
        pane = int(spans.pane_of(np.array([time]))[0])
        holding = [i for i in range(400) if spans.window(i).start < time <= spans.window(i).end]
        assert (pane < 0) == (not holding)
        if holding:
            assert spans.span_of(pane) == (holding[0], holding[-1])
            assert holding == [i for i in range(400) if _between(pane, spans.panes_in(i))]
            assert len(holding) <= spans.overlap

    @given(spans, st.integers(-100, 300))
    def test_last_complete(self, spans: Windows, watermark: int) -> None:
        complete = [i for i in range(700) if spans.window(i).end < watermark]
        last = spans.last_complete(watermark)
        assert last == complete[-1] if complete else last < 0

    @given(spans, st.sets(st.integers(0, 200), min_size=1))
    def test_leaves_gap(self, spans: Windows, panes: set[int]) -> None:
        ordered = np.array(sorted(panes))
        gaps = [
            any(
                spans.panes_in(i)[0] > a and spans.panes_in(i)[1] < b
                for i in range(b // spans.panes_per_step + 1)
            )
            for a, b in pairwise(ordered.tolist())
        ]
        assert spans.leaves_gap(ordered).tolist() == gaps


def _between(pane: int, ends: tuple[int, int]) -> bool:
    return ends[0] <= pane <= ends[1]


def _items(times: list[int]) -> Items:
    at = np.array(times, np.int64)
    return Items(np.arange(len(at), dtype=np.float64), at, np.arange(len(at)))


def _grouped(arrivals: Arrivals) -> dict[int, list[int]]:
    assert len(arrivals.bounds) == len(arrivals.panes) + 1
    assert arrivals.bounds[0] == 0
    assert arrivals.bounds[-1] == len(arrivals) == len(arrivals.items.score)
    assert (np.diff(arrivals.panes) > 0).all()
    assert (np.diff(arrivals.bounds) > 0).all()
    assert arrivals.panes.dtype == arrivals.bounds.dtype == np.int64
    return {
        int(pane): arrivals.items.key[arrivals.bounds[j] : arrivals.bounds[j + 1]].tolist()
        for j, pane in enumerate(arrivals.panes)
    }


def _by_hand(spans: Windows, times: list[int]) -> dict[int, list[int]]:
    panes: dict[int, list[int]] = {}
    for row, time in enumerate(times):
        pane = next(
            p
            for p in range(-(10**4), 10**4)
            if spans.start + p * spans.pane < time <= spans.start + (p + 1) * spans.pane
        )
        panes.setdefault(pane, []).append(row)
    return panes


class TestGroup:
    @settings(max_examples=60, deadline=None)
    @given(spans, st.lists(st.integers(-50, 300), max_size=30), st.booleans())
    def test_equals_grouping_by_hand(
        self, spans: Windows, times: list[int], ascending: bool
    ) -> None:
        times = sorted(times) if ascending else times
        assert _grouped(spans.group(_items(times))) == _by_hand(spans, times)

    def test_empty(self) -> None:
        arrivals = Windows(9, 3).group(_items([]))
        assert len(arrivals) == len(arrivals.panes) == 0
        assert arrivals.bounds.tolist() == [0]

    @pytest.mark.parametrize("ascending", [True, False])
    def test_huge_gaps_cost_nothing(self, ascending: bool) -> None:
        times = [1, 2, 10**9, 10**15, FARTHEST - 1]
        times = times if ascending else times[::-1]
        found = _grouped(Windows(1, 1).group(_items(times)))
        assert sorted(found) == [0, 1, 10**9 - 1, 10**15 - 1, FARTHEST - 2]

    def test_the_farthest_settings_do_not_overflow(self) -> None:
        far = Windows(FARTHEST - 1, 1, start=-(FARTHEST - 1))
        pane = int(far.pane_of(np.array([FARTHEST - 1]))[0])
        assert pane == 2 * (FARTHEST - 1) - 1
        assert far.span_of(pane) == (pane - (FARTHEST - 2), pane)


@pytest.mark.parametrize(
    ("settings", "field", "told"),
    [
        ({"width": 0}, "window.width", "must be positive, not 0"),
        ({"width": -9}, "window.width", "must be positive"),
        ({"step": 0}, "window.step", "must be positive"),
        ({"step": -3}, "window.step", "must be positive"),
        ({"width": 2}, "window.width", "shorter than the step 3"),
        ({"width": 9.0}, "window.width", "must be a whole number, not 9.0"),
        ({"step": "3"}, "window.step", "must be a whole number"),
        ({"width": True}, "window.width", "must be a whole number"),
        ({"start": None}, "window.start", "must be a whole number"),
        ({"start": 0.5}, "window.start", "must be a whole number"),
        ({"start": FARTHEST}, "window.start", "too far"),
        ({"start": -FARTHEST}, "window.start", "too far"),
        ({"width": 10**30}, "window.width", "too far"),
        ({"by": "rows"}, "window.by", "'rows' is unknown"),
        ({"by": []}, "window.by", "is unknown"),
        ({"by": "count", "start": 1}, "window.start", "count windows start at the first event"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any], field: str, told: str) -> None:
    with pytest.raises(QueryError, match=re.escape(told)) as caught:
        Windows(**{"width": 9, "step": 3, **settings})
    assert caught.value.field == field
    assert caught.value.fix


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: sliding("9 parsecs", 3), "window.width"),
        (lambda: sliding("9s", None), "window.step"),  # type: ignore[arg-type]
        (lambda: sliding("1s", "2s"), "window.width"),
        (lambda: sliding("0.1ms", "0.1ms"), "window.width"),
        (lambda: tumbling(0), "window.width"),
        (lambda: tumbling(True), "window.width"),
        (lambda: sliding(9, 3, start="now"), "window.start"),  # type: ignore[arg-type]
        (lambda: counting(0), "window.width"),
        (lambda: counting(4, 8), "window.width"),
        (lambda: counting(4, 0), "window.step"),
        (lambda: counting("4"), "window.width"),  # type: ignore[arg-type]
        (lambda: counting(2.5), "window.width"),  # type: ignore[arg-type]
    ],
)
def test_makers_name_the_setting(make: Any, field: str) -> None:
    with pytest.raises(QueryError) as caught:
        make()
    assert caught.value.field == field
    assert caught.value.fix
