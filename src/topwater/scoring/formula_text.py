"""Tree → text that parses to the same tree, with no more parentheses than it needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from topwater.scoring.tree import ARITY, ATOM, BINDING, NEGATIVE, POWER, Leaf, Name

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
Text: TypeAlias = tuple[str, int]
"""A part as text, and how tightly its outermost operator binds."""


def leaf_text(leaf: Leaf) -> Text:
    """A number or a column as text, and how tightly it binds."""
    if isinstance(leaf, Name):
        plain = _PLAIN.fullmatch(leaf.name)
        return (leaf.name if plain else "`" + leaf.name.replace("`", "``") + "`"), ATOM
    short = f"{leaf.value:.0f}" if abs(leaf.value) < 1e15 and leaf.value.is_integer() else ""
    text = leaf.written or short or repr(leaf.value)
    return text, NEGATIVE if text.startswith("-") else ATOM


def _enclosed(part: Text, binding: int) -> str:
    return part[0] if part[1] >= binding else f"({part[0]})"


def _infix_text(op: str, left: Text, right: Text) -> Text:
    own = BINDING[op]
    # Only the power groups to the right, so only it needs the parentheses on the left.
    before, after = (own + 1, own) if own == POWER else (own, own + 1)
    return f"{_enclosed(left, before)} {op} {_enclosed(right, after)}", own


def _call_text(name: str, *args: Text) -> Text:
    return f"{name}({', '.join(text for text, _ in args)})", ATOM


TEXTS: Mapping[str, Callable[..., Text]] = {
    **{op: partial(_infix_text, op) for op in BINDING},
    **{name: partial(_call_text, name) for name in ARITY},
    "neg": lambda x: (f"-{_enclosed(x, NEGATIVE)}", NEGATIVE),
}
"""An algebra for :meth:`~topwater.scoring.expressions.Expression.fold`."""
