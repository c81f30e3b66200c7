"""Takes the streaming parts out of a query; what is left is plain SPARQL at the same places."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

from rdflib.term import URIRef, Variable

from topwater.rspql.parser.budget_clause import refresh_clause
from topwater.rspql.parser.cursor import Cursor, Names
from topwater.rspql.parser.tokens import Document, Token
from topwater.rspql.parser.window_clause import Span, bracketed, checked
from topwater.rspql.plan.plan import Named, Operator, Refresh, StreamWindow

OPERATORS = ("RSTREAM", "ISTREAM", "DSTREAM")
SIMPLE = URIRef("http://www.w3.org/ns/entailment/Simple")
_FORMS = ("SELECT", "CONSTRUCT", "ASK", "DESCRIBE")
_WINDOW = "write FROM NAMED WINDOW :w ON :stream [RANGE PT9M STEP PT3M]"
_STREAM = "write FROM STREAM :stream [RANGE PT9M STEP PT3M]"
_BLOCK = "write STREAM :stream [RANGE PT9M STEP PT3M] { … }"
_REGISTER = "write REGISTER RSTREAM :name AS"


@dataclass(slots=True)
class Streaming:
    """What the streaming parts say, and the SPARQL that is left.

    ``default`` has the windows of ``FROM STREAM``, which are named as their streams are: triples in
    no block belong to them. ``static`` has the IRIs of ``FROM``, of which those in ``apart`` were
    ``NAMED``, and ``files`` what is registered as a file.
    """

    sparql: str = ""
    name: URIRef | None = None
    operator: Operator = "RSTREAM"
    windows: dict[Named, StreamWindow] = field(default_factory=dict)
    default: list[Named] = field(default_factory=list)
    static: list[URIRef] = field(default_factory=list)
    apart: list[URIRef] = field(default_factory=list)
    files: frozenset[str] = frozenset()
    refresh: Refresh | None = None
    refresh_at: int = 0


def default_graph(parts: Streaming) -> tuple[URIRef, ...]:
    """The graphs whose triples are in no ``GRAPH``: those of ``FROM`` without ``NAMED``."""
    return tuple(dict.fromkeys(each for each in parts.static if each not in parts.apart))


def has_blocks(document: Document) -> bool:
    """Does a query say in blocks what is of a stream?"""
    words = ("WINDOW", "STREAM", "GRAPH")
    return any(token.level > 0 and token.word in words for token in document.tokens)


def take_apart(document: Document, names: Names) -> Streaming:
    """The streaming parts of a query.

    Raises
    ------
    QueryError
        If one can't be read, or is of a kind that is not supported.

    Examples
    --------
    >>> document = Document("SELECT ISTREAM ?a { WINDOW <w> { ?a ?b ?c } }")
    >>> parts = take_apart(document, Names(document))
    >>> parts.operator, parts.sparql
    ('ISTREAM', 'SELECT         ?a { GRAPH  <w> { ?a ?b ?c } }')
    """
    return _Surgeon(document, names).work()


class _Surgeon:
    """Walks over the tokens once, cuts and notes."""

    def __init__(self, document: Document, names: Names) -> None:
        self.document = document
        self.cursor = Cursor(document, names)
        self.left = _blanked(document)
        self.parts = Streaming()
        self.registered: str = ""
        self.every: tuple[int, int] | None = None
        self.formed: str = ""
        self.served_until = 0

    def work(self) -> Streaming:
        while self.cursor.token.kind != "end":
            handle = self._handler(self.cursor.token)
            if handle is None:
                self.cursor.take()
            else:
                handle()
        self.parts.sparql = "".join(self.left)
        self._settle_operator()
        self._settle_steps()
        return self.parts

    def _handler(self, token: Token) -> Any:
        top = {
            "REGISTER": self._register,
            "FROM": self._from,
            "WITH": self._with,
            **dict.fromkeys(_FORMS, self._form),
        }
        inside = {
            "WINDOW": self._window,
            "STREAM": self._stream_block,
            "SERVICE": self._service,
            **dict.fromkeys(_FORMS),
        }
        return (inside if token.level else top).get(token.word)

    def _cut(self, first: Token) -> None:
        """Blank everything from a token up to the next one."""
        last = self.document.tokens[self.cursor.at - 1].end
        for at in range(first.start, last):
            if self.left[at] != "\n":
                self.left[at] = " "

    def _register(self) -> None:
        first = self.cursor.take()
        if self.parts.name is not None or self.registered:
            self.document.fail("REGISTER is given twice", first.start, "leave one out")
        self.registered = self.cursor.skip(*OPERATORS, "STREAM", "QUERY")
        if not self.registered:
            self.cursor.fail("REGISTER lacks what it registers", _REGISTER)
        self.parts.name = self._name()
        self._entailment()
        if self.cursor.skip("COMPUTED"):
            self.cursor.expect("EVERY", "write COMPUTED EVERY PT3M")
            at = self.cursor.token.start
            self.every = (self.cursor.duration(), at)
        self.cursor.expect("AS", f"{_REGISTER} before SELECT or CONSTRUCT")
        self._cut(first)

    def _name(self) -> URIRef:
        """An IRI; or a plain word, as C-SPARQL has it, perhaps with a word in parentheses."""
        token = self.cursor.token
        if token.kind == "word" and token.word != "AS":
            self.cursor.take()
            self._skip_argument()
            return URIRef(token.text)
        name = self.cursor.iri("the query's name", _REGISTER)
        self._skip_argument()
        return name

    def _skip_argument(self) -> None:
        """The ``(q)`` of ``Ans(q)``."""
        if self.cursor.token.text == "(" and self.cursor.ahead(2).text == ")":
            for _ in range(3):
                self.cursor.take()

    def _entailment(self) -> None:
        if not self.cursor.skip("UNDER"):
            return
        fix = f"write UNDER ENTAILMENT REGIME <{SIMPLE}>, or leave it out"
        self.cursor.expect("ENTAILMENT", fix)
        self.cursor.expect("REGIME", fix)
        at = self.cursor.token.start
        regime = self.cursor.iri("the regime", fix)
        if regime != SIMPLE:
            self.document.fail(
                f"entailment by {regime} is not computed: only triples of the stream itself match",
                at,
                f"{fix}, and infer the triples before they enter the stream",
            )

    def _form(self) -> None:
        form = self.cursor.take()
        if form.word in ("ASK", "DESCRIBE"):
            self.document.fail(
                f"{form.word} gives no ranking", form.start, "use SELECT or CONSTRUCT"
            )
        first = self.cursor.token
        if operator := self.cursor.skip(*OPERATORS):
            self.formed = operator
            self._cut(first)

    def _from(self) -> None:
        first = self.cursor.take()
        named = self.cursor.skip("NAMED")
        word = self.cursor.token.word
        if word == "WINDOW":
            self._from_window(first, bool(named))
        elif word == "STREAM":
            self._from_stream()
        elif word in ("GRAPH", "STATIC"):
            self.cursor.fail(f"FROM {word} is not supported", "write FROM <iri>")
        else:
            iri = self.cursor.iri("an IRI, or NAMED WINDOW", _WINDOW)
            self._refuse_cache()
            self.parts.static.append(iri)
            self.parts.apart += [iri] if named else []
        self._cut(first)

    def _from_window(self, first: Token, named: bool) -> None:
        self.cursor.take()
        if not named:
            self.document.fail("FROM WINDOW lacks a word", first.start, _WINDOW)
        at = self.cursor.token.start
        name = self._named("the window's name", _WINDOW)
        if name in self.parts.windows:
            self.document.fail(
                f"the window {name.n3()} is declared twice", at, "rename one of them"
            )
        self.cursor.expect("ON", _WINDOW)
        self.cursor.skip("STREAM")
        stream = self._named("the stream's name", _WINDOW)
        self._note(name, stream, bracketed(self.cursor))

    def _named(self, what: str, fix: str) -> Named:
        """An IRI; or a variable, which for a stream is any that is registered."""
        if self.cursor.token.kind == "variable":
            return Variable(self.cursor.take().text[1:])
        return self.cursor.iri(what, fix)

    def _from_stream(self) -> None:
        """``FROM STREAM :s [RANGE 5s STEP 1s]`` of C-SPARQL, and SPARQLStream's with NAMED."""
        self.cursor.take()
        at = self.cursor.token.start
        stream = self._named("the stream's name", _STREAM)
        if stream in self.parts.windows:
            self.document.fail(
                f"the stream {stream.n3()} is named twice",
                at,
                f"{_WINDOW}, with a name for each window",
            )
        if self.cursor.token.text != "[":
            self.cursor.fail("the stream has no window", _STREAM)
        self._note(stream, stream, bracketed(self.cursor))
        self.parts.default.append(stream)

    def _note(self, name: Named, stream: Named, span: Span) -> None:
        step = 0 if span.step is None else span.step
        self.parts.windows[name] = StreamWindow(name, stream, span.width, step, span.by)

    def _refuse_cache(self) -> None:
        follows = self.cursor.token.word
        depth = follows == "WITH" and self.cursor.ahead().word == "DEPTH"
        if depth or follows in ("CACHE", "DEPTH"):
            self.cursor.fail(
                "a fixed time to cache is not supported: what is refreshed follows from a budget",
                "write SERVICE <iri> { … }, and after LIMIT: WITH BUDGET 7 FETCHES",
            )

    def _window(self) -> None:
        """``WINDOW`` reads as ``GRAPH``, at the same place."""
        first = self.cursor.take()
        self.left[first.start : first.end] = "GRAPH "
        token = self.cursor.token
        if token.kind == "variable":
            self.cursor.take()
        elif token.kind == "word":
            fix = f"write WINDOW :{token.text} {{ … }}, and declare it: {_WINDOW}"
            self.cursor.fail(f"the window's name {token.text!r} is not an IRI", fix)
        else:
            name = self.cursor.iri("the window's name", "write WINDOW :w { … }")
            if self.cursor.token.text == "(":
                self._sketched(name)

    def _sketched(self, name: URIRef) -> None:
        """``WINDOW :W(200, 20) ON :S { … }``, as the ACQUA paper writes it."""
        first = self.cursor.take()
        width = self.cursor.duration()
        step = self.cursor.duration() if self._comma() else None
        self.cursor.expect(")", "write WINDOW :w(9min, 3min) ON :stream { … }")
        self.cursor.expect("ON", "say on which stream: WINDOW :w(9min, 3min) ON :stream { … }")
        self.cursor.skip("STREAM")
        stream = self.cursor.iri("the stream's name", "write ON :stream")
        if name in self.parts.windows:
            self.document.fail(
                f"the window <{name}> is declared twice", first.start, "leave one declaration out"
            )
        self._note(name, stream, checked(self.cursor, Span(width, step, "time"), first.start))
        self._cut(first)

    def _comma(self) -> bool:
        return self.cursor.token.text == "," and bool(self.cursor.take())

    def _service(self) -> None:
        """Of a SERVICE inside another one only its braces are left: rdflib can't read both.

        What a service is sent is taken from the text of the query itself.
        """
        first, tokens = self.cursor.token, self.document.tokens
        places = range(self.cursor.at, len(tokens))
        opened = next((at for at in places if tokens[at].text == "{"), self.cursor.at)
        if self.cursor.at < self.served_until:
            self.cursor.at = opened
            self._cut(first)
        else:
            inner = tokens[opened].level + 1
            closes = (at for at in places if tokens[at].text == "}" and tokens[at].level == inner)
            self.served_until = next(closes, 0)
        self.cursor.at = opened + 1

    def _stream_block(self) -> None:
        """``STREAM :s [RANGE 5s] { … }`` of CQELS, which reads as ``GRAPH :s { … }``."""
        first = self.cursor.take()
        self.left[first.start : first.end] = "GRAPH "
        stream = self._named("the stream's name", _BLOCK)
        opened = self.cursor.token
        if opened.text != "[":
            return
        span = bracketed(self.cursor)
        before = self.parts.windows.get(stream)
        self._note(stream, stream, span)
        if before not in (None, self.parts.windows[stream]):
            self.document.fail(
                f"the stream {stream.n3()} has two windows, which differ",
                opened.start,
                f"{_WINDOW}, with a name for each window, and here WINDOW :w {{ … }}",
            )
        self._cut(opened)

    def _with(self) -> None:
        first = self.cursor.token
        if self.parts.refresh is not None:
            self.cursor.fail("WITH is given twice", "put all settings after one WITH")
        self.parts.refresh = refresh_clause(self.cursor)
        self.parts.refresh_at = first.start
        self._cut(first)
        if self.cursor.token.kind != "end":
            self.cursor.fail(
                f"{self.cursor.token.text[:40]!r} is not a setting of WITH",
                "WITH stands last: BUDGET 7 FETCHES, DEADLINE PT2S, POLICY worth, SPARE 10, "
                "ACCURACY 0.9",
            )

    def _settle_operator(self) -> None:
        registered = self.registered if self.registered in OPERATORS else ""
        if registered and self.formed and registered != self.formed:
            self.document.fail(
                f"REGISTER says {registered} and the query form {self.formed}",
                self.document.find(self.formed),
                "leave one out",
            )
        self.parts.operator = cast("Operator", registered or self.formed or "RSTREAM")

    def _settle_steps(self) -> None:
        """Without STEP, windows lie end to end, or as often as COMPUTED EVERY says."""
        for name, window in self.parts.windows.items():
            step = window.step
            if self.every is not None and window.by == "time":
                step = self._every(window, *self.every)
            settled = replace(window, step=step or window.width)
            self.parts.windows[name] = settled

    def _every(self, window: StreamWindow, every: int, at: int) -> int:
        if window.step in (0, every) and 0 < every <= window.width:
            return every
        return self.document.fail(
            f"an answer every {every} ms, but windows of {window.width} ms step by "
            f"{window.step or window.width} ms: windows are answered when they close",
            at,
            "leave COMPUTED EVERY out, or give STEP the same duration",
        )


def _blanked(document: Document) -> list[str]:
    """The characters of the text, with comments blank and without tabs, which would move places."""
    left = ["\n" if character == "\n" else " " for character in document.text]
    for token in document.tokens:
        left[token.start : token.end] = [*token.text.replace("\r", " ")]
        if token.kind == "string":
            left[token.start : token.end] = [
                "\\t" if character == "\t" else character for character in token.text
            ]
    return left
