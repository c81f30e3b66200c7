"""Long lists of candidates in two levels: what expires must leave both."""

from __future__ import annotations

import numpy as np

from topwater.candidates import build, sweep
from topwater.candidates.runs import nothing
from topwater.model import Items
from topwater.windows import sliding


def test_what_expires_leaves_the_level_of_the_new_ones_too() -> None:
    """A burst makes the list long; a trickle after it stays in a level of its own.

    Width 30, step 10: the burst is in pane 0, then one item in pane 3 and one in pane 4::

        pane  0    1    2    3    4    5    6
        W0    (──────────────]
        W3                   (──────────────]      both
        W4                        (──────────────] only the item of pane 4
    """
    windows, burst = sliding(30, 10), 5_000
    time = np.append(np.full(burst, 1), [35, 45])
    items = Items(np.arange(burst + 2.0), time, np.arange(burst + 2))
    panes = build("panes", windows, burst)
    panes.add(windows.group(items))
    answers, sizes, _ = sweep(panes, nothing(), 0, 4)
    assert sizes.tolist() == [burst, 1, 2, 2, 1]
    assert answers.key[-1] == burst + 1
