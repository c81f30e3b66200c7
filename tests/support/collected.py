"""A display that keeps what it is shown, for tests of whole jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from topwater.jobs.display import Display, as_dict

if TYPE_CHECKING:
    from collections.abc import Callable

    from topwater.jobs import Job
    from topwater.jobs.display import Rows


class Collected(Display):
    """Keeps windows as plain values; ``after`` is called when one came."""

    def __init__(self, job: Job, after: Callable[[], object] = lambda: None) -> None:
        super().__init__(job, None, None)
        self._of = job
        self._after = after
        self.windows: list[dict[str, Any]] = []

    @property
    def watched(self) -> bool:
        return True

    def window(self, rows: Rows) -> None:
        super().window(rows)
        self.windows.append(as_dict(rows, self._of))
        self._after()
