"""Parts of written pages: complete in themselves, readable in light and dark, on a phone too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #222; --soft: #5b5b6b; --line: #d5d7e0; --paper: #fff;
  --card: #f5f6fa; --accent: #c8322c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e4ea; --soft: #a3a5b5; --line: #3c3f4d; --paper: #16171c; --card: #1f2129;
    --accent: #f0736d; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1180px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
.charts { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(min(420px, 100%), 1fr)); }
svg { width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
svg text.title { font-size: 13px; fill: var(--ink); } svg .grid { stroke: var(--line); }
table { border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto; }
th, td { padding: .2rem .55rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child, td.text { text-align: left; }
.legend span { display: inline-block; margin-right: 1.1rem; white-space: nowrap; }
.legend i { display: inline-block; width: 1.1rem; height: .25rem; margin-right: .35rem;
  vertical-align: middle; } .yes { color: #2f9e44; } .no { color: #d6403a; }
p.note, .note { color: var(--soft); }
"""


def page(title: str, about: str, parts: Iterable[str], style: str = "") -> str:
    """A whole page; its parts are markup, the rest is text."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}{style}</style></head><body>"
        f"<h1>{escape(title)}</h1><p class=note>{escape(about)}</p>"
        f"{''.join(parts)}</body></html>\n"
    )


def section(title: str, body: str) -> str:
    """A heading, and markup below it; nothing if there is none."""
    return f"<h2>{escape(title)}</h2>{body}" if body else ""


def legend(colours: Mapping[str, str]) -> str:
    """Which colour is whose."""
    entries = (
        f'<span><i style="background:{colour}"></i>{escape(name)}</span>'
        for name, colour in colours.items()
    )
    return f'<p class="legend">{"".join(entries)}</p>'


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Cells are text, except those of :class:`Marked`.

    Examples
    --------
    >>> table(["a"], [["<b>"]])
    '<table><tr><th>a</th></tr><tr><td>&lt;b&gt;</td></tr></table>'
    """
    lines = ["".join(f"<th>{escape(str(cell))}</th>" for cell in head)]
    lines += ["".join(_cell(cell) for cell in row) for row in rows]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


class Marked(str):
    """A cell that is markup already, with its ``<td>``."""

    __slots__ = ()

    @staticmethod
    def of(text: str, kind: str = "text") -> Marked:
        """A text of a kind that the style knows: ``text``, ``yes`` or ``no``."""
        return Marked(f'<td class="{kind}">{escape(text)}</td>')


def _cell(cell: object) -> str:
    if isinstance(cell, Marked):
        return cell
    return f"<td>{cell:.1f}</td>" if isinstance(cell, float) else f"<td>{escape(str(cell))}</td>"
