"""What a job names in Python: ``"file.py:name"``, or ``"package.module:name"``."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from topwater.errors import QueryError
from topwater.validation import nearest


@functools.cache
def loaded(name: str, base: Path, field: str = "object") -> Any:
    """The object of this name, from a file next to the job, or from a module.

    Raises
    ------
    QueryError
        If it is not there, can't be imported, or can't be called.
    """
    place, _, inner = name.rpartition(":")
    if not place or not inner.isidentifier():
        raise QueryError(f"{name!r} names nothing", field=field, fix="write file.py:name")
    try:
        module = (
            _from_file(base / place) if place.endswith(".py") else importlib.import_module(place)
        )
    except Exception as error:
        raise QueryError(
            f"{place} can't be imported: {type(error).__name__}: {error}",
            field=field,
            fix="write file.py:name, or install the module",
        ) from error
    found = getattr(module, inner, None)
    if not callable(found):
        near = nearest(inner, (each for each, value in vars(module).items() if callable(value)))
        raise QueryError(
            f"there is no class or function {inner} in {place}",
            field=field,
            fix=f"did you mean {near}?" if near else "check the name",
        )
    return found


def _from_file(path: Path) -> Any:
    """A file as a module whose contents travel to Spark's workers by value."""
    from pyspark import cloudpickle

    name = f"topwater_job_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ImportError(f"there is no file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    return module
