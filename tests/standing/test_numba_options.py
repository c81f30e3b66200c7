"""How the loops are compiled, with the options that this Numba has."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from topwater.model import FloatArray
from topwater.standing import numba_options
from topwater.standing.numba_options import compiled, inlined, without_counts


def add_one(values: FloatArray) -> float:
    """Not compiled yet."""
    values[0] += 1.0
    return float(values[0])


def test_this_numba_can_leave_out_reference_counts() -> None:
    assert without_counts() == {"_nrt": False}


def test_without_the_private_parts_of_numba_they_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "numba.core.registry", None)
    assert without_counts() == {}


def test_an_option_that_numba_no_longer_knows_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from numba.core.registry import cpu_target

    def refuse(_flags: object, options: dict[str, object]) -> None:
        raise KeyError(f"Unrecognized options: {options}")

    monkeypatch.setattr(cpu_target.options, "parse_as_flags", refuse)
    assert without_counts() == {}


@pytest.mark.parametrize("options", [{"_nrt": False}, {}])
@pytest.mark.parametrize("how", [compiled, inlined])
def test_compiled_with_or_without_counts_it_does_the_same(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, bool], how: object
) -> None:
    monkeypatch.setattr(numba_options, "_OPTIONS", {"nogil": True, **options})
    values = np.zeros(1)
    assert callable(how)
    assert how(add_one)(values) == 1.0
    assert values[0] == 1.0
