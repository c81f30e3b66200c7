"""How the loops are compiled: without reference counts, where this Numba can leave them out.

Counting the references to arrays that are handed from function to function took nine tenths of
the time. The option that leaves it out is not part of Numba's public interface, so it is used only
if this Numba has it. Without it everything works, more slowly.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def without_counts() -> dict[str, Any]:
    """The option that leaves out reference counts; nothing if this Numba does not know it."""
    option = {"_nrt": False}
    try:
        flags: Any = import_module("numba.core.compiler").Flags()
        target: Any = import_module("numba.core.registry").cpu_target
        target.options.parse_as_flags(flags, {"nopython": True, **option})
    except (ImportError, AttributeError, KeyError, TypeError):
        return {}
    return option


_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, **without_counts()}


def compiled(function: F) -> F:
    """Compile, without reference counts.

    Hence compiled functions may not allocate: what they need is handed to them.
    """
    return cast("F", njit(**_OPTIONS)(function))


def inlined(function: F) -> F:
    """Compile into the callers: handing over many arrays takes longer than most of the work."""
    return cast("F", njit(**_OPTIONS, forceinline=True)(function))
