"""Views of values, for a notebook: values ask here for their own, and never know who draws it.

:mod:`topwater` says where the views are, by :func:`provide`; they are loaded when the first one is
wanted. So the nouns import nothing that draws, and are drawn all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture: a notebook shows it, and :meth:`save` writes it to a file.

    Attributes
    ----------
    svg
        The picture as SVG.
    """

    svg: str

    def _repr_html_(self) -> str:
        return html_view(self)

    def __repr__(self) -> str:
        return f"<Chart of {len(self.svg):,} characters of SVG: save(path) writes it>"

    def save(self, path: str | Path) -> Path:
        """Write it as an SVG file, which browsers and word processors open."""
        place = Path(path)
        style = "text { font: 11px system-ui, sans-serif } .grid { stroke: #8886 }"
        namespace = '<svg xmlns="http://www.w3.org/2000/svg" '
        text = self.svg.replace("<svg ", namespace, 1).replace(">", f"><style>{style}</style>", 1)
        place.write_text(text, encoding="utf-8")
        return place


class View(NamedTuple):
    """How values of one type are shown: as HTML, and as a picture where there is one."""

    html: Callable[[Any], str]
    chart: Callable[[Any], Chart] | None = None


Views: TypeAlias = Mapping[type, View]
_providers: list[Callable[[], Views]] = []


def provide(views: Callable[[], Views]) -> None:
    """Say where views of more types are; called when one is first wanted."""
    _providers.append(views)
    _known.cache_clear()


@cache
def _known() -> dict[type, View]:
    return {kind: view for views in _providers for kind, view in views().items()}


def html_view(value: object) -> str:
    """A value as HTML; its ``repr`` if nobody provides a view of it."""
    view = _known().get(type(value))
    return f"<pre>{escape(repr(value))}</pre>" if view is None else view.html(value)


def chart_view(value: object) -> Chart:
    """The picture of a value.

    Raises
    ------
    LookupError
        If nobody provides one.
    """
    view = _known().get(type(value))
    if view is None or view.chart is None:
        raise LookupError(f"there is no picture of a {type(value).__name__}")
    return view.chart(value)
