"""Keys to ask a source for, and its answer in one list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from topwater.model import Fetched


def keys_of(*keys: Any) -> Any:
    """Whole numbers as such, all others as objects."""
    whole = all(isinstance(key, int) for key in keys)
    return np.array(keys, np.int64 if whole else object)


def values_or_problems(got: Fetched) -> list[Any]:
    """The value of each key; what went wrong, where there is none for that reason."""
    assert got.why is not None
    return [
        value if ok else why for value, ok, why in zip(got.values, got.ok, got.why, strict=True)
    ]
