"""Which stages of a checkpoint belong together."""

from __future__ import annotations

import pytest

from topwater.spark.stage_groups import Kind, Stage, stage_groups


def stages(*kinds: Kind) -> list[Stage]:
    return [Stage(2 * number, kind) for number, kind in enumerate(kinds)]


@pytest.mark.parametrize(
    ("kinds", "joint", "expected"),
    [
        (("whole",), (), [(0,)]),
        (("joint", "parts"), (), [(0, 2)]),
        # No window was answered yet, so nothing has come to the second stage.
        (("unknown", "parts", "whole"), (False, False), [(0, 2), (4,)]),
        (("whole", "joint", "parts"), (), [(0,), (2, 4)]),
        (("unknown", "whole"), (True, True), [(0,), (2,)]),
        (("unknown", "unknown", "unknown"), (False, True), [(0,), (2, 4)]),
        (("unknown", "unknown", "unknown"), (True, False), [(0, 2), (4,)]),
        ((), (), []),
    ],
)
def test_stages_are_taken_together(
    kinds: tuple[Kind, ...], joint: tuple[bool, ...], expected: list[tuple[int, ...]]
) -> None:
    assert stage_groups(stages(*kinds), joint) == expected
