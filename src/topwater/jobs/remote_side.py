"""The remote side of a job: sources and services, and the example that is started for a run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from topwater import remote
from topwater.errors import QueryError, lab_missing
from topwater.jobs.python_names import loaded
from topwater.protocols import Source
from topwater.validation import choice_of, mapping_of, require_given, shown, suggestion, text_of

EXAMPLE = "example:followers"
EXAMPLES = "topwater.examples"
"""The group of entry points that start example services: a call that gives a context manager, which
gives what has the service's ``url``."""
KINDS = ("http", "sparql", "sql", "redis", "memory", "python")
_NOWHERE = "http://127.0.0.1:9"


def source_of(given: Mapping[str, Any], base: Path, at: str = _NOWHERE) -> Source:
    """A source as a job describes it.

    Parameters
    ----------
    given
        The settings of :func:`topwater.remote.source`, or ``kind = "python"`` with an
        ``object`` that makes one, and what it is given.
    base
        The folder of the job.
    at
        Where the example service is.
    """
    settings = dict(given)
    kind = choice_of(settings.get("kind", "http"), KINDS, "kind")
    if kind == "python":
        return _own(settings, base)
    if is_example(settings):
        require_example(settings)
        return remote.source({**_followers(at), **_without(settings, "url")})
    return remote.source({**settings, **_placed(settings.get("url"), base)})


def service_of(given: Any, base: Path, at: str = _NOWHERE) -> Any:
    """A service as :func:`topwater.spark.rspql` takes it."""
    fix = "write its address, or a table with a url"
    settings = {"url": given} if isinstance(given, str) else dict(mapping_of(given, "", fix))
    kind = settings.get("kind", "sparql")
    if is_example(settings):
        require_example(settings)
        if kind == "sparql":
            return {**settings, "url": f"{at}/sparql"}
        return {**_followers(at), **_without(settings, "url")}
    if kind == "python":
        from topwater.rspql.rdf.keyed_source import KeySource

        return KeySource(_own(_without(settings, "namespace"), base), settings.get("namespace", ""))
    return {**settings, **_placed(settings.get("url"), base)}


def is_example(given: Any) -> bool:
    """Whether these settings name a service of ours, to be started for the run."""
    url = given.get("url") if isinstance(given, Mapping) else given
    return isinstance(url, str) and url.startswith("example:")


def require_example(settings: Mapping[str, Any]) -> None:
    """Raise if there is no such example."""
    if settings["url"] != EXAMPLE:
        raise QueryError(
            f"{shown(settings['url'])} is unknown",
            field="url",
            fix=suggestion(settings["url"], (EXAMPLE,)),
        )


@contextlib.contextmanager
def example(wanted: bool) -> Any:
    """The address of the example service, while it runs.

    Raises
    ------
    EnvironmentProblem
        If no package is installed that has it.
    """
    if not wanted:
        yield _NOWHERE
        return
    start = _example_starter()
    with start() as service:
        yield service.url


def _example_starter() -> Callable[[], contextlib.AbstractContextManager[Any]]:
    """What starts the example service: a plug-in, since no service is part of the product."""
    name = EXAMPLE.removeprefix("example:")
    entry = next(iter(entry_points(group=EXAMPLES, name=name)), None)
    if entry is None:
        raise lab_missing(f"the service {EXAMPLE}")
    start: Callable[[], contextlib.AbstractContextManager[Any]] = entry.load()
    return start


def _followers(at: str) -> dict[str, Any]:
    return {
        "kind": "http",
        "url": f"{at}/followers?ids={{keys}}",
        "value": "users[*].followers",
        "key": "users[*].id",
    }


def _without(settings: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in names}


def _placed(url: Any, base: Path) -> dict[str, str]:
    """A file of SQLite that is named from the job's folder."""
    start = "sqlite:///"
    if not isinstance(url, str) or not url.startswith(start):
        return {}
    path, mark, rest = url.removeprefix(start).partition("?")
    return {"url": f"{start}{(base / path).absolute()}{mark}{rest}"} if path else {}


def _own(settings: Mapping[str, Any], base: Path) -> Source:
    require_given(settings, ("object",), of="python")
    name = text_of(settings["object"], "object", 'write object = "file.py:Name"')
    make = loaded(name, base)
    try:
        made = make(**_without(settings, "kind", "object"))
    except Exception as error:
        raise QueryError(
            f"{name} can't be made: {type(error).__name__}: {error}",
            field="object",
            fix="check its settings",
        ) from error
    if not callable(getattr(made, "fetch", None)):
        raise QueryError(
            f"{name} makes no source", field="object", fix="give it a fetch(keys, deadline)"
        )
    source: Source = made
    return source
