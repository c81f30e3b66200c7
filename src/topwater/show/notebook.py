"""How values look in a notebook: escaped, without scripts, in the colours of their surroundings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from topwater.model import Answer, Counts, Freshness, Row
from topwater.query import TopKQuery
from topwater.show.charts import bar_chart
from topwater.show.explain import promise, steps
from topwater.windows import span

ANSWER_STYLE = """
.topwater { font-size: 13px; line-height: 1.45; overflow-x: auto; }
.topwater table { border-collapse: collapse; margin: .3rem 0; display: table; font-size: inherit; }
.topwater th, .topwater td { padding: .15rem .6rem; text-align: left; background: none;
  border: 0 solid rgba(128, 128, 140, .35); border-bottom-width: 1px; }
.topwater th { font-weight: 600; opacity: .75; } .topwater td.number { text-align: right;
  font-variant-numeric: tabular-nums; }
.topwater .bar { display: inline-block; width: 7rem; height: .6rem; margin-right: .5rem;
  border-radius: .2rem; background: rgba(128, 128, 140, .25); vertical-align: middle; }
.topwater .bar i { display: block; height: 100%; border-radius: .2rem; background: #d6403a; }
.topwater .bar.estimate { width: 3rem; } .topwater .bar.estimate i { background: #2f9e6e; }
.topwater .soft { opacity: .75; } .topwater svg { max-width: 46rem; width: 100%; height: auto; }
.topwater svg text { font: 11px system-ui, sans-serif; fill: currentColor; }
.topwater svg text.title { font-size: 13px; }
.topwater svg .grid { stroke: currentColor; stroke-opacity: .18; }
"""
_EARLIEST = 100_000_000_000
"""Window ends before this (in 1973) are shown as they are: positions, or times of an example."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture: a notebook shows it, and :meth:`save` writes it down.

    Attributes
    ----------
    svg
        The picture as SVG.
    """

    svg: str

    def _repr_html_(self) -> str:
        return framed(self.svg)

    def __repr__(self) -> str:
        return f"<Chart of {len(self.svg):,} characters of SVG: save(path) writes it>"

    def save(self, path: str | Path) -> Path:
        """Write it as an SVG file, which browsers and word processors open."""
        found = Path(path)
        style = "text { font: 11px system-ui, sans-serif } .grid { stroke: #8886 }"
        namespace = '<svg xmlns="http://www.w3.org/2000/svg" '
        text = self.svg.replace("<svg ", namespace, 1).replace(">", f"><style>{style}</style>", 1)
        found.write_text(text, encoding="utf-8")
        return found


def framed(body: str) -> str:
    """Markup with the style that it needs."""
    return f'<div class="topwater"><style>{ANSWER_STYLE}</style>{body}</div>'


def answer_html(answer: Answer) -> str:
    """An answer as a notebook shows it."""
    return framed(ranking_html(answer, framing=False))


def answer_chart(answer: Answer) -> Chart:
    """The scores of an answer, as bars."""
    title = f"{window_text(answer)}{_of_group(answer)}"
    return Chart(bar_chart(title, [str(row.key) for row in answer.rows], answer.scores))


def ranking_html(answer: Answer, *, framing: bool = True) -> str:
    """Ranks with bars, how fresh each value is, and what is known of the answer."""
    remote = answer.freshness is not None
    head = ["", "key", "score", *(["remote", "fetched", "confidence"] if remote else [])]
    most = max((abs(score) for score in answer.scores if math.isfinite(score)), default=0.0)
    rows = "".join(_row_html(row, most, remote=remote) for row in answer.rows)
    titles = "".join(f"<th>{title}</th>" for title in head)
    body = (
        f"<b>{escape(window_text(answer))}{escape(_of_group(answer))}</b> "
        f'<span class="soft">{escape(", ".join(_facts(answer)))}</span>'
        f"<table><tr>{titles}</tr>{rows}</table>"
    )
    return f'<div class="topwater">{body}</div>' if framing else body


def _row_html(row: Row, most: float, *, remote: bool) -> str:
    cells = [_number(row.rank), f"<td>{escape(str(row.key))}</td>"]
    cells.append(f"<td>{_bar(abs(row.score) / most if most else 0.0)}{number_text(row.score)}</td>")
    if remote:
        cells.append(_number("?" if row.remote is None else number_text(row.remote)))
        cells.append(f"<td>{age_text(row)}</td>")
        confidence = row.confidence or 0.0
        cells.append(f"<td>{_bar(confidence, 'estimate')}{confidence:.0%}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _number(value: object) -> str:
    return f'<td class="number">{escape(str(value))}</td>'


def _bar(share: float, kind: str = "") -> str:
    width = 100 * min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0
    return f'<span class="bar {kind}"><i style="width:{width:.0f}%"></i></span>'


def number_text(value: float) -> str:
    """A number as people write it: four digits that matter, and none of a power of ten.

    Examples
    --------
    >>> number_text(476912.25), number_text(0.50831), number_text(3.0)
    ('476,912', '0.5083', '3')
    """
    return f"{value:,.0f}" if 1_000 <= abs(value) < 1e15 else f"{value:.4g}"


def age_text(row: Row) -> str:
    """How long ago the remote value was fetched."""
    if row.age is None:
        return "never"
    return "now" if row.age == 0 else f"{span(row.age)} ago"


def _facts(answer: Answer) -> list[str]:
    """What is to be said of an answer as a whole, the important first."""
    facts = ["exact"] if answer.exact else []
    if answer.freshness is not None:
        facts += _freshness_facts(answer.freshness)
    return [*facts, *_count_facts(answer.counts)]


def _freshness_facts(fresh: Freshness) -> list[str]:
    facts = [f"about {fresh.precision:.0%} right", f"nDCG about {fresh.ndcg:.2f}"]
    facts.append(f"{fresh.fetched} looked up")
    facts += [f"{fresh.failed} failed"] if fresh.failed else []
    facts += [f"{fresh.bad} without a number"] if fresh.bad else []
    return [*facts, "less accurate than asked"] if fresh.missed else facts


def _count_facts(counts: Counts) -> list[str]:
    told = [f"{counts.events:,} events"]
    told += [f"{counts.late:,} late"] if counts.late else []
    told += [f"{counts.bad:,} unusable"] if counts.bad else []
    return told


def window_text(answer: Answer) -> str:
    """The window, as times if they are times."""
    start, end = answer.window.start, answer.window.end
    if end < _EARLIEST:
        return f"({start:,}, {end:,}]"
    first, last = (datetime.fromtimestamp(each / 1_000, UTC) for each in (start, end))
    same = first.date() == last.date()
    return f"{first:%Y-%m-%d %H:%M:%S} – {last:%H:%M:%S}" if same else f"{first} – {last}"


def moment_text(answer: Answer) -> str:
    """The end of the window, short."""
    end = answer.window.end
    if end < _EARLIEST:
        return f"{end:,}"
    when = datetime.fromtimestamp(end / 1_000, UTC)
    return f"{when:%H:%M:%S}" if end % 60_000 else f"{when:%H:%M}"


def _of_group(answer: Answer) -> str:
    return "" if answer.group is None else f", {answer.group}"


def answer_text(answer: Answer) -> str:
    """An answer in one line."""
    rows = [f"{row.rank}. {row.key!r} ({number_text(row.score)})" for row in answer.rows]
    more = [f"and {len(rows) - 5} more"] if len(rows) > 5 else []
    told = ", ".join([*rows[:5], *more]) or "nothing"
    return f"<Answer {window_text(answer)}{_of_group(answer)}: {told}; {', '.join(_facts(answer))}>"


def query_text(query: TopKQuery) -> str:
    """A query in one line."""
    told = dict(steps(query))
    remote = f", with {told['remote']}" if "remote" in told else ""
    ranked = told["score"].removesuffix(", the largest first")
    return f"<TopKQuery: the {query.k} best by {ranked}, over {told['window']}{remote}>"


def query_html(query: TopKQuery) -> str:
    """A query, explained."""
    rows = _lines((f"<b>{escape(title)}</b>", escape(text)) for title, text in steps(query))
    return framed(
        f"<b>The {query.k} best of each window</b><table>{rows}</table>"
        f'<span class="soft">{escape(promise(query))}</span>'
    )


def _lines(pairs: Iterable[Sequence[str]]) -> str:
    return "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in pair)}</tr>" for pair in pairs)


def answers_html(answers: Sequence[Answer], shown: int = 12) -> str:
    """Many answers: one line for each of the last ones."""
    last = answers[-shown:]
    remote = any(answer.freshness is not None for answer in last)
    titles = ["window", "best first", *(["about right", "looked up"] if remote else []), "events"]
    head = "".join(f"<th>{title}</th>" for title in titles)
    rows = "".join(f"<tr>{_answer_cells(answer, remote=remote)}</tr>" for answer in last)
    left = len(answers) - len(last)
    before = f'<span class="soft">, the last {len(last)} of them</span>' if left else ""
    number = f"{len(answers):,} answer{'s' * (len(answers) != 1)}"
    return framed(f"<b>{number}</b>{before}<table><tr>{head}</tr>{rows}</table>")


def _answer_cells(answer: Answer, *, remote: bool) -> str:
    keys = ", ".join(str(key) for key in answer.keys[:10])
    cells = [
        f"<td>{escape(moment_text(answer))}{escape(_of_group(answer))}</td>",
        f"<td>{escape(keys)}</td>",
    ]
    if remote and answer.freshness is not None:
        precision, fetched = answer.freshness.precision, answer.freshness.fetched
        cells += [f"<td>{_bar(precision, 'estimate')}{precision:.0%}</td>", _number(fetched)]
    elif remote:
        cells += ["<td></td>", "<td></td>"]
    return "".join([*cells, _number(f"{answer.counts.events:,}")])
