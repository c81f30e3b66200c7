"""The report: one HTML page, complete in itself, that tells the story of a run of the demo."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape

import numpy as np

from topwater.model import Answer, LookUp
from topwater.show.charts import Series, line_chart
from topwater.show.notebook import ANSWER_STYLE, ranking_html
from topwater.show.pages import Marked, legend, page, section, table
from topwater_lab.demo.contenders import METRICS, TABLE, Contender, Metric, mean
from topwater_lab.demo.findings import Report, versions
from topwater_lab.demo.scene import K
from topwater_lab.demo.sentences import needs, paid, traffic
from topwater_lab.demo.window_comparison import described, label

_COLOURS = ("#d6403a", "#3f7fbf", "#c98a1b", "#8a8a8a")
_SMOOTH = 5
"""Windows over which the charts take a mean: with five users, one window says little."""

_TOLD = 2
"""Windows whose look-ups are listed."""

_STYLE = """
body { max-width: 62rem; }
.cards { display: grid; gap: .8rem; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); }
.cards div { background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
  padding: .8rem 1rem; }
.cards b { display: block; font-size: 1.9rem; line-height: 1.2; }
.cards div:first-child b { color: var(--accent); }
.lead { font-size: 1.08rem; max-width: 46rem; } p { max-width: 46rem; }
table { margin: .6rem 0; } th:last-child { text-align: left; }
td:first-child { white-space: nowrap; } td.text { min-width: 11rem; }
code, pre { font: 13px/1.5 ui-monospace, monospace; }
pre { background: var(--card); padding: .7rem 1rem; border-radius: .5rem; overflow-x: auto; }
"""


def written(report: Report) -> str:
    """The whole page."""
    when = f"{len(report.answers)} windows, {report.scene.budget} look-ups for each"
    parts = [
        _story(report),
        section("Side by side", _standings(report)),
        section("Window by window", _by_window(report)),
        section("What more look-ups would bring", _by_budget(report)),
        section("The last answer", _last(report)),
        section("What was looked up, and whether it paid", _fetched(report)),
        section("Does an answer know how right it is?", _calibration(report)),
        section("The service", f"<p>{escape(traffic(report))}</p>"),
        section("Once more", _repeat(report)),
    ]
    return page(
        "Who matters most right now?", f"Topwater's demo: {when}.", parts, _STYLE + ANSWER_STYLE
    )


def _story(report: Report) -> str:
    scene, (_, cache, loaded) = report.scene, report.others.shown
    need = report.needed("cache", "ndcg")
    spent = "more than was tried" if need is None else f"{need.contender.fetches:.1f}"
    there = mean(len(view.keys) for view in scene.workload.views)
    cards = (
        (f"{report.ours.ndcg:.3f}", f"nDCG@{K} of {label(report.ours)}, {scene.budget} look-ups"),
        (f"{cache.ndcg:.3f}", f"of a cache ({label(cache)}) with as many"),
        (f"{loaded.ndcg:.3f}", "of a table that is loaded once"),
        (spent, f"look-ups a window that a cache needs for {report.ours.ndcg:.3f}"),
    )
    shown = "".join(f"<div><b>{escape(a)}</b>{escape(b)}</div>" for a, b in cards)
    lead = (
        f"Every minute, a stream of mentions on Spark is asked: who are the {K} users who matter "
        "most in the last 100 seconds? How often each was mentioned is in the stream. How their "
        "following grows is behind a service that allows only so many requests, and it keeps "
        f"changing. A window has {there:.0f} users on average, and {scene.budget} of them can be "
        "looked up. So most of what is known is old, and the question is whom to look up."
    )
    told = "".join(f"<p>{escape(line)}</p>" for line in needs(report))
    return f'<p class="lead">{escape(lead)}</p><div class="cards">{shown}</div>{told}'


def _standings(report: Report) -> str:
    head = ["", f"nDCG@{K}", f"precision@{K}", "look-ups a window", "nDCG won a look-up"]
    head += ["precision won a look-up", "what it is"]
    everyone = (*report.contenders, report.others.everything)
    rows = [_standing(each, report) for each in everyone]
    note = (
        "All have the same stream, and all but the table begin with nothing. The cache fetches "
        "what has expired, in the order of the stream, as far as the budget goes. Won: over the "
        "table that is loaded once, which got all values for nothing. Published policies and "
        "times to live were chosen knowing how it ends."
    )
    return f"{table(head, rows)}<p class=note>{escape(note)}</p>"


def _standing(each: Contender, report: Report) -> list[object]:
    gains = [each.gain(metric, over=report.others.table) for metric in METRICS]
    return [
        label(each),
        f"{each.ndcg:.3f}",
        f"{each.precision:.3f}",
        "all, once" if each.name == TABLE else f"{each.fetches:.1f}",
        *("" if gain is None else f"{gain:+.4f}" for gain in gains),
        Marked.of(_what(each, report)),
    ]


def _what(each: Contender, report: Report) -> str:
    if each is report.others.everything:
        return "all candidates are looked up, whatever it costs"
    return described(each, report.others)


def _by_window(report: Report) -> str:
    shown = (report.ours, *report.others.shown)
    colours = {label(each): colour for each, colour in zip(shown, _COLOURS, strict=True)}
    places = [_clock(answer) for answer in report.answers]
    charts = []
    for metric, name in METRICS.items():
        lines = [
            Series(label(each), _smoothed(each, metric), colours[label(each)], dashed=at == 3)
            for at, each in enumerate(shown)
        ]
        charts.append(line_chart(f"{name}@{K}, mean of {_SMOOTH} windows", "window", places, lines))
    note = "At first all look up users whom they never asked for: they differ when that is done."
    return f"{legend(colours)}{_grid(charts)}<p class=note>{note}</p>"


def _smoothed(contender: Contender, metric: Metric) -> list[float]:
    values = [float(getattr(each, metric)) for each in contender.windows]
    return [mean(values[max(0, at + 1 - _SMOOTH) : at + 1]) for at in range(len(values))]


def _by_budget(report: Report) -> str:
    if not report.rungs:
        return ""
    budgets = sorted({rung.budget for rung in report.rungs})
    names = (("ours", label(report.ours)), ("published", "best published"), ("cache", "TTL cache"))
    colours = {name: colour for (_, name), colour in zip(names, _COLOURS, strict=False)}
    charts = []
    for metric, told in METRICS.items():
        lines = [
            Series(name, [_at(report, kind, metric, each) for each in budgets], colours[name])
            for kind, name in names
        ]
        places = [str(budget) for budget in budgets]
        charts.append(line_chart(f"{told}@{K}", "look-ups allowed for a window", places, lines))
    note = (
        "Published: whichever is better of those that are best above, by nDCG or by precision. The "
        "cache has the time to live that is best for each budget."
    )
    return f"{legend(colours)}{_grid(charts)}<p class=note>{note}</p>"


def _at(report: Report, kind: str, metric: Metric, budget: int) -> float:
    found = [rung for rung in report.rungs if (rung.kind, rung.budget) == (kind, budget)]
    return max((float(getattr(rung.contender, metric)) for rung in found), default=np.nan)


def _last(report: Report) -> str:
    return ranking_html(report.answers[-1]) if report.answers else ""


def _fetched(report: Report) -> str:
    told = f"<p>{escape(paid(report))}</p>"
    rows = [
        [_clock(answer), str(each.key), _moved(each), Marked.of(_effect(answer, each))]
        for answer in report.answers[-_TOLD:]
        for each in answer.looked_up
    ]
    head = ["window", "user", "growth", "so"]
    note = f"The look-ups of the last {_TOLD} windows, in the order in which they were chosen."
    return f"{told}<p class=note>{note}</p>{table(head, rows)}" if rows else told


def _moved(each: LookUp) -> str:
    before = "?" if each.before is None else f"{each.before:g}"
    after = "?" if each.after is None else f"{each.after:g}"
    return f"{before} → {after}" if each.changed or not each.ok else f"{after}, as known"


def _effect(answer: Answer, each: LookUp) -> str:
    rank = next((row.rank for row in answer.rows if row.key == each.key), None)
    if not each.ok:
        return "not answered"
    return "not in the answer" if rank is None else f"rank {rank}"


def _calibration(report: Report) -> str:
    """What answers and rows said of themselves against what they were, in five groups each."""
    fresh = [answer.freshness for answer in report.answers]
    windows = [
        (each.precision, verdict.precision)
        for each, verdict in zip(fresh, report.ours.windows, strict=True)
        if each is not None
    ]
    charts = [
        _groups(windows, f"precision@{K} of answers", "fifth of the answers, by what they said"),
        _groups(
            _rows(report), "rows whose value was right", "fifth of the rows, by what they said"
        ),
    ]
    colours = {"said": "#8a8a8a", "was": _COLOURS[0]}
    return legend(colours) + _grid(charts)


def _rows(report: Report) -> list[tuple[float, float]]:
    """Of each row in an answer: how likely its value was right, and whether it was."""
    remote = report.scene.workload.remote
    found = []
    for answer in report.answers:
        true = remote.at(np.array(answer.keys, np.int64), answer.window.end)
        for row, value in zip(answer.rows, true.tolist(), strict=True):
            if row.confidence is not None:
                found.append((row.confidence, float(row.remote == value)))
    return found


def _groups(pairs: Sequence[tuple[float, float]], title: str, x_label: str) -> str:
    """Pairs of said and was, in five groups of equal size by what was said."""
    ordered = np.array(sorted(pairs)).reshape(-1, 2)
    groups = [part.mean(axis=0) for part in np.array_split(ordered, 5) if len(part)]
    lines = [
        Series("said", [float(group[0]) for group in groups], "#8a8a8a", dashed=True),
        Series("was", [float(group[1]) for group in groups], _COLOURS[0]),
    ]
    return line_chart(title, x_label, [str(at + 1) for at in range(len(groups))], lines)


def _repeat(report: Report) -> str:
    scene = report.scene
    command = (
        f"topwater demo --windows {scene.windows} --budget {scene.budget} --policy {scene.policy} "
        f"--seed {scene.seed}"
    )
    steps = [[name, Marked.of(f"{seconds:.1f} s")] for name, seconds in report.seconds.items()]
    ran = [[name, Marked.of(found)] for name, found in versions().items()]
    same = "every window was" if not report.differing else f"{report.differing} windows were not"
    told = f"The answers are the same in every run; {same} answered as in one process."
    tables = table(["step", "time"], steps) + table(["what ran", "version"], ran)
    return f'<pre>{escape(command)}</pre><p>{told}</p><div class="charts">{tables}</div>'


def _grid(charts: Iterable[str]) -> str:
    return f'<div class="charts">{"".join(charts)}</div>'


def _clock(answer: Answer) -> str:
    return datetime.fromtimestamp(answer.window.end / 1_000, UTC).strftime("%H:%M")
