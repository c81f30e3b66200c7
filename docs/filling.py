"""Fill in what pages leave to the build: where a page has ``<!-- fill: WHAT -->``.

==========================  ======================================================================
``pages``                   the side bar, from the page's own links in their order
``module NAME``             the documentation of all public names of a module
``names MODULE NAME …``     that of some names of a module
``registry MODULE NAME``    what can be chosen by name, with a line on each
``commands``                every command with its options, from the command line itself
==========================  ======================================================================

Read as they are, pages have nothing but an invisible comment there.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import posixpath
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import commands

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

_MARK = re.compile(r"<!-- fill: (\w+) ?(.*?) -->")
_LINK = re.compile(r"^- \[([^\]]+)\]\(([^)]+)\.md\)", re.MULTILINE)
_SECTION = re.compile(r"^### (.+)$", re.MULTILINE)

_CLAUSE = re.compile(r"([A-Z]\d+)\. ")

_public: dict[str, str] = {}
"""Where a name is documented, by where it is defined, and by its last part."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx what to call."""
    app.connect("source-read", _fill)
    app.connect("autodoc-process-docstring", _itemise, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", _readable)
    app.connect("missing-reference", _find_public)
    app.connect("build-finished", _write_start_page)
    return {"parallel_read_safe": False, "parallel_write_safe": True}


def _fill(_app: Sphinx, page: str, source: list[str]) -> None:
    text = source[0]
    source[0] = _MARK.sub(lambda mark: _filling(mark[1], mark[2].split(), page, text), text)


def _filling(what: str, words: list[str], page: str, text: str) -> str:
    match what, words:
        case "pages", []:
            return _side_bar(posixpath.dirname(page), text)
        case "module", [name]:
            return _documented(name, _not_yet_documented(name))
        case "names", [name, *names]:
            return _documented(name, names)
        case "registry", [name, registry]:
            return _choices(getattr(importlib.import_module(name), registry))
        case "commands", []:
            return commands.as_markdown()
    raise ValueError(f"nothing can be filled in for {what!r} and {words}")


def _side_bar(folder: str, text: str) -> str:
    """A list of the pages that are linked to; if ``###`` divides them, one for each section."""
    first, *parts = _SECTION.split(text)
    sections = list(zip(parts[::2], parts[1::2], strict=True)) or [("", first)]
    lists = []
    for caption, part in sections:
        pages = [f"{title} </{posixpath.join(folder, to)}>" for title, to in _LINK.findall(part)]
        options = [":hidden:"] + ([f":caption: {caption}"] if caption else [])
        lists.append(_directive("toctree", [*options, "", *pages]))
    return "\n\n".join(lists)


def _not_yet_documented(module: str) -> list[str]:
    """The public names of a module, without those that an earlier section has."""
    found = importlib.import_module(module)
    names = [(name, getattr(found, name)) for name in found.__all__]
    return [
        name
        for name, thing in names
        if f"{getattr(thing, '__module__', module)}.{name}" not in _public
    ]


def _documented(module: str, names: list[str]) -> str:
    """The names of a module as directives, classes with their members."""
    told = [f".. py:module:: {module}", ""]
    for name in names:
        found = getattr(importlib.import_module(module), name)
        if isinstance(found, ModuleType):
            continue
        whole = f"{module}.{name}"
        for known in (f"{getattr(found, '__module__', module)}.{name}", name):
            _public.setdefault(known, whole)
        told += [f".. auto{_kind(found)}:: {whole}", ""]
    return _directive("eval-rst", told)


def _kind(found: Any) -> str:
    if inspect.isclass(found):
        return "exception" if issubclass(found, Exception) else "class"
    return "function" if inspect.isfunction(found) else "data"


def _choices(registry: Any) -> str:
    rows = [f"| `{name}` | {registry.summary(name)} |" for name in registry]
    return "\n".join(["| name | what it is |", "| --- | --- |", *rows])


def _directive(name: str, lines: list[str]) -> str:
    return "\n".join([f"```{{{name}}}", *lines, "```"])


def _itemise(
    _app: Sphinx, _what: str, _name: str, _found: Any, _options: Any, lines: list[str]
) -> None:
    """The clauses of a contract (``L1. …``) as a list, which they are for a reader of the code."""
    inside = False
    for number, line in enumerate(lines):
        if clause := _CLAUSE.match(line):
            inside = True
            lines[number] = f"- **{clause[1]}** {line[clause.end() :]}"
        elif inside and line.startswith("    "):
            lines[number] = f"  {line.strip()}"
        else:
            inside = False


def _readable(
    _app: Sphinx,
    _what: str,
    _name: str,
    _found: Any,
    _options: Any,
    signature: str | None,
    returned: str | None,
) -> tuple[str | None, str | None]:
    """A signature that can be read as Python: a default that is made anew is ``...``."""
    return signature and signature.replace("<factory>", "..."), returned


def _find_public(
    app: Sphinx, env: BuildEnvironment, node: Any, shown: nodes.TextElement
) -> nodes.Element | None:
    """What a name that has no place of its own in the pages leads to.

    A public name leads to where it is documented, wherever the code says it is. One that is only
    in the code stays as it is; one that is nowhere is a dead reference.
    """
    target = node["reftarget"]
    if node.get("refdomain") != "py":
        return None
    if whole := _public.get(target):
        domain = env.domains.python_domain
        return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", whole, node, shown)
    return shown if _is_in_code(target) else None


def _is_in_code(target: str) -> bool:
    """Whether this is a module, or its last part a name in some module or class of Topwater."""
    with contextlib.suppress(ImportError, ValueError):
        if importlib.util.find_spec(target) is not None:
            return True
    name = target.rpartition(".")[2]
    modules = [module for key, module in sys.modules.items() if key.startswith("topwater.")]
    classes = {
        each for module in modules for _, each in inspect.getmembers(module, inspect.isclass)
    }
    return any(hasattr(each, name) for each in (*modules, *classes))


def _write_start_page(app: Sphinx, failed: Exception | None) -> None:
    """``index.html``, so that the folder can be opened; the first page is the README."""
    if failed is None and app.builder.format == "html":
        to = f"{app.config.root_doc}.html"
        forward = f'<meta http-equiv="refresh" content="0; url={to}">'
        page = f'<!doctype html><title>Topwater</title>{forward}<a href="{to}">Topwater</a>\n'
        Path(app.outdir, "index.html").write_text(page, encoding="utf-8")
