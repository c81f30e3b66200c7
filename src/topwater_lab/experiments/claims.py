"""What the papers claim, each held against the figures measured here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from topwater_lab.experiments.acquatop import (
    AIMS,
    DEFAULT,
    MIDDLE_BUDGETS,
    OURS,
    PUBLISHED,
    UNLIMITED,
    Cell,
    Metric,
    Results,
    Sweep,
    shortfalls,
)
from topwater_lab.experiments.tracks import CARRIED, CLAIRVOYANT

_COMPARABLE = 0.01
"""Within one percent, two policies count as equally good."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement, whether it holds here, and the figures that say so."""

    text: str
    holds: bool
    evidence: str


def judged(results: Results, sweeps: Sequence[Sweep]) -> Iterator[Claim]:
    """All claims that the cells at hand can decide."""
    if DEFAULT in results.cells:
        yield from _errors(results)
    for experiment, check in _CHECKS:
        lines = [sweep for sweep in sweeps if sweep.experiment == experiment]
        if lines:
            yield from check(results, lines)
    yield from _ours(results)
    yield from _carried(results)


def _errors(results: Results) -> Iterator[Claim]:
    """Experiment 0, in the default cell."""
    for metric in AIMS:
        scores = {policy: results.score(DEFAULT, policy, metric) for policy in PUBLISHED}
        worst, best = min(scores, key=scores.__getitem__), max(scores, key=scores.__getitem__)
        most = results.score(DEFAULT, UNLIMITED, metric)
        yield Claim(
            f"Experiment 0: WST errs most, and ASM least ({metric})",
            worst == "wst" and most >= scores[best],
            f"{worst} {scores[worst]:.1f} is the least, {UNLIMITED} has {most:.1f}, the best "
            f"within the budget is {best} with {scores[best]:.1f}",
        )
        random = results.score(DEFAULT, "wsj-rnd", metric)
        yield Claim(
            f"TSM and BSM do better than RND ({metric})",
            min(scores["at-tsm"], scores["at-bsm"]) > random,
            f"{scores['at-tsm']:.1f} and {scores['at-bsm']:.1f} against {random:.1f}",
        )


def _budget(results: Results, lines: Sequence[Sweep]) -> Iterator[Claim]:
    enough = [cell for cell in lines[0].cells if 3 <= cell.budget <= 15]
    yield _best(
        "Hp.1: TSM gives the most relevant answers once B ≥ 3", results, enough, "ndcg", "at-tsm"
    )
    yield _best(
        "Hp.1: BSM gives the most accurate answers for B ≤ 20",
        results,
        [cell for cell in lines[0].cells if cell.budget <= 20],
        "precision",
        "at-bsm",
    )
    wide = [cell for cell in lines[0].cells if cell.budget >= 2 * cell.k]
    same = [
        abs(results.score(c, "at-tsm", m) - results.score(c, "at-bsm", m))
        for c in wide
        for m in AIMS
    ]
    yield Claim(
        "For B ≥ 2K, TSM and BSM elect the same keys",
        max(same, default=0.0) < 1e-9,
        f"largest difference {max(same, default=0.0):.2g}",
    )
    if large := [cell for cell in lines[0].cells if cell.budget > 20]:
        yield from _plenty(results, large)


def _plenty(results: Results, cells: Sequence[Cell]) -> Iterator[Claim]:
    """Of budgets that nearly reach all candidates."""
    for metric in AIMS:
        behind = max(
            1.0 - results.score(cell, policy, metric) / results.score(cell, UNLIMITED, metric)
            for cell in cells
            for policy in ("at-lru", "at-tsm", "at-bsm")
        )
        yield Claim(
            f"For B > 20, LRU, TSM and BSM are as good as ASM ({metric})",
            behind <= _COMPARABLE,
            f"{behind:.1%} below it at most",
        )


def _changes(results: Results, lines: Sequence[Sweep]) -> Iterator[Claim]:
    cells = lines[0].cells
    yield _best(
        "Hp.2: TSM gives the most relevant answers at every CH", results, cells, "ndcg", "at-tsm"
    )
    yield _best(
        "Hp.2: BSM gives the most accurate answers at every CH",
        results,
        cells,
        "precision",
        "at-bsm",
    )
    for metric, what in AIMS.items():
        scores = [results.score(cell, "at-tsm", metric) for cell in cells]
        yield Claim(
            f"TSM's {what} hardly depends on CH",
            max(scores) - min(scores) < 3.0,
            f"{metric} from {min(scores):.1f} to {max(scores):.1f}",
        )


def _sizes(results: Results, lines: Sequence[Sweep]) -> Iterator[Claim]:
    cells = [cell for line in lines for cell in line.cells]
    small = [cell for cell in cells if cell.k < 7]
    large = [cell for cell in cells if cell.k > 7]
    yield _best(
        "Hp.3: TSM or BSM give the most relevant answers at every K",
        results,
        cells,
        "ndcg",
        "at-tsm",
        "at-bsm",
    )
    yield _best(
        "Hp.3: BSM gives the most accurate answers for K < 7", results, small, "precision", "at-bsm"
    )
    yield _best(
        "Hp.3: LRU gives the most accurate answers for K > 7",
        results,
        large,
        "precision",
        "at-lru",
        "wsj-lru",
    )
    below = [
        cell
        for cell in large
        if cell.budget == max(MIDDLE_BUDGETS)
        and results.score(cell, "at-tsm", "precision") < results.score(cell, "wst", "precision")
    ]
    yield Claim(
        f"At B {max(MIDDLE_BUDGETS)} and K > 7, TSM is less accurate than no refresh at all",
        len(below) == len(large) / len(lines),
        f"in {len(below)} of {len(large) // len(lines)} cells",
    )


def _spares(results: Results, lines: Sequence[Sweep]) -> Iterator[Claim]:
    some = [cell for line in lines for cell in line.cells if cell.n > 0]
    yield _best(
        "Hp.4: TSM gives the most relevant answers for N > 0", results, some, "ndcg", "at-tsm"
    )
    yield _best(
        "Hp.4: BSM gives the most accurate answers for N > 0", results, some, "precision", "at-bsm"
    )
    for line in lines:
        none, default, most = line.cells[0], line.cells[1], line.cells[-1]
        gained = {
            p: results.score(most, p, "precision") - results.score(default, p, "precision")
            for p in ("at-tsm", "at-bsm", "at-asm")
        }
        lost = results.score(default, "at-asm", "precision") - results.score(
            none, "at-asm", "precision"
        )
        yield Claim(
            f"Without spare candidates answers are worse (B {line.budget})",
            lost > 0,
            f"refreshing all candidates loses {lost:.1f} of precision at N = 0",
        )
        yield Claim(
            f"Beyond N = 10 only refreshing all gains (B {line.budget})",
            gained["at-asm"] >= max(gained["at-tsm"], gained["at-bsm"]),
            ", ".join(f"{p} {gain:+.1f}" for p, gain in gained.items()),
        )
    for policy in ("at-tsm", "at-bsm"):
        gaps = [_gap_to_all(results, line, policy) for line in lines]
        yield Claim(
            f"With more budget {policy} comes nearer to refreshing all",
            gaps == sorted(gaps, reverse=True),
            ", ".join(
                f"{gap:.1f} of nDCG below it at B {line.budget}"
                for line, gap in zip(lines, gaps, strict=True)
            ),
        )


def _gap_to_all(results: Results, line: Sweep, policy: str) -> float:
    """How far a policy is below refreshing all candidates, on average over a line of cells."""
    gaps = [
        results.score(cell, UNLIMITED, "ndcg") - results.score(cell, policy, "ndcg")
        for cell in line.cells
    ]
    return sum(gaps) / len(gaps)


def _ours(results: Results) -> Iterator[Claim]:
    short = list(shortfalls(results))
    worst = max((by for _, _, by in short), default=0.0)
    yield Claim(
        "worth is never below the best published policy by more than 0.5",
        not short,
        f"{len(short)} of {2 * len(results.cells)} points below, by {worst:.1f} at most",
    )
    for metric in AIMS:
        closure, pooled = results.mean_closure(metric), results.pooled_closure(metric)
        if closure is not None and pooled is not None:
            counted = f"{len(results.closures(metric))} of {len(results.judged_cells)} cells"
            yield Claim(
                f"worth closes part of the gap to clairvoyance ({metric})",
                min(closure, pooled) > 0,
                f"{closure:.0%} on average over the {counted} with a gap of half a window or more; "
                f"{pooled:.0%} of all gaps together",
            )
    beaten = [
        cell
        for cell in results.cells
        for metric in AIMS
        if results.score(cell, CLAIRVOYANT, metric) + 0.5 < results.score(cell, OURS, metric)
    ]
    yield Claim(
        "Nothing within the budget beats the bound", not beaten, f"{len(beaten)} cells above it"
    )


def _carried(results: Results) -> Iterator[Claim]:
    """Of worth with carry-over: its mean budget has to be equal, so it is checked."""
    spent = results.spent(CARRIED)
    yield Claim(
        "Carried over, worth spends at most the budget on average",
        max(spent) <= 1.0,
        f"{min(spent):.1%} to {max(spent):.1%} of it, by run",
    )
    for metric in AIMS:
        plain, carried = (results.mean_closure(metric, policy) for policy in (OURS, CARRIED))
        if plain is not None and carried is not None:
            yield Claim(
                f"Carrying over brings more of the same budget ({metric})",
                carried > plain,
                f"{carried:.0%} of the gap against {plain:.0%}, on average over the cells with one",
            )


def _best(
    text: str, results: Results, cells: Sequence[Cell], metric: Metric, *policies: str
) -> Claim:
    """Whether one of ``policies`` is as good as the best published one, in every cell."""
    lost = []
    for cell in cells:
        best, score = results.best_published(cell, metric)
        ours = max(results.score(cell, policy, metric) for policy in policies)
        if ours < score * (1.0 - _COMPARABLE):
            lost.append(f"{_place(cell)}: {best} {score:.1f} against {ours:.1f}")
    shown = "; ".join(lost[:3]) + ("; …" if len(lost) > 3 else "")
    won = f"best or within 1 % in {len(cells) - len(lost)} of {len(cells)} cells"
    return Claim(text, not lost, f"{won}{'; not at ' + shown if lost else ''}")


def _place(cell: Cell) -> str:
    """What differs from the default."""
    names = {"budget": "B", "ch": "CH", "k": "K", "n": "N"}
    told = [
        f"{short} {getattr(cell, name)}"
        for name, short in names.items()
        if getattr(cell, name) != getattr(DEFAULT, name)
    ]
    return ", ".join(told) or "the default"


def improvements(
    results: Results, lines: Sequence[Sweep], policy: str, rival: str, metric: Metric
) -> tuple[float, float]:
    """The greatest and the least improvement over a rival, in percent: a field of Table 6."""
    gains = [
        100.0 * (results.score(cell, policy, metric) / results.score(cell, rival, metric) - 1.0)
        for line in lines
        for cell in line.cells
    ]
    return max(gains), min(gains)


_CHECKS: tuple[tuple[int, Callable[[Results, Sequence[Sweep]], Iterator[Claim]]], ...] = (
    (1, _budget),
    (2, _changes),
    (3, _sizes),
    (4, _spares),
)
