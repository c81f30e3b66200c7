"""How the time of a regular expression grows with its text.

The project's expressions are found by reading its source, and are tried as they are used there:
``search`` starts anew at each character, ``fullmatch`` does not. The texts are made from the
expression itself: each thing that it repeats is repeated, after what must stand before it, and
before something that does not fit.
"""

from __future__ import annotations

import ast
import functools
import importlib
import itertools
import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeGuard

SOURCE = Path(__file__).resolve().parents[2] / "src"

_METHODS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_CATEGORIES = {"CATEGORY_DIGIT": "0", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}
_MISFITS = ("", "!", "\n", "\0")
_LADDER = ((16, 0.005), (20, 0.005), (24, 0.005), (100, 0.01), (400, 0.02), (600, 0.05))
"""Characters, and the seconds that no expression takes for them unless its time explodes."""
_SHORT = 600
_LINEAR = 9.0
"""Times as long for four times the characters: 4 if it is linear, 16 if it is quadratic."""

Items: TypeAlias = Any
"""What the parser of :mod:`re` gives."""


class Use(NamedTuple):
    """An expression, where it is used, and by which method; ``scan`` is ``match`` in a loop."""

    where: str
    pattern: re.Pattern[str]
    how: str

    def run(self, text: str) -> None:
        """Do with a text what the project does."""
        if self.how in ("sub", "subn"):
            self.pattern.sub("", text)
        elif self.how == "finditer":
            for _ in self.pattern.finditer(text):
                pass
        elif self.how == "scan":
            found, at = self.pattern.match(text), -1
            while found is not None and found.end() > at:
                at = found.end()
                found = self.pattern.match(text, at)
        else:
            getattr(self.pattern, self.how)(text)


@functools.cache
def uses() -> list[Use]:
    """Every regular expression of the project, as it is used."""
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
    named = {path: _named(path, tree) for path, tree in trees.items()}
    found = {use for path, tree in trees.items() for use in _uses(path, tree, named[path])}
    used = {use.pattern for use in found}
    found |= {
        Use(_module(path), pattern, "search")
        for path, patterns in named.items()
        for held in patterns.values()
        for pattern in _held(held)
        if pattern not in used
    }
    each = {(use.pattern, use.how): use for use in sorted(found, key=lambda use: use.where)}
    return list(each.values())


def _module(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def _named(path: Path, tree: ast.Module) -> dict[str, Any]:
    """What a module knows by name that is an expression, or has some in it."""
    if not _may_have_patterns(tree):
        return {}
    module = importlib.import_module(_module(path))
    return {name: value for name, value in vars(module).items() if any(_held(value))}


def _may_have_patterns(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(each.name == "re" for each in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and any(each.name.isupper() for each in node.names):
            return any(_is_method(each) for each in ast.walk(tree))
    return False


def _is_method(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in _METHODS
        and isinstance(node.value, ast.Name)
        and node.value.id.isupper()
    )


def _held(value: Any) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _held(each)
    elif type(value) is dict:
        for each in value.values():
            yield from _held(each)


def _uses(path: Path, tree: ast.Module, named: dict[str, Any]) -> Iterator[Use]:
    calls = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or node.attr not in _METHODS:
            continue
        if not isinstance(node.value, ast.Name):
            continue
        call = calls.get(id(node))
        where = f"{_module(path)}:{node.lineno}"
        if node.value.id == "re" and call is not None:
            yield Use(where, _inline(where, call), node.attr)
        elif isinstance(pattern := named.get(node.value.id), re.Pattern):
            loops = node.attr == "match" and call is not None and len(call.args) > 1
            yield Use(where, pattern, "scan" if loops else node.attr)


def _inline(where: str, call: ast.Call) -> re.Pattern[str]:
    """The expression that is given to a function of :mod:`re`."""
    given = call.args[0]
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        words = [each for part in (*call.args, *call.keywords) for each in ast.walk(part)]
        flags = [getattr(re, each.attr) for each in words if _is_flag(each)]
        return re.compile(given.value, functools.reduce(re.RegexFlag.__or__, flags, re.NOFLAG))
    if isinstance(given, ast.Name):
        module = importlib.import_module(where.partition(":")[0])
        if isinstance(pattern := getattr(module, given.id, None), str | re.Pattern):
            return re.compile(pattern)
    raise AssertionError(f"{where}: give the expression a name at the head of the module")


def _is_flag(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "re"
        and node.attr.isupper()
    )


def texts(pattern: re.Pattern[str], seed: int, most: int) -> list[Callable[[int], str]]:
    """Texts of any length that may be hard for an expression: at most so many, chosen at random."""
    parsed = importlib.import_module("re._parser").parse(pattern.pattern, pattern.flags)
    letters = sorted(set(_letters(parsed)) | {"a", " "})[:24]
    repeated = set(_repeated(parsed, ""))
    pairs = ("".join(pair) for pair in itertools.product(letters, repeat=2))
    starts = {"", *(start for start, _ in repeated)}
    words = {*letters, *pairs, *(start + word for start, word in repeated)} - {""}
    certain = [
        *((start, word, "!") for start, word in sorted(repeated) if word),
        *(("", start, "!") for start in sorted(starts) if start),
    ]
    possible = list(itertools.product(sorted(starts), sorted(words), (*_MISFITS, *letters)))
    random.Random(seed).shuffle(possible)
    chosen = dict.fromkeys([*certain, *possible[:most]])
    return [functools.partial(_text, *each) for each in chosen]


def _text(start: str, word: str, end: str, size: int) -> str:
    return start + word * (size // len(word)) + end


def growth(run: Callable[[str], object], text: Callable[[int], str]) -> str:
    """What is wrong with how the time grows; nothing if it is linear."""
    for size, most in _LADDER:
        spent = _seconds(run, text(size))
        if spent > most and _least(run, text(size), 2) > most:
            return f"{spent:.3f} s for {size} characters"
    if spent < 0.00005:
        return ""
    for times in (1, 3, 5):
        short, long = _least(run, text(_SHORT), times), _least(run, text(4 * _SHORT), times)
        if long < 0.0005 or long / short < _LINEAR:
            return ""
        if long > 0.1 and times > 1:  # once may be chance: the collector of garbage, for instance
            break
    return f"{long:.4f} s for {4 * _SHORT} characters, {short:.4f} s for {_SHORT}"


def _least(run: Callable[[str], object], text: str, times: int) -> float:
    return min(_seconds(run, text) for _ in range(times))


def _seconds(run: Callable[[str], object], text: str) -> float:
    began = time.thread_time()
    run(text)
    return time.thread_time() - began


def _name(op: Any) -> str:
    return str(op)


def _letters(items: Items) -> Iterator[str]:
    """A character of each kind that an expression knows."""
    for op, given in items:
        name = _name(op)
        if name in ("LITERAL", "NOT_LITERAL"):
            yield chr(given)
        elif name == "IN":
            yield from _members(given)
        for inner in _inner(name, given):
            yield from _letters(inner)


def _members(given: Items) -> Iterator[str]:
    for op, value in given:
        name = _name(op)
        if name == "LITERAL":
            yield chr(value)
        elif name == "RANGE":
            yield chr(value[0])
        elif name == "CATEGORY":
            yield _CATEGORIES.get(_name(value), "!")


def _inner(name: str, given: Any) -> list[Items]:
    if name in _REPEATS:
        return [given[2]]
    if name == "BRANCH":
        return list(given[1])
    if name == "SUBPATTERN":
        return [given[-1]]
    if name in ("ASSERT", "ASSERT_NOT"):
        return [given[1]]
    return [given] if name == "ATOMIC_GROUP" else []


def _sample(items: Items) -> str:
    """A short text that fits; assertions are left out of account."""
    found = []
    for op, given in items:
        name = _name(op)
        if name == "LITERAL":
            found.append(chr(given))
        elif name in ("ANY", "NOT_LITERAL"):
            found.append("a")
        elif name == "IN":
            found.append(_member(given))
        elif name in _REPEATS:
            found.append(_sample(given[2]) * min(max(given[0], 1), 40, given[1]))
        elif name in ("BRANCH", "SUBPATTERN", "ATOMIC_GROUP"):
            found.append(_sample(_inner(name, given)[0]))
    return "".join(found)


def _member(given: Items) -> str:
    if _name(given[0][0]) == "NEGATE":
        out = set(_members(given[1:]))
        return next(each for each in "a0 !~" if each not in out)
    return next(_members(given))


def _repeated(items: Items, start: str) -> Iterator[tuple[str, str]]:
    """What must stand before something that is repeated, and what that is."""
    for op, given in items:
        name = _name(op)
        inner = _inner(name, given)
        if name in _REPEATS:
            for word in _variants(given[2]):
                yield start, word
        for each in inner:
            yield from _repeated(each, start)
        start += _sample([(op, given)])


def _variants(items: Items) -> Iterator[str]:
    yield _sample(items)
    if len(items) == 1:
        op, given = items[0]
        if _name(op) == "IN" and _name(given[0][0]) != "NEGATE":
            yield from _members(given)
        elif _name(op) in ("BRANCH", "SUBPATTERN"):
            for inner in _inner(_name(op), given):
                yield from _variants(inner)
