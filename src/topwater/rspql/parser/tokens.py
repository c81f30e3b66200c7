"""The text of a query as tokens, each with its place; and errors that point at one.

Only as much is told apart as it takes to find the streaming parts: strings, IRIs and comments are
tokens of their own, so that no keyword is found inside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from topwater.errors import QueryError

MAX_LENGTH = 10_000
"""Characters in the longest query that is read."""

MAX_TOKENS = 1_000
"""Tokens in the longest query that is read."""

MAX_NESTING = 12
"""How deep brackets of any kind may nest: a parser that tries alternatives is slow below that."""

_LOCAL = r"(?:[\w:%-]|\\[_~.!$&'()*+,;=/?\#@%-]|\.+(?=[\w:%\\-]))*"
_TOKEN = re.compile(
    rf"""(?P<space>[ \t\r\n\f\v]+|\A\ufeff)
    | (?P<comment>\#[^\r\n]*)
    | (?P<iri><[^<>"{{}}|^`\\\x00-\x20]*>)
    | (?P<string>\"\"\"(?:\"{{0,2}}(?:[^"\\]|\\.))*\"\"\" | '''(?:'{{0,2}}(?:[^'\\]|\\.))*'''
        | "(?:[^"\\\r\n]|\\.)*" | '(?:[^'\\\r\n]|\\.)*')
    | (?P<variable>[?$]\w+)
    | (?P<blank>_:\w+)
    | (?P<name>(?:[^\W\d_][\w.-]{{0,99}})?:{_LOCAL})
    | (?P<exponent>(?:\d+(?:\.\d*)?|\.\d+)[eE][+-]?\d+)
    | (?P<duration>\d+(?:\.\d+)?[A-Za-z]+\b | [Pp](?=[\dTt])[\d.A-Za-z]*)
    | (?P<number>\d+(?:\.\d+)?|\.\d+)
    | (?P<word>[^\W\d]\w*)
    | (?P<open>[\[{{(])
    | (?P<close>[\]}})])
    | (?P<quote>"(?:[^"\\\r\n]|\\.)* | '(?:[^'\\\r\n]|\\.)*)
    | (?P<symbol>.)""",
    re.VERBOSE | re.DOTALL,
)
_PARTNER = {")": "(", "]": "[", "}": "{"}
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text. ``level`` counts the brackets around it."""

    kind: str
    text: str
    start: int
    level: int

    @property
    def end(self) -> int:
        """Where the next character is."""
        return self.start + len(self.text)

    @property
    def word(self) -> str:
        """In capitals if it may be a keyword; else nothing."""
        return self.text.upper() if self.kind == "word" else ""


class Document:
    """A query's text, with its tokens. The last token, of kind ``end``, is empty.

    Raises
    ------
    QueryError
        If the text is too long, nests too deep, or leaves a quote or a bracket open.

    Examples
    --------
    >>> [token.text for token in Document('ASK { ?a :b "WINDOW" } # WINDOW').tokens]
    ['ASK', '{', '?a', ':b', '"WINDOW"', '}', '']
    """

    def __init__(self, text: object) -> None:
        if not isinstance(text, str):
            raise QueryError(
                f"a query is text, not {type(text).__name__}", field="query", fix="pass a string"
            )
        self.text = text
        if len(text) > MAX_LENGTH:
            self.fail(
                f"the query has {len(text)} characters, more than {MAX_LENGTH}",
                MAX_LENGTH,
                "use prefixes, or leave out what the ranking does not need",
            )
        self.text = self._unescaped()
        self.tokens = list(self._tokens())

    def fail(self, problem: str, at: int, fix: str) -> NoReturn:
        """Raise ``QueryError`` with the place marked."""
        line, column = self.place(at)
        start = self.text.rfind("\n", 0, at) + 1
        first = max(start, at - 60)
        last = self.text.find("\n", at)
        last = min(len(self.text) if last < 0 else last, first + 96)
        shown = "".join(c if c.isprintable() else " " for c in self.text[first:last])
        caret = " " * (at - first) + "^"
        raise QueryError(
            f"line {line}, column {column}: {problem}\n    {shown}\n    {caret}", fix=fix
        )

    def place(self, at: int) -> tuple[int, int]:
        """The line and the column of a character, from 1."""
        return self.text.count("\n", 0, at) + 1, at - self.text.rfind("\n", 0, at)

    def find(self, *texts: str) -> int:
        """Where the first of these texts that there is stands first, in any case.

        Where the text begins, if there is none of them.
        """
        for text in texts:
            for token in self.tokens:
                if token.text.upper() == text.upper() != "":
                    return token.start
        return self.tokens[0].start

    def _unescaped(self) -> str:
        r"""The text with ``\uXXXX`` resolved, as SPARQL does before all else."""
        for found in _ESCAPE.finditer(self.text):
            code = int(found[1] or found[2], 16)
            if code > 0x10FFFF or 0xD800 <= code < 0xE000 or code == 0x5C:
                self.fail(f"{found[0]} stands for no character", found.start(), "write it plainly")
        return _ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), self.text)

    def _tokens(self) -> Iterator[Token]:
        opened: list[Token] = []
        count = 0
        for found in _TOKEN.finditer(self.text):
            kind, start = str(found.lastgroup), found.start()
            if kind in ("space", "comment"):
                continue
            token = Token(kind, found[0], start, len(opened))
            if kind == "quote":
                self.fail("the quote does not end", start, "end it in the same line")
            if kind == "open":
                opened.append(token)
            elif kind == "close":
                self._close(opened, token)
            if len(opened) > MAX_NESTING or (count := count + 1) > MAX_TOKENS:
                self._too_much(count, start)
            yield token
        if opened:
            self.fail(f"{opened[-1].text!r} is never closed", opened[-1].start, "close it")
        yield Token("end", "", len(self.text.rstrip()), 0)

    def _close(self, opened: list[Token], token: Token) -> None:
        if not opened or opened[-1].text != _PARTNER[token.text]:
            fix = "remove it" if not opened else f"close {opened[-1].text!r} before"
            self.fail(f"{token.text!r} has no partner", token.start, fix)
        opened.pop()

    def _too_much(self, count: int, at: int) -> NoReturn:
        if count > MAX_TOKENS:
            self.fail(f"the query has more than {MAX_TOKENS} words and signs", at, "shorten it")
        self.fail(
            f"brackets nest deeper than {MAX_NESTING} levels", at, "remove those that do nothing"
        )
