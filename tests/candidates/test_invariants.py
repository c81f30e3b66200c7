"""How a structure says that it is broken."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from topwater.candidates.invariants import require


@pytest.mark.parametrize("holds", [True, 1, [0], np.bool_(True)])
def test_what_holds_is_passed_over(holds: object) -> None:
    require(holds, "never said")


@pytest.mark.parametrize("holds", [False, 0, None, [], np.bool_(False)])
def test_what_is_broken_is_said_word_by_word(holds: object) -> None:
    with pytest.raises(AssertionError, match=r"^a key has two objects$"):
        require(holds, "a key has two objects")


def test_it_is_said_without_assertions_too() -> None:
    program = "from topwater.candidates.invariants import require; require(False, 'torn')"
    ran = subprocess.run(  # noqa: S603  our own program
        [sys.executable, "-O", "-c", program], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert ran.stderr.endswith("AssertionError: torn\n")
