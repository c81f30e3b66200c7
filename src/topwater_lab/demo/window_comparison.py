"""What is shown of a window: the true ranking, and what each contender has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from topwater.model import Answer, Key
from topwater_lab.demo.contenders import METRICS, PUBLISHED, TABLE, Contender, Field, Verdict, truth
from topwater_lab.demo.scene import Scene

if TYPE_CHECKING:
    from topwater.live import Page


def label(contender: Contender) -> str:
    """What people know it as."""
    kind, _, life = contender.name.partition(":")
    if kind == "ttl" and life:
        return f"TTL {life}"
    return contender.name


def described(contender: Contender, others: Field) -> str:
    """What it is, and how it was chosen."""
    kind, _, life = contender.name.partition(":")
    merits = " and ".join(METRICS[metric] for metric in others.merits(contender))
    chosen = f"in hindsight the best by {merits}" if merits else "as you asked"
    if kind == "ttl" and life:
        return f"a cache whose entries live {life}, {chosen}"
    if contender.name in PUBLISHED:
        return f"a published policy, {chosen}"
    if contender.name == TABLE:
        return "a table loaded at the start and joined, never refreshed"
    return "what is worth most to this answer and the next" if kind == "worth" else "as you asked"


@dataclass(frozen=True, slots=True)
class Window:
    """One window, as each contender answers it.

    Attributes
    ----------
    answer, ours
        The answer on Spark, and how right it was.
    truth
        Who should be in it, best first.
    rivals
        How right the others were, by label.
    """

    answer: Answer
    ours: Verdict
    truth: tuple[Key, ...]
    rivals: Mapping[str, Verdict]

    @staticmethod
    def of(scene: Scene, answer: Answer, ours: Verdict, rivals: Mapping[str, Verdict]) -> Window:
        """With the truth, which only a demo knows."""
        return Window(answer, ours, truth(scene, answer.window.index), rivals)

    @property
    def columns(self) -> list[Verdict]:
        """Ours, and the others."""
        return [self.ours, *self.rivals.values()]

    def put(self, page: Page) -> None:
        """Show it on the live page."""
        from topwater.live import Truth

        page.put(
            self.answer,
            truth=Truth(self.ours.precision, self.ours.ndcg),
            rivals={name: Truth(each.precision, each.ndcg) for name, each in self.rivals.items()},
        )
