"""Packages that seem to be installed, or seem not to be."""

from __future__ import annotations

import importlib.metadata
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pytest

LAB = "topwater-lab"


def install(folder: Path, name: str, entries: str, modules: Mapping[str, str]) -> None:
    """Write a made-up distribution into a folder, which is to be put on the path.

    Parameters
    ----------
    entries
        Its entry points, as an ``entry_points.txt`` has them.
    modules
        The source of each of its modules.
    """
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entries)
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)


def hide_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it seem that the laboratory is not installed."""
    every = importlib.metadata.distributions

    def others(**context: Any) -> Iterator[importlib.metadata.Distribution]:
        return (each for each in every(**context) if each.metadata["Name"] != LAB)

    monkeypatch.setattr(importlib.metadata, "distributions", others)
    for name in [each for each in sys.modules if each.split(".")[0] == "topwater_lab"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "topwater_lab", None)
