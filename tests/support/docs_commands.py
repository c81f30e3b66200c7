"""Whether a command that a page names could be typed: its name, its options, its arguments."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from typing import Any

from tests.support.docs_pages import ROOT


@cache
def all_commands() -> dict[str, Any]:
    """The commands of Topwater by their whole names, as the page of commands has them."""
    spec = importlib.util.spec_from_file_location("commands", ROOT / "docs" / "commands.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, Any] = module.all_commands()
    return found


@cache
def targets() -> set[str]:
    """What can be made."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


def split(words: list[str]) -> tuple[str, list[str]]:
    """A command's whole name, and what follows it."""
    name, rest = words[0], words[1:]
    while rest and f"{name} {rest[0]}" in all_commands():
        name = f"{name} {rest.pop(0)}"
    usual = getattr(all_commands().get(name), "usual", None)
    if usual is not None and rest and rest[0] != "--help":
        name = f"{name} {usual}"
    return name, rest


def problem_of_names(words: list[str]) -> str | None:
    """What is wrong with ``topwater …`` or ``make …`` as it is named in a text, if anything is.

    In texts, words in capitals stand for something, and brackets for what may be left out.
    """
    if words[0] == "make":
        return None if words[1] in targets() or words[1].isupper() else "nothing makes that"
    name, rest = split(words)
    command = all_commands()[name]
    if hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        stands_for = rest[0].isupper() or rest[0] == "…"
        return None if stands_for else f"{name!r} has no command {rest[0]!r}"
    known = {"--help"}.union(*(each.opts + each.secondary_opts for each in command.params))
    unknown = [each for each in rest if each.startswith("--") and each.split("=")[0] not in known]
    return f"no option {unknown[0]}" if unknown else None


def parse(words: list[str]) -> None:
    """Read a whole command line as Topwater would; the error says what it would not take."""
    name, rest = split(words)
    command = all_commands()[name]
    if rest == ["--help"] or rest == ["--version"]:
        return
    with command.make_context(name, rest):
        pass
