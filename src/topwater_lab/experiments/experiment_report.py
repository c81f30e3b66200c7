"""One HTML page per experiment, complete in itself: figures, tables, claims, costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topwater.show.charts import Series, line_chart
from topwater.show.pages import Section, Table, TextCell, page
from topwater_lab.experiments.acqua import BUDGETS, PRINTED, TABLES
from topwater_lab.experiments.acquatop import (
    AIMS,
    DEFAULT,
    OURS,
    PUBLISHED,
    UNLIMITED,
    Cell,
    Metric,
    Results,
    Sweep,
)
from topwater_lab.experiments.claims import Claim, improvements, judged
from topwater_lab.experiments.parallel_runs import column
from topwater_lab.experiments.tracks import AIMED, CARRIED, CLAIRVOYANT

SHOWN = (*PUBLISHED, UNLIMITED, OURS, CARRIED, CLAIRVOYANT)
_NAMES = {CARRIED: "worth, carried over"}
_DASHED = (CARRIED, CLAIRVOYANT)
_COLOURS = dict(
    zip(
        SHOWN,
        (
            "#8a8a8a",
            "#b58b5a",
            "#d1952a",
            "#a3702c",
            "#4aa3a2",
            "#3f7fbf",
            "#8a5fc9",
            "#c25fa8",
            "#5f9e4a",
            "#d6403a",
            "#e58a86",
            "#777777",
        ),
        strict=True,
    )
)
_METRICS: dict[Metric, str] = {"ndcg": "nDCG@k", "precision": "precision@k"}
_VARIED = {"budget": "refresh budget B", "ch": "changes CH", "k": "K", "n": "N"}
_FIGURES = {1: 12, 2: 13, 3: 14, 4: 15}
_PRINTED_TABLE_6 = {
    ("at-tsm", "wsj-wbm"): "11.68 -3.58 19.16 -3.76 18.28 2.75 10.22 -2.35 "
    "11.68 0.2 18.04 -10.26 11.71 10.05 18.3 9.06",
    ("at-tsm", "wsj-lru"): "14.22 -1.76 8.27 -2.69 20.87 2.57 11.94 -1.04 "
    "11.46 0.07 5.06 -23.72 11.46 3.65 5.29 -1.87",
    ("at-bsm", "wsj-wbm"): "11.7 2.76 19.39 1.44 11.86 0.75 14.99 1.47 "
    "11.7 -0.29 18.5 2.8 11.72 4.39 18.5 5.47",
    ("at-bsm", "wsj-lru"): "9.1 0.68 11.95 0.55 13.27 0.65 16.78 2.83 "
    "5.58 -0.34 5.47 -8.59 10.71 3.65 9.06 -1.87",
}
"""Greatest and least improvement: by nDCG, by precision, for each of the experiments 1 to 4."""

_PRINTED_TABLE_7: dict[tuple[int, Metric], str] = {
    (1, "ndcg"): "at-tsm for B > 3",
    (1, "precision"): "at-bsm",
    (2, "ndcg"): "at-tsm",
    (2, "precision"): "at-bsm",
    (3, "ndcg"): "at-tsm, at-bsm",
    (3, "precision"): "at-bsm for K < 7, wsj-lru for K > 10",
    (4, "ndcg"): "at-tsm",
    (4, "precision"): "at-bsm",
}
"""Which policy the paper found best, by experiment."""


def acquatop_page(records: pa.Table, results: Results, lines: Sequence[Sweep], about: str) -> str:
    """Experiments 0 to 4."""
    sections = [
        Section(legend={_name(policy): _COLOURS[policy] for policy in SHOWN}),
        _cumulated(records),
        *(_sweep_section(results, lines, number) for number in sorted(_FIGURES)),
        _table_6(results, lines),
        _table_7(results, lines),
        _claims(judged(results, lines)),
        _standings(results),
        _carried(records, results),
        _costs(records),
        _calibration(records),
    ]
    return _page("AcquaTop's experiments", about, sections)


def acqua_page(summary: dict[str, Any], about: str) -> str:
    """Tables 1 and 2 of ACQUA."""
    found = {(c["policy"], c["budget"]): c["accuracy"] for c in summary["cells"]}
    sections = []
    for number, policies in TABLES.items():
        rows = [
            [budget, *(f"{found[p, budget]:.3f} ({PRINTED[p][at]:.2f})" for p in policies)]
            for at, budget in enumerate(BUDGETS)
        ]
        title = f"Join accuracy, real data (Table {number}); in brackets what the paper prints"
        sections.append(Section(title=title, tables=[Table(["B", *policies], rows)]))
    return _page("ACQUA's experiments", about, sections)


def _page(title: str, about: str, sections: Sequence[Section]) -> str:
    return page(title, f"{about} topwater {version('topwater')}.", sections)


def _name(policy: str) -> str:
    return _NAMES.get(policy, policy)


def _sweep_section(results: Results, lines: Sequence[Sweep], experiment: int) -> Section:
    mine = [line for line in lines if line.experiment == experiment]
    if not mine:
        return Section()
    charts = [_chart(results, line, metric) for line in mine for metric in _METRICS]
    title = f"Experiment {experiment}: {_VARIED[mine[0].varied]} (Figure {_FIGURES[experiment]})"
    return Section(title=title, charts=charts)


def _chart(results: Results, line: Sweep, metric: Metric) -> str:
    series = []
    for policy in SHOWN:
        runs = [getattr(results.standing(c, policy, metric), metric) for c in line.cells]
        medians = [results.score(c, policy, metric) for c in line.cells]
        spread = [(min(run), max(run)) for run in runs]
        name, dashed = _name(policy), policy in _DASHED
        series.append(Series(name, medians, _COLOURS[policy], spread, dashed))
    at = f", B {line.budget}" if line.budget is not None else ""
    places = [str(getattr(cell, line.varied)) for cell in line.cells]
    return line_chart(f"{_METRICS[metric]}, cumulated{at}", _VARIED[line.varied], places, series)


def _cumulated(records: pa.Table) -> Section:
    """The default cell, window by window: the median over the data sets of the summed errors."""
    charts = []
    for metric, name in _METRICS.items():
        series = [
            Series(_name(policy), errors, _COLOURS[policy], dashed=policy in _DASHED)
            for policy in SHOWN
            if (errors := _errors(records, policy, metric))
        ]
        windows = [str(at + 1) for at in range(len(series[0].values))]
        charts.append(line_chart(f"errors of {name}, cumulated", "window", windows, series))
    return Section(title="Experiment 0: errors add up (Figure 11)", charts=charts)


def _errors(records: pa.Table, policy: str, metric: Metric) -> list[float]:
    mine = _of(records, policy, metric, DEFAULT)
    sets = len(np.unique(column(mine, "seed")))
    if not sets:
        return []
    ordered = mine.sort_by([("seed", "ascending"), ("window", "ascending")])
    errors = 1.0 - column(ordered, metric).reshape(sets, -1)
    return [float(error) for error in np.median(np.cumsum(errors, axis=1), axis=0)]


def _of(records: pa.Table, policy: str, metric: Metric, cell: Cell | None = None) -> pa.Table:
    keep = pc.equal(records["policy"], policy)
    if policy in AIMED:
        keep = pc.and_(keep, pc.equal(records["aim"], AIMS[metric]))
    if cell is not None:
        for name in ("budget", "ch", "k", "n"):
            keep = pc.and_(keep, pc.equal(records[name], getattr(cell, name)))
    return records.filter(keep)


def _table_6(results: Results, lines: Sequence[Sweep]) -> Section:
    experiments = sorted({line.experiment for line in lines})
    head = [f"{number} {_METRICS[metric]}" for number in experiments for metric in _METRICS]
    rows = []
    for (policy, rival), printed in _PRINTED_TABLE_6.items():
        row: list[object] = [f"{policy} against {rival}"]
        for number in experiments:
            mine = [line for line in lines if line.experiment == number]
            for at, metric in enumerate(_METRICS):
                most, least = improvements(results, mine, policy, rival, metric)
                high, low = printed.split()[4 * (number - 1) + 2 * at :][:2]
                row.append(f"{most:+.1f} … {least:+.1f} ({high} … {low})")
        rows.append(row)
    return Section(
        title="Improvements over ACQUA's policies, in percent (Table 6)",
        tables=[Table(["", *head], rows)],
        note="Greatest … least over the sweep; in brackets what the paper prints.",
    )


def _table_7(results: Results, lines: Sequence[Sweep]) -> Section:
    rows = []
    for line in lines:
        for metric, name in _METRICS.items():
            best = [results.best_published(cell, metric)[0] for cell in line.cells]
            at = f", B {line.budget}" if line.budget is not None else ""
            places = "; ".join(
                f"{getattr(cell, line.varied)}: {policy}"
                for cell, policy in zip(line.cells, best, strict=True)
            )
            printed = TextCell(_PRINTED_TABLE_7[line.experiment, metric])
            hypothesis = f"Hp.{line.experiment}: {_VARIED[line.varied]}{at}"
            rows.append([hypothesis, name, TextCell(places), printed])
    head = ["hypothesis", "measured by", "best published policy at each point", "the paper says"]
    return Section(title="Which policy serves best (Table 7)", tables=[Table(head, rows)])


def _claims(claims: Iterable[Claim]) -> Section:
    rows = []
    for claim in claims:
        verdict = TextCell("confirmed", "yes") if claim.holds else TextCell("denied", "no")
        rows.append([claim.text, verdict, TextCell(claim.evidence)])
    return Section(title="Claims, one by one", tables=[Table(["claim", "here", "figures"], rows)])


def _standings(results: Results) -> Section:
    rows = []
    for cell in results.cells:
        row: list[object] = [f"B {cell.budget}, CH {cell.ch}, K {cell.k}, N {cell.n}"]
        for metric in _METRICS:
            best, score = results.best_published(cell, metric)
            closure = results.closure(cell, metric)
            row += [
                f"{best} {score:.1f}",
                results.score(cell, OURS, metric),
                results.score(cell, CLAIRVOYANT, metric),
                "–" if closure is None else f"{closure:.0%}",
            ]
        rows.append(row)
    columns = [
        f"{name}: {what}"
        for name in _METRICS.values()
        for what in ("best published", OURS, "bound", "gap closed")
    ]
    title = "worth, the best published policy, and clairvoyance"
    return Section(title=title, tables=[Table(["cell", *columns], rows)])


def _carried(records: pa.Table, results: Results) -> Section:
    """Next to worth without, and what it spent: on average, and at most in one window."""
    rows = []
    for cell in results.judged_cells:
        row: list[object] = [f"B {cell.budget}, CH {cell.ch}, K {cell.k}"]
        for metric in _METRICS:
            closure = results.closure(cell, metric, CARRIED)
            fetches = column(_of(records, CARRIED, metric, cell), "fetches")
            row += [
                results.score(cell, OURS, metric),
                results.score(cell, CARRIED, metric),
                "–" if closure is None else f"{closure:.0%}",
                f"{fetches.mean():.2f} ({fetches.max():.0f})",
            ]
        rows.append(row)
    columns = [
        f"{name}: {what}"
        for name in _METRICS.values()
        for what in (OURS, _name(CARRIED), "gap closed", "fetches (most)")
    ]
    note = (
        "The mean budget is equal, a window's is not: what one leaves, the next ones "
        "may spend, up to three windows' worth. So it is not among those compared at an equal "
        "budget per window, and it may pass the bound, which has B in every window."
    )
    title = "worth, with what was left carried over"
    return Section(title=title, tables=[Table(["cell", *columns], rows)], note=note)


def _costs(records: pa.Table) -> Section:
    rows = []
    for policy in (*PUBLISHED, UNLIMITED, OURS, CARRIED):
        mine = records.filter(pc.equal(records["policy"], policy))
        millis = column(mine, "seconds") * 1_000
        fetches = column(mine, "fetches").mean()
        rows.append([_name(policy), *_milliseconds(millis), f"{fetches:.1f}"])
    note = "CPU time to elect, rank and estimate; fetching takes no time here."
    head = ["policy", "mean ms", "median ms", "99 % below ms", "fetches a window"]
    return Section(title="What a window costs", tables=[Table(head, rows)], note=note)


def _milliseconds(millis: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[str]:
    figures = (millis.mean(), *np.quantile(millis, (0.5, 0.99)))
    return [f"{figure:.2f}" for figure in figures]


def _calibration(records: pa.Table) -> Section:
    """What answers of ``worth`` estimated, in ten groups of equal size, against what they were."""
    charts = []
    for metric, name in _METRICS.items():
        mine = _of(records, OURS, metric)
        estimated, real = column(mine, f"estimated_{metric}"), column(mine, metric)
        groups = np.array_split(np.argsort(estimated, kind="stable"), 10)
        means = [(float(estimated[g].mean()), float(real[g].mean())) for g in groups if len(g)]
        lines = [
            Series("estimated", [mean for mean, _ in means], "#8a8a8a", dashed=True),
            Series("real", [mean for _, mean in means], _COLOURS[OURS]),
        ]
        places = [str(at + 1) for at in range(len(means))]
        title = f"{name}: estimated (dashed) and real"
        charts.append(line_chart(title, "tenth of the answers, by estimate", places, lines))
    return Section(title="Does an answer know how right it is?", charts=charts)
