"""(1) Keep only what can still win: the candidate lists, by name.

======================  ==========================================================================
``panes``               the default: columnar, minimal, no recomputation
``mintopk``             one list with window marks, as published; minimal, no recomputation
``pretopk``             one predicted answer per open window, as published
``sma``, ``tma``        the whole window in an index, recomputing when needed; the rivals
``recompute``           the whole window, sorted on demand; the oracle
----------------------  --------------------------------------------------------------------------
``sa``, ``ra``          the k-skyband, pruned at each object or now and then
``sasf`` ... ``rapf``   the same behind a buffer with a strict, relaxed or probabilistic filter
``cpm/w``, ``snn``      the whole window in a grid that is searched now and then; the rivals
``auto``                a small probabilistic k-skyband that checks itself, or ``rapf``
``pa``                  the small one without the check: approximate, and no list for a query
======================  ==========================================================================

Those below the line take objects one by one, as published: they are what the compiled engine of
:mod:`topwater.standing` is compared with, and the slower the more objects a window has.
"""

from __future__ import annotations

import numpy as np

from topwater.model import Arrivals, IntArray, Items
from topwater.protocols import CandidateList, ListMaker, Registry, Sweeps
from topwater.windows import Windows, counting

__all__ = ["approximate", "build", "lists", "one_by_one", "sweep", "warm_up"]

lists: Registry[ListMaker] = Registry("list")
"""Exact lists: they keep the whole contract."""

approximate: Registry[ListMaker] = Registry("approximate list")
"""Lists that may lose what belongs in an answer, and keep the contract but for that."""


def build(name: str, windows: Windows, k: int, *, first: int = 0) -> CandidateList:
    """A new list by its registry name, with ``first`` as its current window.

    Examples
    --------
    >>> from topwater.windows import counting
    >>> build("panes", counting(10, 5), k=3).k
    3
    """
    made = lists[name](windows, k)
    made.expire(first - 1)
    return made


def sweep(
    held: CandidateList, arrivals: Arrivals, current: int, until: int
) -> tuple[Items, IntArray, IntArray]:
    """Answers of the windows from ``current`` to ``until``, in one call if the list can.

    Returns
    -------
    answers, sizes, kept
        All answers one after the other; how many items each has; and how many candidates the
        list held at each.
    """
    if isinstance(held, Sweeps):
        return held.sweep(arrivals, until)
    if len(arrivals):
        held.add(arrivals)
    tops, kept = [], []
    for window in range(current, until + 1):
        tops.append(held.top(window))
        kept.append(len(held))
        held.expire(window)
    return Items.concat(tops), np.array([len(t) for t in tops]), np.array(kept)


def warm_up() -> None:
    """Compile the inner loops, or load them if that was done before on this machine."""
    windows = counting(2, 1)
    items = Items(np.array([1.0, 2.0]), np.array([1, 2]), np.array([1, 2]))
    sweep(build("panes", windows, 1), windows.group(items), 0, 0)


def _panes(windows: Windows, k: int) -> CandidateList:
    from topwater.candidates.panes import Panes

    return Panes(windows, k)


def _mintopk(windows: Windows, k: int) -> CandidateList:
    from topwater.candidates.pane_order import InOrder
    from topwater.candidates.published.mintopk import SuperTopK

    return InOrder(SuperTopK(windows, k))


def _pretopk(windows: Windows, k: int) -> CandidateList:
    from topwater.candidates.pane_order import InOrder
    from topwater.candidates.published.pretopk import Predicted

    return InOrder(Predicted(windows, k))


def _sma(windows: Windows, k: int) -> CandidateList:
    from topwater.candidates.pane_order import InOrder
    from topwater.candidates.published.tma_sma import sma

    return InOrder(sma(windows, k))


def _tma(windows: Windows, k: int) -> CandidateList:
    from topwater.candidates.pane_order import InOrder
    from topwater.candidates.published.tma_sma import tma

    return InOrder(tma(windows, k))


def _recompute(windows: Windows, k: int) -> CandidateList:
    from topwater.candidates.recompute import Recompute

    return Recompute(windows, k)


lists.add("panes", _panes, "columnar, minimal candidates, no recomputation (default)")
lists.add("mintopk", _mintopk, "one list with window marks, as published; minimal")
lists.add("pretopk", _pretopk, "one predicted answer per open window, as published")
lists.add("sma", _sma, "the whole window indexed, plus its skyband; recomputes now and then")
lists.add("tma", _tma, "the whole window indexed; recomputes whenever a top item leaves")
lists.add("recompute", _recompute, "the whole window, sorted on demand; the oracle")


one_by_one = {
    "sa": "the k-skyband, pruned at each object",
    "ra": "the k-skyband, pruned now and then",
    "sasf": "sa behind a buffer whose k-skyband filters",
    "sarf": "sa behind a buffer with a relaxed filter",
    "sapf": "sa behind a buffer with a probabilistic filter",
    "rasf": "ra behind a buffer whose k-skyband filters",
    "rarf": "ra behind a buffer with a relaxed filter",
    "rapf": "ra behind a buffer with a probabilistic filter; the fastest exact one as published",
    "cpm/w": "the whole window in a grid; searches whenever a top item leaves",
    "snn": "the whole window in a grid, plus its skyband; searches now and then",
    "auto": "a probabilistic k-skyband that checks itself, or rapf",
}
"""The lists that take objects one by one, and what each is."""


def _stepped(name: str) -> ListMaker:
    def make(windows: Windows, k: int) -> CandidateList:
        from topwater.candidates.pane_order import InOrder
        from topwater.candidates.published.adapter import Stepped, structure

        return InOrder(Stepped(windows, structure(name, windows, k)))

    return make


for _name, _summary in one_by_one.items():
    lists.add(_name, _stepped(_name), _summary)
approximate.add("pa", _stepped("pa"), "a probabilistic k-skyband, for scores in random order only")
