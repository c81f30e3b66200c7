"""How values look in a notebook: escaped, without scripts, in the colours of their surroundings."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from topwater.model import FIRST_DATE, Answer
from topwater.query import TopKQuery
from topwater.show.charts import bar_chart
from topwater.show.explain import Explanation, explanation
from topwater.show.pages import render
from topwater.views import Chart, View, Views

_SHOWN = 12
"""Of many answers, how many are listed."""


def chart_html(chart: Chart) -> str:
    """A picture."""
    return render("chart.html", svg=chart.svg)


def answer_html(answer: Answer) -> str:
    """Ranks with bars, how fresh each value is, and what is known of the answer."""
    return render("answer.html", answer=answer)


def answer_chart(answer: Answer) -> Chart:
    """The scores of an answer, as bars."""
    return Chart(bar_chart(answer.title, [str(row.key) for row in answer.rows], answer.scores))


def explanation_html(explained: Explanation) -> str:
    """What a query does, and what it promises."""
    return render("explanation.html", **explained.to_dict())


def query_html(query: TopKQuery) -> str:
    """A query, explained."""
    return explanation_html(explanation(query))


def answers_html(answers: Sequence[Answer]) -> str:
    """Many answers: one line for each of the last ones."""
    last = answers[-_SHOWN:]
    lines = [(_place(answer), answer) for answer in last]
    remote = any(answer.freshness is not None for answer in last)
    return render("answers.html", answers=lines, number=len(answers), remote=remote)


def _place(answer: Answer) -> str:
    return moment_text(answer) + ("" if answer.group is None else f", {answer.group}")


def moment_text(answer: Answer) -> str:
    """The end of the window, short."""
    end = answer.window.end
    if end < FIRST_DATE:
        return f"{end:,}"
    when = datetime.fromtimestamp(end / 1_000, UTC)
    return f"{when:%H:%M:%S}" if end % 60_000 else f"{when:%H:%M}"


VIEWS: Views = {
    Answer: View(answer_html, answer_chart),
    Chart: View(chart_html),
    Explanation: View(explanation_html),
    TopKQuery: View(query_html),
}
"""By type; what is not here is shown by its ``repr``."""
