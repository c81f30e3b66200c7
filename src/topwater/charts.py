"""Line charts as SVG text: no dependency, no script, readable in light and dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 560, 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 30, 44
_MOST_TICKS = 12


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
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">',
        f'<text class="title" x="{_LEFT}" y="18">{escape(title)}</text>',
        *_grid(scale, step),
        *_places(scale, places, x_label),
        *(_line(scale, line, places) for line in lines),
        "</svg>",
    ]
    return "".join(parts)


def _rounded(lines: Sequence[Series]) -> tuple[float, float, float]:
    """An axis that holds all values, with four to ten round steps."""
    values = [v for line in lines for v in line.values if math.isfinite(v)]
    values += [v for line in lines for pair in line.spread for v in pair if math.isfinite(v)]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
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
    every = math.ceil(len(places) / _MOST_TICKS)
    ticks = [
        f'<text x="{scale.x(at):.1f}" y="{_HEIGHT - 24}" text-anchor="middle">{escape(name)}</text>'
        for at, name in enumerate(places)
        if at % every == 0
    ]
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    ticks.append(
        f'<text x="{middle:.1f}" y="{_HEIGHT - 6}" text-anchor="middle">{escape(label)}</text>'
    )
    return ticks


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
    told = escape(f"{line.name}, {place}: {value:.4g}")
    place_and_fill = f'cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{line.colour}"'
    return f"<circle {place_and_fill}><title>{told}</title></circle>"
