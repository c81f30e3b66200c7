"""Graph patterns: which variables they have, and how a term takes the place of one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from topwater.errors import QueryError
from topwater.validation import nearest

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_TOKEN = re.compile(
    r"""(?P<comment>\#[^\r\n]*)
    | (?P<iri><[^<>"{}|^`\\\x00-\x20]*>)
    | (?P<string>\"\"\"(?:\"{0,2}(?:[^"\\]|\\.))*\"\"\" | '''(?:'{0,2}(?:[^'\\]|\\.))*'''
        | "(?:[^"\\\r\n]|\\.)*" | '(?:[^'\\\r\n]|\\.)*')
    | (?P<variable>[?$]\w+)
    | (?P<brace>[{}()\[\]])
    | (?P<quote>"(?:[^"\\\r\n]|\\.)* | '(?:[^'\\\r\n]|\\.)*)
    | (?P<name>[\w\-.%]{0,255}:(?:\\.|[\w\-.:%])*)
    | (?P<word>\w+)
    | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_PARTNER = {")": "(", "]": "[", "}": "{"}


def require_name(name: object, field: str) -> str:
    """The name of a variable, without its question mark."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise QueryError(
            f"{name!r} is not the name of a variable",
            field=field,
            fix="use letters and digits only",
        )
    return name


def tokens(pattern: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of each piece of a pattern, whitespace included: together they are the pattern.

    Examples
    --------
    >>> [text for kind, text in tokens('?a <b?c> "?d" # ?e') if kind == "variable"]
    ['?a']
    """
    for found in _TOKEN.finditer(pattern):
        yield str(found.lastgroup), found[0]


def variables(pattern: str) -> set[str]:
    """The names of the variables in a pattern."""
    return {text[1:] for kind, text in tokens(pattern) if kind == "variable"}


def require_balanced(pattern: str) -> None:
    """Raise ``QueryError`` if braces or quotes have no partner: the query would be another one."""
    opened: list[str] = []
    for kind, text in tokens(pattern):
        if kind == "quote":
            raise QueryError("has a quote that does not end", field="pattern", fix="end it")
        if kind != "brace":
            continue
        if text not in _PARTNER:
            opened.append(text)
        elif not opened or opened.pop() != _PARTNER[text]:
            opened = [text]
            break
    if opened:
        raise QueryError(
            f"has a {opened[-1]} without its partner", field="pattern", fix="add or remove one"
        )


def substituted(pattern: str, name: str, term: str) -> str:
    """The pattern with a term in all places of a variable; comments are left out.

    Examples
    --------
    >>> substituted('?a <p> "?a"', "a", "<x>")
    '<x> <p> "?a"'
    """
    return "".join(
        term if kind == "variable" and text[1:] == name else "\n" if kind == "comment" else text
        for kind, text in tokens(pattern)
    )


def checked_pattern(pattern: Any, key: str, value: str) -> str:
    """A pattern that contains both variables and nothing that is left open."""
    if not isinstance(pattern, str):
        raise QueryError(
            "is not text", field="pattern", fix='write "?user ex:followers ?followers"'
        )
    require_balanced(pattern)
    known = variables(pattern)
    for name, role in ((key, "key"), (value, "value")):
        if name not in known:
            raise QueryError(
                f"does not contain ?{name}",
                field="pattern",
                fix=f"use ?{name} in it, or name another variable with {role}=",
            )
    return pattern.strip()


def predicate_advice(pattern: str, term: str, known: Sequence[str]) -> str:
    """What to write instead of a predicate that a key does not have.

    Parameters
    ----------
    pattern
        That matches nothing for the key.
    term
        The key, as SPARQL writes it.
    known
        The IRIs of the predicates that it has.

    Examples
    --------
    >>> predicate_advice("?u ex:folowers ?n", "<x:1>", ["http://example.org/followers"])
    'did you mean <http://example.org/followers>?'
    >>> predicate_advice("?u ex:folowers ?n", "<x:1>", [])
    'the endpoint knows nothing of <x:1>: check namespace and key_as, or name a key that it knows'
    """
    if not known:
        check = "check namespace and key_as, or name a key that it knows"
        return f"the endpoint knows nothing of {term}: {check}"
    locals_of = {_local(each): each for each in known}
    for kind, text in tokens(pattern):
        name = _local(text.strip("<>"))
        if kind in ("iri", "name") and name not in locals_of:
            near = nearest(name, locals_of)
            if near is not None:
                return f"did you mean <{locals_of[near]}>?"
    return f"{term} has: {', '.join(f'<{each}>' for each in known[:8])}"


def _local(iri: str) -> str:
    return re.split(r"[/#:]", iri)[-1]
