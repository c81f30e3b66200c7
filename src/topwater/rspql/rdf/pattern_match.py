"""Events → binding tables: which parts of each event fit the pattern of a window.

The triple patterns of a window join inside one event. All of it works on columns: a triple
pattern is a mask over the triples, and two of them are joined on the event and the variables that
they share.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rdflib.term import Variable

from topwater.model import BoolArray, FloatArray, IntArray
from topwater.rspql.plan.further_conditions import FURTHER
from topwater.rspql.plan.joined_windows import windows_in
from topwater.rspql.plan.plan import (
    SILENT,
    TEXT,
    TIME,
    EventPattern,
    Fixed,
    Named,
    Plan,
    Triple,
)
from topwater.rspql.rdf.event_format import Columns, Documents, literals
from topwater.rspql.rdf.solutions import Bindings
from topwater.rspql.rdf.term_values import ERROR, KIND, variable_in
from topwater.rspql.rdf.triples import XSD, Triples, text_of

if TYPE_CHECKING:
    from topwater.rspql.rdf.static_data import StaticData

_TERM = re.compile(r'<[^<>]*>|"(?:[^"\\]|\\.)*"?(?:@[\w-]+|\^\^<[^<>]*>)?|_:\S+', re.DOTALL)
_LARGEST = 2**62
_NO_NUMBER = f'"NaN"^^<{XSD}double>'
OWN_BLANK = "_:/"
"""What the names of blank nodes in files begin with: no event can have such a name."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """What to look for in the events of one stream, and what to make of it.

    Attributes
    ----------
    reading
        How events are written.
    patterns
        Every solution of any of them is a row.
    keys, numbers
        The variables that make up the key, and those whose numbers are wanted; or whose
        datatypes are, with :data:`~topwater.rspql.rdf.term_values.KIND` behind the name.
    texts
        Those whose terms are wanted, with :data:`~topwater.rspql.plan.plan.TEXT` behind the name.
    data
        What is in files that the patterns read.
    """

    reading: Documents | Columns
    patterns: tuple[EventPattern, ...]
    keys: tuple[str, ...]
    numbers: tuple[str, ...]
    texts: tuple[str, ...] = ()
    data: StaticData | None = None

    @staticmethod
    def of(
        plan: Plan, stream: Named, reading: Documents | Columns, data: StaticData | None = None
    ) -> Matcher:
        """What a plan looks for in a stream."""
        names = windows_in(plan, stream)
        patterns = tuple(from_stream(e, stream) for e in plan.patterns if e.window in names)
        return Matcher(reading, patterns, plan.keys, plan.numbers, plan.texts, data)

    def match(self, events: pa.Table, scope: str = "", first: int = 0) -> pa.Table:
        r"""The binding table of some events. A line that can't be read is a row without a key.

        An event without a usable solution is a heartbeat: a row that only tells the time.

        Parameters
        ----------
        events
            A row for each.
        scope, first
            Where the events come from, and how many came from there before: a blank node of
            another event is another one, so their names begin with that.

        Examples
        --------
        >>> from rdflib import URIRef
        >>> pattern = EventPattern(
        ...     URIRef("x:w"), ((Variable("who"), URIRef("x:saw"), Variable("n")),)
        ... )
        >>> matcher = Matcher(Documents(), (pattern,), ("who",), ("n",))
        >>> line = '<x:a> <x:saw> "3"^^<http://www.w3.org/2001/XMLSchema#integer> .\nwhat?'
        >>> table = matcher.match(pa.table({"time": [7], "value": [line]}))
        >>> table.select([TIME, "who", "n"]).to_pylist()
        [{'event-time': 7, 'who': 'x:a', 'n': 3.0}, {'event-time': 7, 'who': None, 'n': None}]
        """
        time = events.column(self.reading.time)
        found, rows, bad = self._solutions(events)
        parts = [self._rows(each, time, rows, (scope, first)) for each in found]
        table = pa.concat_tables(parts)
        if len(parts) > 1:
            order = np.argsort(np.concatenate([each.event for each in found]), kind="stable")
            table = table.take(order)
        useful = [
            rows[each.event[self._usable(part)]] for each, part in zip(found, parts, strict=True)
        ]
        silent: BoolArray = np.ones(events.num_rows, np.bool_)
        silent[np.concatenate([*useful, bad])] = False
        rest = [self.keyless(time.take(bad)), self.keyless(time.filter(silent), silent=True)]
        return pa.concat_tables([table, *rest])

    def _solutions(self, events: pa.Table) -> tuple[list[Bindings], IntArray, IntArray]:
        """Per pattern its solutions; the row of each event; and the rows of what is bad."""
        if isinstance(self.reading, Columns):
            kinds = (variable_in(name) for name in self.numbers if name.endswith(KIND))
            terms = (*self.keys, *kinds, *self._shown())
            direct = [self.reading.bindings(events, each, terms) for each in self.patterns]
            if all(each is not None for each in direct):
                found = [
                    kept(each, pattern)
                    for each, pattern in zip(direct, self.patterns, strict=True)
                    if each is not None
                ]
                return found, np.arange(events.num_rows), self.reading.bad(events)
        triples = self.reading.triples(events)
        found = [solutions(triples, each, self.data) for each in self.patterns]
        return found, triples.rows, triples.bad

    def _rows(
        self, found: Bindings, time: pa.ChunkedArray, rows: IntArray, begun: tuple[str, int]
    ) -> pa.Table:
        where = rows[found.event]
        names = (*self.keys, *self._shown())
        texts = [term_texts(found, name, begun, where) for name in names]
        return self._table(found, time.take(where), texts)

    def table(self, found: Bindings, time: pa.ChunkedArray) -> pa.Table:
        """The binding table of solutions that are found already, and when each was."""
        names = (*self.keys, *self._shown())
        return self._table(found, time, [_texts(found, name) for name in names])

    def _shown(self) -> list[str]:
        """The variables whose terms are wanted beside the key."""
        return [name.removesuffix(TEXT) for name in self.texts]

    def _table(self, found: Bindings, time: pa.ChunkedArray, texts: list[pa.Array]) -> pa.Table:
        texts = [_settled(each) for each in texts]
        columns = {TIME: time, " ".join(self.keys): _keys(texts[: len(self.keys)])}
        for name in self.numbers:
            columns[name] = pa.array(self._column(found, name))
        for name, each in zip(self.texts, texts[len(self.keys) :], strict=True):
            columns[name] = _keys([each])
        return pa.table(columns | {SILENT: pa.repeat(False, len(time))})

    def _column(self, found: Bindings, name: str) -> FloatArray:
        kind = name.removesuffix(KIND)
        if kind != name:
            values = found.kinds(kind)
            return np.nan_to_num(values) if f"{kind}{ERROR}" in self.numbers else values
        values = found.numbers(name)[0]
        if f"{name}{ERROR}" not in self.numbers:
            return values
        # Whether it is a number is said beside it, and its event counts in any case.
        return np.where(np.isfinite(values), values, 0.0)

    def _usable(self, part: pa.Table) -> BoolArray:
        """Which rows have all their numbers: others will be dropped, and tell no time."""
        usable: BoolArray = np.ones(len(part), np.bool_)
        for name in self.numbers:
            usable &= np.isfinite(part.column(name).to_numpy())
        return usable

    def keyless(
        self, time: pa.ChunkedArray, *, silent: bool = False, key: str | None = None
    ) -> pa.Table:
        """Rows without numbers, and without keys of their own, which are only counted."""
        keys = pa.repeat(pa.scalar(key, pa.large_string()), len(time))
        columns = {TIME: time, " ".join(self.keys): keys}
        columns |= {name: pa.nulls(len(time), pa.float64()) for name in self.numbers}
        columns |= {name: pa.nulls(len(time), pa.large_string()) for name in self.texts}
        return pa.table(columns | {SILENT: pa.repeat(silent, len(time))})


def from_stream(pattern: EventPattern, stream: Named) -> EventPattern:
    """A pattern in which a variable that stands for the stream is bound to its name."""
    binds = tuple(
        replace(each, term=stream)
        if isinstance(each, Fixed) and isinstance(each.term, Variable)
        else each
        for each in pattern.binds
    )
    return replace(pattern, binds=binds)


def solutions(triples: Triples, pattern: EventPattern, data: StaticData | None = None) -> Bindings:
    """The solutions of a pattern, event by event."""
    if pattern.beside and data is not None:
        return kept(data.merged(triples, pattern.triples, pattern.beside), pattern, data)
    waiting = [matched(triples, triple) for triple in pattern.triples]
    found = waiting.pop(min(range(len(waiting)), key=lambda each: len(waiting[each])))
    while waiting:
        # One that shares a variable, if there is any: else each event gives all combinations.
        best = max(waiting, key=lambda each: (len(each.codes.keys() & found.codes), -len(each)))
        waiting = [each for each in waiting if each is not best]
        found = joined(found, best)
    return kept(found, pattern, data)


def kept(found: Bindings, pattern: EventPattern, data: StaticData | None = None) -> Bindings:
    """Of some solutions those that pass the filters, with static data and what ``BIND`` binds."""
    if pattern.facts and data is not None:
        found = data.beside(found, pattern.facts)
    for bind in pattern.binds:
        found = found.with_bound(bind)
    for condition in pattern.filters:
        found = found.take(found.holds(condition))
    hidden = [name for name in found.codes if name.startswith("_:")]
    return found.without(hidden) if hidden else found


def matched(triples: Triples, triple: Triple) -> Bindings:
    """The triples that fit one triple pattern."""
    known = [term for term in triple if not isinstance(term, Variable)]
    texts = pa.array([text_of(term) for term in known], triples.terms.type)
    codes = dict(
        zip(known, pc.index_in(texts, triples.terms).fill_null(-1).to_pylist(), strict=True)
    )
    columns = (triples.subject, triples.predicate, triples.object)
    fits: BoolArray = np.ones(len(triples), np.bool_)
    places: dict[str, IntArray] = {}
    for term, column in zip(triple, columns, strict=True):
        if not isinstance(term, Variable):
            fits &= column == codes[term]
        elif str(term) in places:
            fits &= column == places[str(term)]
        else:
            places[str(term)] = column
    return Bindings(
        triples.event[fits],
        {name: column[fits] for name, column in places.items()},
        triples.terms,
    )


def joined(left: Bindings, right: Bindings) -> Bindings:
    """The pairs of solutions of the same event that agree on the variables that both have.

    The order is that of ``left``, then that of ``right``.
    """
    shared = [name for name in left.codes if name in right.codes]
    a, b = _join_keys(left, right, shared)
    order = np.argsort(b, kind="stable")
    first, last = (np.searchsorted(b[order], a, side) for side in ("left", "right"))
    counts = last - first
    mine = np.repeat(np.arange(len(a)), counts)
    begun = np.repeat(first - (np.cumsum(counts) - counts), counts)
    theirs = order[begun + np.arange(len(mine))]
    more = {name: column[theirs] for name, column in right.codes.items() if name not in shared}
    kept = left.take(mine)
    return Bindings(kept.event, {**kept.codes, **more}, left.terms)


def _join_keys(left: Bindings, right: Bindings, shared: list[str]) -> tuple[IntArray, IntArray]:
    """One number for the event and the shared terms of each solution."""
    keys, cut = np.concatenate([left.event, right.event]), len(left)
    many = len(left.terms)
    for name in shared:
        if int(keys.max(initial=0)) >= _LARGEST // max(many, 1):
            keys = np.unique(keys, return_inverse=True)[1]
        keys = keys * many + np.concatenate([left.codes[name], right.codes[name]])
    return keys[:cut], keys[cut:]


def term_texts(found: Bindings, name: str, begun: tuple[str, int], rows: IntArray) -> pa.Array:
    """The terms of a variable, with blank nodes named after the event that they are in."""
    return _scoped(_texts(found, name), begun, rows)


def _keys(texts: list[pa.Array]) -> pa.Array:
    """The key of each solution: an IRI as it is, and other or several terms as N-Triples."""
    if len(texts) > 1:
        return pc.binary_join_element_wise(*texts, pa.scalar(" ", pa.large_string()))
    bare = pc.utf8_slice_codeunits(texts[0], 1, -1)
    return pc.if_else(pc.starts_with(texts[0], "<"), bare, texts[0])


def _scoped(terms: pa.Array, begun: tuple[str, int], rows: IntArray) -> pa.Array:
    """The same, with blank nodes named after the event that they are in."""
    blank = pc.and_not(pc.starts_with(terms, "_:"), pc.starts_with(terms, OWN_BLANK))
    if not pc.any(blank).as_py():
        return terms
    scope, first = begun
    begins, between = (pa.scalar(text, pa.large_string()) for text in (f"_:e{scope}", "-"))
    place = pa.array(rows + first).cast(pa.large_string())
    label = pc.utf8_slice_codeunits(terms, 2)
    nothing = pa.scalar("", pa.large_string())
    named = pc.binary_join_element_wise(begins, place, between, label, nothing)
    return pc.if_else(blank, named, terms)


def _settled(texts: pa.Array) -> pa.Array:
    """Terms in which blank nodes of files have names that may go out; none for no text at all."""
    nothing = pc.equal(texts, "")
    if pc.any(nothing).as_py():
        texts = pc.if_else(nothing, pa.scalar(None, texts.type), texts)
    if not pc.any(pc.starts_with(texts, OWN_BLANK)).as_py():
        return texts
    return pc.replace_substring_regex(texts, f"^{OWN_BLANK}", "_:f")


def _texts(found: Bindings, name: str) -> pa.Array:
    if name in found.codes:
        return found.terms.take(found.codes[name]).cast(pa.large_string())
    texts = literals(pa.array(found.bound[name], from_pandas=True))
    # What can't be computed comes before or after all numbers, and its solution stays one.
    return pc.fill_null(texts, _NO_NUMBER) if name.startswith(FURTHER) else texts


def key_terms(key: str, count: int) -> list[str]:
    """The terms of a key, as N-Triples writes them.

    Examples
    --------
    >>> key_terms("x:a", 1), key_terms('<x:a> "b c"@en', 2)
    (['<x:a>'], ['<x:a>', '"b c"@en'])
    """
    if count > 1:
        return _TERM.findall(key)
    return [key if key.startswith(('"', "_:")) else f"<{key}>"]
