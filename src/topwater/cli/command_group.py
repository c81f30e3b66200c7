"""The group of all commands: misuse in two lines, help that fills the terminal, plug-ins."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from topwater.cli.plugins import OpenCommands
from topwater.cli.terminal import MISUSED, one_line


class Commands(TyperGroup):
    """Commands whose misuse is reported in the same two lines as every other error.

    Their help fills the terminal, wherever the lines of a docstring end. Commands of other
    packages are among them, and are loaded when they are asked for.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        _let_flow(self)
        self.commands = OpenCommands(self.commands, _let_flow)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command that the arguments name, and end."""
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except Exception as error:
            if not standalone_mode:
                raise
            _end_misused(error)
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)


class ShowOrChange(TyperGroup):
    """Commands one of which is ``show``: it is meant where none is named."""

    usual = "show"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, the first of which may be one of ``show``."""
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = [self.usual, *args]
        return super().parse_args(ctx, args)


def _let_flow(command: Any) -> None:
    """Leave the line breaks of a command's help, and of those below it, to the terminal."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    command.help = "\n\n".join(" ".join(each.split()) for each in paragraphs)
    for each in getattr(command, "commands", {}).values():
        _let_flow(each)


def _end_misused(error: Exception) -> None:
    """End if the command line can't be read; raise what is not misuse."""
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.ctx.get_help())  # type: ignore[attr-defined]
        sys.exit(0)
    format_message = getattr(error, "format_message", None)
    if format_message is None:
        raise error
    context = getattr(error, "ctx", None)
    command = "topwater" if context is None else context.command_path
    typer.echo(f"error: {one_line(format_message())}\n  fix: see {command} --help", err=True)
    sys.exit(MISUSED)
