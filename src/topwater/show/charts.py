"""Charts as SVG text: no dependency, no script, readable in light and dark."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import cycle

_WIDTH, _HEIGHT = 560, 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 30, 44
_MOST_TICKS = 12
_ROW = 26
_LABEL = 90
"""The height of a row of bars or ranks, and the width of what stands beside it."""

_PALETTE = (
    "#d6403a",
    "#3f7fbf",
    "#c98a1b",
    "#5f9e4a",
    "#8a5fc9",
    "#4aa3a2",
    "#c25fa8",
    "#8a8a8a",
)

_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML has no place for: one such character, and no viewer opens the picture."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line: a value per place on the x axis, and how far the data sets reach around it."""

    name: str
    values: Sequence[float]
    colour: str
    spread: Sequence[tuple[float, float]] = ()
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    high: float
    places: int

    def x(self, place: float) -> float:
        inner = _WIDTH - _LEFT - _RIGHT
        return _LEFT + inner * ((place + 0.5) / self.places)

    def y(self, value: float) -> float:
        inner = _HEIGHT - _TOP - _BOTTOM
        return _TOP + inner * (1.0 - (value - self.low) / (self.high - self.low))


def line_chart(title: str, x_label: str, places: Sequence[str], lines: Sequence[Series]) -> str:
    """Lines over equally spaced places, with bars from the least to the greatest data set.

    Examples
    --------
    >>> chart = line_chart("growth", "day", ["1", "2"], [Series("a", [1.0, 2.0], "#888")])
    >>> chart.startswith("<svg"), chart.count("<polyline")
    (True, 1)
    """
    low, high, step = _rounded(lines)
    scale = _Scale(low, high, len(places))
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{_text(title)}">',
        f'<text class="title" x="{_LEFT}" y="18">{_text(title)}</text>',
        *_grid(scale, step),
        *_places(scale, places, x_label),
        *(_line(scale, line, places) for line in lines),
        "</svg>",
    ]
    return "".join(parts)


def _text(text: str) -> str:
    return escape(_UNWRITABLE.sub("\ufffd", text))


def _rounded(lines: Sequence[Series]) -> tuple[float, float, float]:
    """An axis that holds all values, with four to ten round steps."""
    values = [v for line in lines for v in line.values if math.isfinite(v)]
    values += [v for line in lines for pair in line.spread for v in pair if math.isfinite(v)]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if high - low < 1e-9:
        margin = max(0.5, abs(low) / 1_000)
        low, high = low - margin, high + margin
    step = float(10 ** math.floor(math.log10((high - low) / 2)))
    for factor in (2.5, 2.0, 2.0):
        if (high - low) / step > 8:
            step *= factor
    return math.floor(low / step) * step, math.ceil(high / step) * step, step


def _grid(scale: _Scale, step: float) -> list[str]:
    parts = []
    for at in range(round((scale.high - scale.low) / step) + 1):
        value = scale.low + at * step
        y = scale.y(value)
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    return parts


def _places(scale: _Scale, places: Sequence[str], label: str) -> list[str]:
    every = _every(places, _WIDTH - _LEFT - _RIGHT)
    ticks = [
        f'<text x="{scale.x(at):.1f}" y="{_HEIGHT - 24}" text-anchor="middle">{_text(name)}</text>'
        for at, name in enumerate(places)
        if at % every == 0
    ]
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    ticks.append(
        f'<text x="{middle:.1f}" y="{_HEIGHT - 6}" text-anchor="middle">{_text(label)}</text>'
    )
    return ticks


def _every(places: Sequence[str], room: int) -> int:
    """Which places are named: so few that names do not meet."""
    widest = 12 + 6 * max(map(len, places), default=0)
    return math.ceil(len(places) / min(_MOST_TICKS, max(1, room // widest))) or 1


def _line(scale: _Scale, line: Series, places: Sequence[str]) -> str:
    points = [
        (scale.x(at), scale.y(value), at)
        for at, value in enumerate(line.values)
        if math.isfinite(value)
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    dash = ' stroke-dasharray="5 4"' if line.dashed else ""
    parts = [
        f'<polyline fill="none" stroke="{line.colour}" stroke-width="2"{dash} points="{path}"/>'
    ]
    for at, (low, high) in enumerate(line.spread):
        x = scale.x(at)
        parts.append(
            f'<line stroke="{line.colour}" opacity=".5" x1="{x:.1f}" x2="{x:.1f}" '
            f'y1="{scale.y(low):.1f}" y2="{scale.y(high):.1f}"/>'
        )
    if len(points) <= 2 * _MOST_TICKS:
        parts += [_dot(line, x, y, places[at], line.values[at]) for x, y, at in points]
    return "".join(parts)


def _dot(line: Series, x: float, y: float, place: str, value: float) -> str:
    label = _text(f"{line.name}, {place}: {value:.4g}")
    place_and_fill = f'cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{line.colour}"'
    return f"<circle {place_and_fill}><title>{label}</title></circle>"


def bar_chart(title: str, names: Sequence[str], values: Sequence[float]) -> str:
    """A bar for each name, from zero to its value.

    Examples
    --------
    >>> bar_chart("scores", ["a", "b"], [2.0, 1.0]).count("<rect")
    2
    """
    most = max((abs(value) for value in values if math.isfinite(value)), default=0.0) or 1.0
    room = _WIDTH - _LABEL - 60
    parts = [_svg_head(title, _TOP + _ROW * len(names) + 8)]
    for at, (name, value) in enumerate(zip(names, values, strict=True)):
        y = _TOP + _ROW * at
        long = room * abs(value) / most if math.isfinite(value) else 0.0
        parts.append(
            f'<text x="{_LABEL - 8}" y="{y + 16}" text-anchor="end">{_text(_short(name))}</text>'
            f'<rect x="{_LABEL}" y="{y + 4}" width="{long:.1f}" height="{_ROW - 9}" rx="3" '
            f'fill="{_PALETTE[0]}"/>'
            f'<text x="{_LABEL + long + 6:.1f}" y="{y + 16}">{value:.4g}</text>'
        )
    return "".join([*parts, "</svg>"])


def bump_chart(
    title: str, places: Sequence[str], ranks: Mapping[str, Sequence[int | None]], k: int
) -> str:
    """Who is at which rank, place by place; a line breaks where there is no rank.

    Examples
    --------
    >>> bump_chart("ranks", ["1", "2", "3"], {"a": [1, None, 2]}, 2).count("<circle")
    2
    """
    coloured = dict(zip(ranks, cycle(_PALETTE), strict=False))
    gone = [name for name, found in ranks.items() if not found or found[-1] is None]
    foot = _TOP + _ROW * k + 20
    parts = [_svg_head(title, foot + (28 if gone else 8)), *_rank_lines(k)]
    every = _every(places, _WIDTH - _LEFT - _LABEL)
    parts += [
        f'<text x="{_place_x(at, places):.1f}" y="{foot}" text-anchor="middle">'
        f"{_text(place)}</text>"
        for at, place in enumerate(places)
        if at % every == 0
    ]
    for name, found in ranks.items():
        parts.append(_bumps(name, found, places, coloured[name]))
        if found and found[-1] is not None:
            place = f'x="{_WIDTH - _LABEL + 6}" y="{_rank_y(found[-1]) + 4}"'
            parts.append(f"<text {place}>{_tinted(name, coloured[name])}</text>")
    if gone:
        names = " ".join(_tinted(name, coloured[name]) for name in gone)
        parts.append(f'<text x="{_LEFT}" y="{foot + 20}">earlier: {names}</text>')
    return "".join([*parts, "</svg>"])


def _rank_lines(k: int) -> list[str]:
    return [
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _LABEL}" y1="{y}" y2="{y}"/>'
        f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{rank}</text>'
        for rank, y in ((rank, _rank_y(rank)) for rank in range(1, k + 1))
    ]


def _tinted(name: str, colour: str) -> str:
    return f'<tspan style="fill:{colour}">{_text(_short(name))}</tspan>'


def _svg_head(title: str, height: int) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{_text(title)}">'
        f'<text class="title" x="{_LEFT}" y="18">{_text(title)}</text>'
    )


def _short(name: str) -> str:
    return name if len(name) <= 13 else f"{name[:12]}…"


def _rank_y(rank: int) -> int:
    return _TOP + _ROW * (rank - 1) + _ROW // 2


def _place_x(at: int, places: Sequence[str]) -> float:
    return _LEFT + 8 + (_WIDTH - _LEFT - _LABEL - 16) * at / max(1, len(places) - 1)


def _bumps(name: str, ranks: Sequence[int | None], places: Sequence[str], colour: str) -> str:
    """The dots of one name, and lines between those that are neighbours."""
    parts = []
    for at, rank in enumerate(ranks):
        if rank is None:
            continue
        x, y = _place_x(at, places), _rank_y(rank)
        label = _text(f"{name}, {places[at]}: {rank}")
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y}" r="4" fill="{colour}"><title>{label}</title></circle>'
        )
        before = ranks[at - 1] if at else None
        if before is not None:
            start = f'x1="{_place_x(at - 1, places):.1f}" y1="{_rank_y(before)}"'
            parts.append(
                f'<line stroke="{colour}" stroke-width="2.5" {start} x2="{x:.1f}" y2="{y}"/>'
            )
    return "".join(parts)
