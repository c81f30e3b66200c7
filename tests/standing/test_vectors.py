"""Explicit vectors where this Numba can make them, plain loops where it can't."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType

import pytest

from topwater.standing import vector_intrinsics, vector_loops, vectors

STEPS = """
import sys
import numpy as np
from topwater.scoring import Euclidean
from topwater.standing import Standing, StandingQuery, vector_loops, vectors

assert vectors.best_module() is vector_loops
rng = np.random.default_rng(1)
columns = dict(zip("xy", rng.random((2, 400)), strict=True))
for algorithm in ("pa", "rapf", "auto", "sa"):
    standing = Standing(["x", "y"], algorithm=algorithm, indexed=True)
    for name, k in (("near", 2), ("far", 5)):
        standing.register(StandingQuery(name, k, 90, Euclidean({"x": k / 9, "y": 0.4})))
    seen = standing.add(columns)
    print(len(seen), int(seen.position.sum()), standing.top("far").key.tolist())
"""


def test_here_the_vectors_are_explicit() -> None:
    assert vectors.best_module() is vector_intrinsics


def test_without_the_private_parts_of_numba_there_are_loops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, vector_intrinsics.__name__)
    monkeypatch.setitem(sys.modules, "numba.core.cgutils", None)
    monkeypatch.delattr("numba.core.cgutils")
    assert vectors.best_module() is vector_loops
    assert vectors.best_module("topwater.standing.no_such_module") is vector_loops


def test_what_can_not_be_compiled_or_gives_other_masks_is_not_used() -> None:
    class Broken(ModuleType):
        @staticmethod
        def masks(*_: object) -> None:
            raise NotImplementedError

    class Wrong(ModuleType):
        @staticmethod
        def masks(*_: object) -> None:
            return

    assert not vectors.gives_right_masks(Broken("broken"))
    assert not vectors.gives_right_masks(Wrong("wrong"))
    assert vectors.gives_right_masks(vector_loops)


def test_answers_are_the_same_without_a_compiler() -> None:
    """Then nothing private is there at all, and everything runs as plain Python."""
    found = {}
    for switched_off in ("0", "1"):
        script = STEPS if switched_off == "1" else STEPS.replace("assert vectors", "# assert v")
        ran = subprocess.run(  # noqa: S603
            [sys.executable, "-c", script],
            env={**os.environ, "NUMBA_DISABLE_JIT": switched_off},
            capture_output=True,
            text=True,
            check=True,
        )
        found[switched_off] = ran.stdout
    assert found["0"] == found["1"]
    assert len(found["1"].splitlines()) == 4
