"""Commands of other packages: found by their entry points, loaded when they are asked for.

A package offers a command as an entry point of the group ``topwater.commands`` whose object is a
``typer.Typer``. Topwater's own laboratory does so, too; its names are known here, so that they can
say how to get it where it is not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
import typer.main

from topwater.cli.terminal import plain_errors
from topwater.errors import EnvironmentProblem, lab_missing

GROUP = "topwater.commands"
LAB = {
    "demo": "See it work, in a minute.",
    "serve-example": "Services on this machine to try sources against.",
    "bench": "Measure, on this machine.",
    "experiment": "Run the papers' experiments again.",
}
"""The commands of the laboratory."""


class OpenCommands(MutableMapping[str, Any]):
    """Commands by name: Topwater's own, the laboratory's, those of other packages.

    The first one of a name is taken, so nobody can take the place of a command of ours. Others
    than our own are looked for when their name, or all names, are asked for.

    Parameters
    ----------
    own
        Topwater's own.
    prepare
        What is done to each of the others.
    """

    def __init__(self, own: Mapping[str, Any], prepare: Callable[[Any], None]) -> None:
        self._known = dict(own)
        self._own = tuple(own)
        self._prepare = prepare

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            command = plugged_command(name)
            self._prepare(command)
            self._known[name] = command
        return self._known[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._known[name] = command

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __iter__(self) -> Iterator[str]:
        others = sorted(each.name for each in entry_points(group=GROUP))
        return iter(dict.fromkeys([*self._own, *LAB, *others, *self._known]))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def plugged_command(name: str) -> Any:
    """The command of a plug-in.

    One that can't be loaded, or is not installed, is a command that says so.

    Raises
    ------
    KeyError
        If no plug-in has such a command.
    """
    entry = next(iter(entry_points(group=GROUP, name=name)), None)
    if entry is not None:
        return _loaded(entry)
    if name in LAB:
        problem = lab_missing(f"the command {name}")
        return _failing(name, f"Needs topwater-lab: {LAB[name]}", problem)
    raise KeyError(name)


def _loaded(entry: EntryPoint) -> Any:
    package = entry.dist.name if entry.dist is not None else entry.value
    try:
        app = entry.load()
        if not isinstance(app, typer.Typer):
            raise TypeError(f"{entry.value} is not a typer.Typer")
        return _command(app, entry.name)
    except Exception as error:
        # Another's fault must not take the rest of the command line away.
        problem = EnvironmentProblem(
            f"the command {entry.name} of {package} can't be loaded: {error}",
            fix=f"install another version of {package}, or none",
        )
        return _failing(entry.name, f"Can't be loaded: see topwater {entry.name}.", problem)


def _command(app: typer.Typer, name: str) -> Any:
    """An app as Typer itself would run it: one command alone is not a group."""
    group = typer.main.get_group(app)
    alone = not (app.registered_callback or app.registered_groups or len(group.commands) > 1)
    command = next(iter(group.commands.values())) if alone else group
    command.name = name
    return command


def _failing(name: str, summary: str, problem: EnvironmentProblem) -> Any:
    """A command that takes anything, and ends with the problem."""
    app = typer.Typer()
    anything = {"allow_extra_args": True, "ignore_unknown_options": True}

    @app.command(name, help=summary, add_help_option=False, context_settings=anything)
    def fail() -> None:
        with plain_errors():
            raise problem

    return _command(app, name)
