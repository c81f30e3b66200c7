"""Names and what they stand for, also by what other packages offer."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.distributions import install
from topwater.candidates import lists
from topwater.errors import QueryError
from topwater.protocols import CandidateList, Floors, Registry, Seeks, Source, Sweeps
from topwater.remote.replay import Replay
from topwater.windows import tumbling

if TYPE_CHECKING:
    from pathlib import Path

GROUP = "topwater.shapes"
SHAPES: Registry[int] = Registry("shape", group=GROUP, in_lab=("cube", "cone"))
SHAPES.add("square", 4, "four equal sides")
MODULE = f"""
from {__name__} import SHAPES
SHAPES.add("circle", 1, "round")
"""


def test_a_name_is_registered_once() -> None:
    assert SHAPES["square"] == 4
    assert SHAPES.summary("square") == "four equal sides"
    assert ("square" in SHAPES, "line" in SHAPES) == (True, False)
    with pytest.raises(QueryError, match="'square' is registered already"):
        SHAPES.add("square", 5, "not so")


def test_a_name_that_another_package_offers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    entries = f"[{GROUP}]\ncircle = outsider_shapes\nsphere = outsider_shapes\n"
    install(tmp_path, "out-sider", entries, {"outsider_shapes": MODULE})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(QueryError) as caught:
        SHAPES["cricle"]
    assert "circle" in caught.value.fix, "known, though not loaded"
    assert "circle" not in SHAPES
    assert SHAPES["circle"] == 1
    assert list(SHAPES) == ["square", "circle"]
    with pytest.raises(QueryError, match="'sphere' is unknown"):
        SHAPES["sphere"]  # its module does not add what it promised


def test_what_is_in_the_laboratory_is_said_where_that_is_missing() -> None:
    with pytest.raises(QueryError) as caught:
        SHAPES["cube"]
    assert caught.value.fix.endswith('; cube and cone come with: pip install "topwater[lab]"')


@pytest.mark.parametrize("name", [None, 7, ["square"]])
def test_what_is_not_a_name(name: object) -> None:
    with pytest.raises(QueryError, match="is unknown"):
        SHAPES[name]  # type: ignore[index]


class HalfAList:
    """What a contract asks for, but for one method."""

    def add(self) -> None: ...


def test_protocols_know_what_keeps_them() -> None:
    windows = tumbling(10)
    for name in lists:
        made = lists[name](windows, 3)
        assert isinstance(made, CandidateList), name
        assert isinstance(made, Sweeps) == hasattr(made, "sweep"), name
        assert isinstance(made, Floors) == hasattr(made, "floors"), name
    assert not isinstance(HalfAList(), CandidateList)
    assert issubclass(Replay, Seeks)
    assert not issubclass(HalfAList, Seeks)


def test_the_clauses_of_contracts_are_numbered_without_a_gap() -> None:
    """Errors and tests cite them."""
    for letter, kinds in (("L", (CandidateList, Sweeps, Floors)), ("F", (Source, Seeks))):
        found = [
            int(number)
            for kind in kinds
            for number in re.findall(rf"^ *{letter}(\d+)\. ", kind.__doc__ or "", re.MULTILINE)
        ]
        assert found == [*range(1, len(found) + 1)], letter
