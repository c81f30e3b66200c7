"""Continuous top-k answers over event streams."""

from importlib import metadata
from typing import TYPE_CHECKING, Any

from topwater import remote
from topwater.errors import BatchError, QueryError, SourceError, StateError, TopwaterError
from topwater.local import run
from topwater.model import Answer, Counts, Row, Window
from topwater.monitor import TopKMonitor, TopKQuery
from topwater.scoring import Euclidean, Formula, WeightedDistance, WeightedSum
from topwater.windows import counting, sliding, tumbling

if TYPE_CHECKING:
    from topwater import spark

__all__ = [
    "Answer",
    "BatchError",
    "Counts",
    "Euclidean",
    "Formula",
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
    "remote",
    "run",
    "sliding",
    "spark",
    "tumbling",
]

__version__ = metadata.version("topwater")


def __getattr__(name: str) -> Any:
    """Load Spark only when it is asked for."""
    if name == "spark":
        import importlib

        return importlib.import_module("topwater.spark")
    raise AttributeError(f"module 'topwater' has no attribute {name!r}")
