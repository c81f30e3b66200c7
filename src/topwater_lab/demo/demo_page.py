"""The live page of the demo."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from topwater.errors import EnvironmentProblem
from topwater.show.explain import explain
from topwater_lab.demo.scene import Scene

if TYPE_CHECKING:
    from topwater.live import Page
    from topwater_lab.demo.demo_run import Wishes


@contextlib.contextmanager
def opened_page(scene: Scene, wishes: Wishes, note: Callable[[str], None]) -> Iterator[Page]:
    """The live page; on another port if that one is taken."""
    with contextlib.ExitStack() as ending:
        try:
            page = ending.enter_context(_page(scene, wishes.port))
        except EnvironmentProblem:
            page = ending.enter_context(_page(scene, 0))
            note(f"port {wishes.port} is taken, so the live page is at another one")
        yield page


def _page(scene: Scene, port: int) -> contextlib.AbstractContextManager[Page]:
    from topwater.live import Page

    return Page.started(
        "Who matters most right now?",
        f"{scene.asked}\n\n{explain(scene.query())}",
        port=port,
        waiting="Spark is starting",
        values=["mentions"],
        remote="growth",
        budget=scene.budget,
    )
