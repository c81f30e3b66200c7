"""The arrays that panes and windows are made of, and how their columns are merged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from topwater.model import FloatArray, IntArray

Int8s = npt.NDArray[np.int8]
Int32s = npt.NDArray[np.int32]

SUM, MIN, MAX, LAST = 0, 1, 2, 3


class Rows(NamedTuple):
    """Rows of a pane, or of several: the numbers have a row each, and a column a name."""

    slots: Int32s
    time: IntArray
    numbers: FloatArray


class Columns(NamedTuple):
    """A window's columns by slot; ``panes`` says in how many of its panes each key is."""

    panes: Int32s
    time: IntArray
    numbers: FloatArray
