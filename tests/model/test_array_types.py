"""Columns: what the other modules take from the nouns is the same."""

from __future__ import annotations

from topwater import model
from topwater.model import array_types


def test_the_nouns_name_them_too() -> None:
    for name in ("BoolArray", "FloatArray", "IntArray", "KeyArray"):
        assert getattr(model, name) is getattr(array_types, name)
