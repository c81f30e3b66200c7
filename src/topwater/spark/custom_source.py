"""A Python data source of the user's own."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource

from topwater.errors import QueryError
from topwater.spark.compat import pickle_by_value
from topwater.validation import nearest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from topwater.streams import PythonStream


def plugged(spark: SparkSession, settings: PythonStream, once: bool) -> DataFrame:
    """What the source gives.

    Raises
    ------
    QueryError
        If there is no such class, or it can't be loaded.
    """
    source = _source(settings)
    spark.dataSource.register(source)
    reader: Any = spark.read if once else spark.readStream
    reader = reader.format(source.name()).options(**settings.options)
    if settings.schema and settings.format == "rows":
        reader = reader.schema(settings.schema)
    found: DataFrame = reader.load()
    return found


def _source(settings: PythonStream) -> type[DataSource]:
    place, name = settings.place
    try:
        module = (
            _from_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
        )
    except Exception as error:
        raise QueryError(
            f"{place} can't be loaded: {type(error).__name__}: {error}",
            field="source",
            fix=f"make sure that `python {place}` runs",
        ) from error
    found = getattr(module, name, None)
    if not isinstance(found, type) or not issubclass(found, DataSource):
        near = nearest(name, (each for each in vars(module) if each != name))
        fix = f"write class {name}(pyspark.sql.datasource.DataSource) there"
        raise QueryError(
            f"{place} has no data source {name}",
            field="source",
            fix=f"did you mean {near}? Or {fix}" if near else fix,
        )
    return found


def _from_file(path: Path) -> ModuleType:
    """A module that no other process can import, so it is sent along as it is."""
    name = f"topwater_plugged_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    pickle_by_value(module)
    return module
