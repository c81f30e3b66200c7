"""All HTML that is written in Python comes from the templates here: escaped, without scripts.

A page is complete in itself, and readable in light and dark, and on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from topwater.model import Answer, Row, number_text
from topwater.problems import NEVER, in_words
from topwater.windows import span


class TextCell(NamedTuple):
    """A cell of a kind that the style knows: ``text``, ``yes`` or ``no``."""

    text: str
    kind: str = "text"


class Table(NamedTuple):
    """Titles, and rows of numbers, text and :class:`TextCell` values."""

    head: Sequence[object]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a page; what is empty is left out, and the rest is shown in this order.

    Attributes
    ----------
    title
        The heading.
    lead, cards
        What the page is about; and the figures that matter most, each with what it is.
    code, paragraphs
        A command, and text.
    legend, charts
        Colours by name, and pictures as SVG, which is taken as it is.
    answer
        A ranking.
    tables, note
        Tables, side by side if there are several; and what is to be known of it all.
    """

    title: str = ""
    lead: str = ""
    cards: Sequence[tuple[str, str]] = ()
    code: str = ""
    paragraphs: Sequence[str] = ()
    legend: Mapping[str, str] = field(default_factory=dict)
    charts: Sequence[str] = ()
    answer: Answer | None = None
    tables: Sequence[Table] = ()
    note: str = ""

    @property
    def empty(self) -> bool:
        """Whether there is nothing below the heading."""
        return not (
            any((self.lead, self.cards, self.code, self.paragraphs, self.legend, self.charts))
            or any((self.answer, self.tables, self.note))
        )


def page(title: str, about: str, sections: Sequence[Section], *, kind: str = "") -> str:
    """A whole page; ``kind`` is a class of the style, as ``"story"`` for narrow columns."""
    shown = [section for section in sections if not section.empty]
    return render("page.html", title=title, about=about, sections=shown, kind=kind)


def render(template: str, **values: Any) -> str:
    """A template with its values. They are text, and shown as such, whatever is in them.

    Examples
    --------
    >>> answer_of = render("chart.html", svg="<svg></svg>")
    >>> answer_of.startswith('<div class="topwater">'), answer_of.endswith("<svg></svg></div>")
    (True, True)
    """
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("topwater.show"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "age": age_text,
        "best": _best_score,
        "cell": _cell_text,
        "number": number_text,
        "percent": "{:.0%}".format,
        "percent_wide": _percent_wide,
    }
    return made


def age_text(row: Row) -> str:
    """How long ago the remote value was looked up, or why it is only assumed."""
    if row.assumed is not None:
        return "never" if row.assumed == NEVER else in_words(row.assumed)
    if row.age is None:
        return "never"
    return "now" if row.age == 0 else f"{span(row.age)} ago"


def _best_score(answer: Answer) -> float:
    """The greatest size of a score, which has the longest bar; 1 if there is none."""
    sizes = (abs(score) for score in answer.scores if math.isfinite(score))
    return max(sizes, default=0.0) or 1.0


def _percent_wide(share: float) -> str:
    """How much of a bar is filled, for a style."""
    return f"{100 * min(abs(share), 1.0):.0f}%" if math.isfinite(share) else "0%"


def _cell_text(cell: object) -> str:
    return f"{cell:.1f}" if isinstance(cell, float) else str(cell)
