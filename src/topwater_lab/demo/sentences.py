"""What the figures say, in sentences: for the terminal and for the report."""

from __future__ import annotations

from topwater_lab.demo.contenders import METRICS, Metric, Rung
from topwater_lab.demo.findings import Report
from topwater_lab.demo.window_comparison import label


def closing(report: Report) -> list[str]:
    """The few lines that end the demo."""
    same = "yes" if not report.differing else f"no, {report.differing} differ"
    return [
        *needs(report),
        traffic(report),
        f"The answers said of themselves that they were {report.said:.0%} right; they were "
        f"{report.ours.precision:.0%}.",
        f"{len(report.answers)} windows on Spark, all equal to the same query in process: {same}.",
        times(report),
    ]


def needs(report: Report) -> list[str]:
    """What others have to spend for what ours has with its budget."""
    name, fetches = report.scene.policy, report.ours.fetches
    lines = []
    for kind, who in (("cache", "a TTL cache"), ("published", "the best published policy")):
        told = [_need(report, metric, report.needed(kind, metric)) for metric in METRICS]
        spent = f"For what {name} has with {fetches:.1f} look-ups a window"
        lines.append(f"{spent}, {who} {' and '.join(told)}.")
    return lines


def _need(report: Report, metric: Metric, rung: Rung | None) -> str:
    what = f"its {METRICS[metric]} of {getattr(report.ours, metric):.3f}"
    if rung is None:
        most = max((each.budget for each in report.rungs), default=report.scene.budget)
        return f"does not reach {what} with up to {most}"
    return f"needs {rung.contender.fetches:.1f} for {what} ({label(rung.contender)})"


def traffic(report: Report) -> str:
    """How the remote side was asked, and what came of it."""
    looked = report.looked_up
    lost = _number(looked.lost, "lost")
    if report.traffic is None:
        return f"{looked.keys} look-ups without a service; {lost}."
    seen = report.traffic
    refused = _number(seen.refused, "refused")
    return (
        f"{looked.keys} look-ups in {seen.requests} requests over HTTP; {lost}, {refused}: at most "
        f"{seen.peak} within a second, where the service allows {seen.rate:g}. Asked "
        f"{seen.hurried} times without waiting, it refused {seen.hurried_refused}."
    )


def _number(count: int, what: str) -> str:
    if not count:
        return f"none was {what}"
    return f"{count} {'was' if count == 1 else 'were'} {what}"


def paid(report: Report) -> str:
    """What the look-ups brought."""
    seen = report.looked_up
    return (
        f"{seen.keys} look-ups: {seen.first} of users never asked for before, {seen.changed} that "
        f"found another value, {seen.same} that confirmed the one known, {seen.lost} lost. In "
        f"{seen.better} of {seen.windows} windows they made the answer better, in {seen.worse} "
        f"worse. Had no window used its own, nDCG would have been {seen.without:.3f} instead of "
        f"{report.ours.ndcg:.3f}."
    )


def times(report: Report) -> str:
    """How long each step took."""
    told = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in report.seconds.items())
    return f"Time: {told}." if told else ""
