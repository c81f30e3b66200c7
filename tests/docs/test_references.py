"""What docstrings refer to is there: editors and the built pages follow these names."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

SOURCES = sorted(Path("src").rglob("*.py"))
ROLE = re.compile(r":(?:func|class|mod|meth|attr|data|exc):`~?(topwater(?:_lab)?[\w.]*)`")


def exists(name: str) -> bool:
    """Whether a module has it: as an attribute, at any depth, or as a field of a dataclass."""
    parts = name.split(".")
    for depth in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:depth]))
        except ModuleNotFoundError:
            continue
        for part in parts[depth:]:
            if part in getattr(found, "__dataclass_fields__", {}):
                return True
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("name", ["topwater.TopKQuery.lateness", "topwater.model.Answer.to_dict"])
def test_what_is_there_is_found(name: str) -> None:
    assert exists(name)


@pytest.mark.parametrize(
    "name", ["topwater.topk.criterion", "topwater.model.Answer.no", "topwater.no"]
)
def test_what_is_not_there_is_not(name: str) -> None:
    assert not exists(name)


def test_docstrings_refer_to_what_is_there() -> None:
    referred = {(str(path), name) for path in SOURCES for name in ROLE.findall(path.read_text())}
    assert len(referred) > 100
    assert [each for each in sorted(referred) if not exists(each[1])] == []
