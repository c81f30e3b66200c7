"""How many objects are looked at together, and arrays laid out for it."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

LANES: Final = 64
"""How many rows a mask covers."""

_LINE: Final = 64


def aligned(shape: tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> Any:
    """Zeros that begin at a border of the cache's lines, so that no vector is in two of them."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room: npt.NDArray[np.uint8] = np.zeros(size + _LINE, np.uint8)
    first = -room.ctypes.data % _LINE
    return room[first : first + size].view(dtype).reshape(shape)
