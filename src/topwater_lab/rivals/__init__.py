"""CPM/w and SNN, compiled: algorithms for standing queries, to compare ours with.

Importing this package adds them to :data:`topwater.standing.algorithms.algorithms`, by the names
``cpm/w`` and ``snn``. Where it is installed, asking for these names imports it.
"""

from topwater.standing.algorithms import EngineMaker, Settings, algorithms
from topwater.standing.engines import Engine

RIVALS = ("cpm/w", "snn")
"""Their names."""


def _gridded(*, skyband: bool) -> EngineMaker:
    def make(settings: Settings, timed: bool) -> Engine:  # noqa: ARG001
        from topwater_lab.rivals.grid_engine import Gridded

        return Gridded(skyband, settings.cells or 10)

    return make


algorithms.add("cpm/w", _gridded(skyband=False), "the top k, and the window in a grid; exact")
algorithms.add("snn", _gridded(skyband=True), "a skyband, and the window in a grid; exact")
