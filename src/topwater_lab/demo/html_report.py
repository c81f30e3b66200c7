"""The report: one HTML page, complete in itself, that tells the story of a run of the demo."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from topwater.model import Answer, LookUp
from topwater.show.charts import Series, line_chart
from topwater.show.pages import Section, Table, TextCell, page
from topwater_lab.demo.contenders import METRICS, TABLE, Contender, Metric, mean
from topwater_lab.demo.findings import Report, versions
from topwater_lab.demo.scene import K
from topwater_lab.demo.sentences import needs, paid, traffic
from topwater_lab.demo.window_comparison import described, label

_COLOURS = ("#d6403a", "#3f7fbf", "#c98a1b", "#8a8a8a")
_SMOOTH = 5
"""Windows over which the charts take a mean: with five users, one window says little."""

_LISTED = 2
"""Windows whose look-ups are listed."""


def report_page(report: Report) -> str:
    """The whole page."""
    when = f"{len(report.answers)} windows, {report.scene.budget} look-ups for each"
    sections = [
        _story(report),
        _standings(report),
        _by_window(report),
        _by_budget(report),
        _last(report),
        _look_ups(report),
        _calibration(report),
        Section(title="The service", paragraphs=[traffic(report)]),
        _repeat(report),
    ]
    return page("Who matters most right now?", f"Topwater's demo: {when}.", sections, kind="story")


def _story(report: Report) -> Section:
    scene, (_, cache, loaded) = report.scene, report.others.finalists
    need = report.needed("cache", "ndcg")
    spent = "more than was tried" if need is None else f"{need.contender.fetches:.1f}"
    there = mean(len(view.keys) for view in scene.workload.views)
    cards = (
        (f"{report.ours.ndcg:.3f}", f"nDCG@{K} of {label(report.ours)}, {scene.budget} look-ups"),
        (f"{cache.ndcg:.3f}", f"of a cache ({label(cache)}) with as many"),
        (f"{loaded.ndcg:.3f}", "of a table that is loaded once"),
        (spent, f"look-ups a window that a cache needs for {report.ours.ndcg:.3f}"),
    )
    lead = (
        f"Every minute, a stream of mentions on Spark is asked: who are the {K} users who matter "
        "most in the last 100 seconds? How often each was mentioned is in the stream. How their "
        "following grows is behind a service that allows only so many requests, and it keeps "
        f"changing. A window has {there:.0f} users on average, and {scene.budget} of them can be "
        "looked up. So most of what is known is old, and the question is whom to look up."
    )
    return Section(lead=lead, cards=cards, paragraphs=list(needs(report)))


def _standings(report: Report) -> Section:
    head = ["", f"nDCG@{K}", f"precision@{K}", "look-ups a window", "nDCG won a look-up"]
    head += ["precision won a look-up", "what it is"]
    everyone = (*report.contenders, report.others.everything)
    note = (
        "All have the same stream, and all but the table begin with nothing. The cache fetches "
        "what has expired, in the order of the stream, as far as the budget goes. Won: over the "
        "table that is loaded once, which got all values for nothing. Published policies and "
        "times to live were chosen knowing how it ends."
    )
    rows = [_standing(each, report) for each in everyone]
    return Section(title="Side by side", tables=[Table(head, rows)], note=note)


def _standing(each: Contender, report: Report) -> list[object]:
    gains = [each.gain(metric, over=report.others.table) for metric in METRICS]
    return [
        label(each),
        f"{each.ndcg:.3f}",
        f"{each.precision:.3f}",
        "all, once" if each.name == TABLE else f"{each.fetches:.1f}",
        *("" if gain is None else f"{gain:+.4f}" for gain in gains),
        TextCell(_what(each, report)),
    ]


def _what(each: Contender, report: Report) -> str:
    if each is report.others.everything:
        return "all candidates are looked up, whatever it costs"
    return described(each, report.others)


def _by_window(report: Report) -> Section:
    shown = (report.ours, *report.others.finalists)
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
    return Section(title="Window by window", legend=colours, charts=charts, note=note)


def _smoothed(contender: Contender, metric: Metric) -> list[float]:
    values = [float(getattr(each, metric)) for each in contender.windows]
    return [mean(values[max(0, at + 1 - _SMOOTH) : at + 1]) for at in range(len(values))]


def _by_budget(report: Report) -> Section:
    if not report.rungs:
        return Section()
    budgets = sorted({rung.budget for rung in report.rungs})
    names = (("ours", label(report.ours)), ("published", "best published"), ("cache", "TTL cache"))
    colours = {name: colour for (_, name), colour in zip(names, _COLOURS, strict=False)}
    charts = []
    for metric, measure in METRICS.items():
        lines = [
            Series(name, [_at(report, kind, metric, each) for each in budgets], colours[name])
            for kind, name in names
        ]
        places = [str(budget) for budget in budgets]
        charts.append(line_chart(f"{measure}@{K}", "look-ups allowed for a window", places, lines))
    note = (
        "Published: whichever is better of those that are best above, by nDCG or by precision. The "
        "cache has the time to live that is best for each budget."
    )
    title = "What more look-ups would bring"
    return Section(title=title, legend=colours, charts=charts, note=note)


def _at(report: Report, kind: str, metric: Metric, budget: int) -> float:
    found = [rung for rung in report.rungs if (rung.kind, rung.budget) == (kind, budget)]
    return max((float(getattr(rung.contender, metric)) for rung in found), default=np.nan)


def _last(report: Report) -> Section:
    return Section(title="The last answer", answer=report.answers[-1] if report.answers else None)


def _look_ups(report: Report) -> Section:
    rows = [
        [_clock(answer), str(each.key), _moved(each), TextCell(_effect(answer, each))]
        for answer in report.answers[-_LISTED:]
        for each in answer.looked_up
    ]
    note = f"The look-ups of the last {_LISTED} windows, in the order in which they were chosen."
    return Section(
        title="What was looked up, and whether it paid",
        paragraphs=[paid(report)],
        tables=[Table(["window", "user", "growth", "so"], rows)] if rows else [],
        note=note if rows else "",
    )


def _moved(each: LookUp) -> str:
    before = "?" if each.before is None else f"{each.before:g}"
    after = "?" if each.after is None else f"{each.after:g}"
    return f"{before} → {after}" if each.changed or not each.ok else f"{after}, as known"


def _effect(answer: Answer, each: LookUp) -> str:
    rank = next((row.rank for row in answer.rows if row.key == each.key), None)
    if not each.ok:
        return "not answered"
    return "not in the answer" if rank is None else f"rank {rank}"


def _calibration(report: Report) -> Section:
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
    return Section(title="Does an answer know how right it is?", legend=colours, charts=charts)


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


def _repeat(report: Report) -> Section:
    scene = report.scene
    command = (
        f"topwater demo --windows {scene.windows} --budget {scene.budget} --policy {scene.policy} "
        f"--seed {scene.seed}"
    )
    steps = [[name, TextCell(f"{seconds:.1f} s")] for name, seconds in report.seconds.items()]
    ran = [[name, TextCell(found)] for name, found in versions().items()]
    same = "every window was" if not report.differing else f"{report.differing} windows were not"
    return Section(
        title="Once more",
        code=command,
        paragraphs=[f"The answers are the same in every run; {same} answered as in one process."],
        tables=[Table(["step", "time"], steps), Table(["what ran", "version"], ran)],
    )


def _clock(answer: Answer) -> str:
    return datetime.fromtimestamp(answer.window.end / 1_000, UTC).strftime("%H:%M")
