"""The settings of a stream as they stand in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from topwater.errors import QueryError
from topwater.streams.kinds import KINDS
from topwater.streams.spark_stream import SparkStream
from topwater.streams.stream_settings import RDF, ROWS, StreamSettings
from topwater.validation import choice_of, mapping_of, require_given, require_known
from topwater.validation.addresses import REMOTE


def stream_settings(
    given: Mapping[str, Any], base: str | Path = "", *, where: str = "stream"
) -> StreamSettings:
    """The settings that a mapping holds, checked.

    Parameters
    ----------
    given
        ``kind``, and the settings of that kind; without ``kind``, a ``format`` or a ``table`` is
        Spark's own.
    base
        The folder that relative paths start from.
    where
        What the mapping is called in errors.

    Raises
    ------
    QueryError
        Naming the setting and what to write instead.

    Examples
    --------
    >>> stream_settings({"kind": "files", "path": ".", "schema": "user string, at timestamp"}).kind
    'files'
    """
    settings = mapping_of(given, where, f'write [{where}] and kind = "files"')
    try:
        return _made(dict(settings), Path(base))
    except QueryError as error:
        problem = error.problem.removeprefix(f"{error.field}: ")
        raise QueryError(problem, field=f"{where}.{error.field}", fix=error.fix) from None


def kind_of(given: Mapping[str, Any]) -> Any:
    """The kind that a mapping names; a format that none of ours reads, and a table, are Spark's.

    Examples
    --------
    >>> kind_of({"format": "delta"}), kind_of({"table": "events"}), kind_of({"format": "json"})
    ('spark', 'spark', None)
    """
    ours = (*ROWS, *RDF)
    found = given.get("kind")
    if found is None and ("table" in given or given.get("format", ours[0]) not in ours):
        return SparkStream.kind
    return found


def _made(given: dict[str, Any], base: Path) -> StreamSettings:
    kind = kind_of(given)
    if kind is None:
        fix = f"use one of: {', '.join(KINDS)}; or leave it out and name a table, or a format that"
        raise QueryError("is missing", field="kind", fix=f"{fix} none of them has")
    kind = choice_of(kind, KINDS, "kind")
    given.pop("kind", None)
    made = KINDS[kind]
    known = {each.name: each for each in fields(made)}
    require_known(given, known, of=kind)
    require_given(given, [name for name in known if _needed(known[name])], of=kind)
    settings = made(**{name: _value(made, name, given[name], base) for name in given})
    assert isinstance(settings, StreamSettings)  # noqa: S101
    return settings


def _needed(setting: Field[Any]) -> bool:
    return setting.default is MISSING and setting.default_factory is MISSING


def _value(made: type[StreamSettings], name: str, value: Any, base: Path) -> Any:
    """Lists as tuples, and paths from where the file is."""
    if isinstance(value, list):
        return tuple(value)
    if name == "topics" and isinstance(value, str):
        return (value,)
    if name not in made.places or not isinstance(value, str) or not value:
        return value
    if name == "source":  # sensors.py:Sensors is a path, package.sensors:Sensors is none
        return str(base.absolute() / value) if ".py:" in value else value
    return value if REMOTE.match(value) else str(base.absolute() / value)
