"""The command line as a page of documentation, read off the command line itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer.main

from topwater.cli import app


def as_markdown() -> str:
    """Every command with its arguments and options, in the order of the help."""
    return "\n\n".join(_told("topwater", typer.main.get_command(app)))


def all_commands() -> dict[str, Any]:
    """Commands by their whole name, such as ``topwater bench core``."""
    return dict(_walk("topwater", typer.main.get_command(app)))


def _walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield name, command
    for part, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield from _walk(f"{name} {part}", inner)


def _told(name: str, command: Any) -> Iterator[str]:
    for whole, each in _walk(name, command):
        params = [param for param in each.params if not getattr(param, "hidden", False)]
        yield f"## `{whole}`"
        yield _plain(inspect.cleandoc(each.help or ""))
        if not hasattr(each, "commands"):
            yield _block([_usage(whole, params)])
        if params:
            yield _table(params)
        if each.epilog:
            yield _examples(each.epilog)


def _examples(epilog: str) -> str:
    """What stands below the help: a line, and indented ones with commands."""
    title, *lines = epilog.replace(r"\[", "[").splitlines()
    return f"{title}\n\n{_block([line.removeprefix('  ') for line in lines])}"


def _block(lines: list[str]) -> str:
    return "\n".join(["```text", *lines, "```"])


def _usage(name: str, params: list[Any]) -> str:
    arguments = [param for param in params if param.param_type_name == "argument"]
    shown = [_metavar(each) if each.required else f"[{_metavar(each)}]" for each in arguments]
    options = ["[OPTIONS]"] if len(arguments) < len(params) else []
    return " ".join([name, *options, *shown])


def _table(params: list[Any]) -> str:
    rows = [f"| {_names(each)} | {_default(each)} | {_plain(each.help or '')} |" for each in params]
    return "\n".join(["| | default | what it is |", "| --- | --- | --- |", *rows])


def _names(param: Any) -> str:
    if param.param_type_name == "argument":
        return f"`{_metavar(param)}`"
    names = ", ".join(f"`{name}`" for name in (*param.opts, *param.secondary_opts))
    return names if param.is_flag else f"{names} `{_metavar(param)}`"


def _metavar(param: Any) -> str:
    return str(param.metavar or param.name.upper().replace("_", "-"))


def _default(param: Any) -> str:
    nothing = param.default in (None, "", False, (), []) or callable(param.default)
    return "" if nothing else f"`{param.default}`"


def _plain(text: str) -> str:
    """Text that says the same in Markdown: no tags, no emphasis, no cells."""
    for sign in "\\`*_<[|":
        text = text.replace(sign, f"\\{sign}")
    return text
