"""Continuous top-k answers over event streams.

What is named here is loaded when it is first used, so that a command that prints its help need
not wait for arrays and tables.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from topwater.views import Views, provide

if TYPE_CHECKING:
    from topwater import remote, spark
    from topwater.errors import BatchError, QueryError, SourceError, StateError, TopwaterError
    from topwater.local import run
    from topwater.model import Answer, Counts, LookUp, Row, Window
    from topwater.monitor import TopKMonitor
    from topwater.query import TopKQuery
    from topwater.scoring import Euclidean, Formula, WeightedDistance, WeightedSum
    from topwater.show.answers import Answers
    from topwater.show.explain import explain
    from topwater.windows import counting, sliding, tumbling

    __version__: str

__all__ = [
    "Answer",
    "Answers",
    "BatchError",
    "Counts",
    "Euclidean",
    "Formula",
    "LookUp",
    "QueryError",
    "Row",
    "SourceError",
    "StateError",
    "TopKMonitor",
    "TopKQuery",
    "TopwaterError",
    "WeightedDistance",
    "WeightedSum",
    "Window",
    "counting",
    "explain",
    "remote",
    "run",
    "sliding",
    "spark",
    "tumbling",
]

_HOMES = {
    "errors": ("BatchError", "QueryError", "SourceError", "StateError", "TopwaterError"),
    "local": ("run",),
    "model": ("Answer", "Counts", "LookUp", "Row", "Window"),
    "monitor": ("TopKMonitor",),
    "query": ("TopKQuery",),
    "show.answers": ("Answers",),
    "show.explain": ("explain",),
    "scoring": ("Euclidean", "Formula", "WeightedDistance", "WeightedSum"),
    "windows": ("counting", "sliding", "tumbling"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load what is asked for, once."""
    if name in ("remote", "spark"):
        return import_module(f"topwater.{name}")
    if name == "__version__":
        from importlib.metadata import version

        found: Any = version("topwater")
    elif name in _HOME:
        found = getattr(import_module(f"topwater.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module 'topwater' has no attribute {name!r}")
    globals()[name] = found
    return found


def _views() -> Views:
    from topwater.show.notebook import VIEWS

    return VIEWS


# Whatever is imported of Topwater imports this first, so every value has its view in a notebook.
provide(_views)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
