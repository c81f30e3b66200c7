"""Continuous top-k answers over event streams joined with remote data that keeps changing.

``TopKQuery`` says what is asked; ``run`` answers it in this process, ``topk`` on Spark.

Every name is loaded when it is first used: importing the package loads neither arrays nor Spark.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from topwater.views import Views, provide

if TYPE_CHECKING:
    from topwater import remote, spark
    from topwater.errors import (
        BatchError,
        EnvironmentProblem,
        QueryError,
        SourceError,
        StateError,
        TopwaterError,
    )
    from topwater.jobs import read_job
    from topwater.local import run
    from topwater.model import Answer, Counts, Fetched, Freshness, LookUp, Row, Window
    from topwater.monitor import TopKMonitor
    from topwater.monitor.notice_settings import ChangeStream
    from topwater.monitor.snapshot import describe
    from topwater.protocols import Source
    from topwater.query import TopKQuery
    from topwater.replica import Budget, RefreshSettings
    from topwater.scoring import Euclidean, Formula, WeightedDistance, WeightedSum
    from topwater.show.answers import Answers
    from topwater.show.explain import explain
    from topwater.spark import answers_from, read_state, start, stream, watch
    from topwater.spark.session import session  # the package has a module of this name too
    from topwater.spark.topk import topk
    from topwater.standing import Standing, StandingQuery
    from topwater.windows import counting, sliding, tumbling

    __version__: str

__all__ = [
    "Answer",
    "Answers",
    "BatchError",
    "Budget",
    "ChangeStream",
    "Counts",
    "EnvironmentProblem",
    "Euclidean",
    "Fetched",
    "Formula",
    "Freshness",
    "LookUp",
    "QueryError",
    "RefreshSettings",
    "Row",
    "Source",
    "SourceError",
    "Standing",
    "StandingQuery",
    "StateError",
    "TopKMonitor",
    "TopKQuery",
    "TopwaterError",
    "WeightedDistance",
    "WeightedSum",
    "Window",
    "answers_from",
    "counting",
    "describe",
    "explain",
    "read_job",
    "read_state",
    "remote",
    "run",
    "session",
    "sliding",
    "spark",
    "start",
    "stream",
    "topk",
    "tumbling",
    "watch",
]

_HOMES = {
    "errors": (
        "BatchError",
        "EnvironmentProblem",
        "QueryError",
        "SourceError",
        "StateError",
        "TopwaterError",
    ),
    "jobs": ("read_job",),
    "local": ("run",),
    "model": ("Answer", "Counts", "Fetched", "Freshness", "LookUp", "Row", "Window"),
    "monitor": ("TopKMonitor",),
    "monitor.notice_settings": ("ChangeStream",),
    "monitor.snapshot": ("describe",),
    "protocols": ("Source",),
    "query": ("TopKQuery",),
    "replica": ("Budget", "RefreshSettings"),
    "scoring": ("Euclidean", "Formula", "WeightedDistance", "WeightedSum"),
    "show.answers": ("Answers",),
    "show.explain": ("explain",),
    "spark": ("answers_from", "read_state", "session", "start", "stream", "topk", "watch"),
    "standing": ("Standing", "StandingQuery"),
    "windows": ("counting", "sliding", "tumbling"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_PACKAGES = ("remote", "spark")


def __getattr__(name: str) -> Any:
    """Load what is asked for, once."""
    if name in _PACKAGES:
        return _loaded(name, name)
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("topwater")
    elif name in _HOME:
        value = getattr(_loaded(_HOME[name], name), name)
    else:
        raise AttributeError(f"module 'topwater' has no attribute {name!r}")
    globals()[name] = value
    return value


def _loaded(home: str, name: str) -> Any:
    try:
        return import_module(f"topwater.{home}")
    except ModuleNotFoundError as error:
        if home != "spark" or error.name is None or error.name.split(".")[0] != "pyspark":
            raise
        from topwater.errors import EnvironmentProblem

        raise EnvironmentProblem(
            f"topwater.{name} needs PySpark, which is not installed",
            fix='pip install "pyspark>=4.1"',
        ) from error


def _views() -> Views:
    from topwater.show.notebook import VIEWS

    return VIEWS


# Whatever is imported of Topwater imports this first, so every value has its view in a notebook.
provide(_views)


def __dir__() -> list[str]:
    """The public names; without those of Spark where it is not installed, so ``help()`` works."""
    from importlib.util import find_spec

    names = {*__all__, *(name for name in globals() if name.startswith("__"))}
    return sorted(names if find_spec("pyspark") else names - {"spark", *_HOMES["spark"]})
