"""What a query says, taken apart: frozen values that the hosts carry out.

::

    stream ──► window ──► patterns ──► binding table ──► TopKQuery ──► projection, or template
                                            ▲
                             services ──────┘ (numbers and texts per join value)

A *binding table* has one row per solution of a pattern: the column :data:`TIME` with the event's
time, the column :attr:`Plan.key` with the terms of :attr:`Plan.keys` as text, and one column of
numbers, named as the variable, for each of :attr:`Plan.numbers`. An event without a solution is a
row that only tells the time: :data:`SILENT` is true in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from rdflib.term import Identifier, URIRef, Variable

from topwater.model import Frozen, Millis
from topwater.redaction import redacted_addresses
from topwater.rspql.plan.condition_kinds import Condition

if TYPE_CHECKING:
    from topwater.query import TopKQuery

TIME, SILENT = "event-time", "only-time"
"""The columns of a binding table with the time, and whether a row tells nothing else. No variable
has a name with a hyphen, and the key's name is made of variables and spaces."""

TEXT = "@"
"""A column with this behind a variable's name has its terms, written as keys are."""

Operator: TypeAlias = Literal["RSTREAM", "ISTREAM", "DSTREAM"]
Pick: TypeAlias = Literal["max", "min", "mean", "sample"]
Named: TypeAlias = URIRef | Variable
"""The name of a window or a stream. A variable stands for all streams that are registered."""

Triple: TypeAlias = tuple[Identifier, Identifier, Identifier]
"""Subject, predicate, object. Variables are ``rdflib.Variable``; a blank node of the query is a
variable too, whose name starts with ``_:``, so that it meets no other."""


@dataclass(frozen=True, slots=True)
class StreamWindow:
    """A window on a stream.

    Attributes
    ----------
    name, stream
        Their names.
    width, step
        In milliseconds, or in solutions when ``by`` is ``"count"``.
    """

    name: Named
    stream: Named
    width: Millis
    step: Millis
    by: Literal["time", "count"] = "time"


@dataclass(frozen=True, slots=True)
class Bind:
    """``BIND(formula AS ?variable)``: a number."""

    variable: str
    formula: str


@dataclass(frozen=True, slots=True)
class Fixed:
    """A variable that is bound to one term, as ``?w`` in ``WINDOW ?w { … }`` is.

    A variable as the term is the stream that an event comes from.
    """

    variable: str
    term: Identifier


@dataclass(frozen=True, slots=True)
class Holds:
    """What ``IF`` asks, as a number: 1 where the condition holds, 0 elsewhere, none for an error.

    The variable is a name that no variable of a query has.
    """

    variable: str
    condition: Condition


@dataclass(frozen=True, slots=True)
class Derived:
    """``BIND(LANG(?of) AS ?variable)`` and its kin: a term that is made of another one."""

    variable: str
    of: str
    part: Literal["lang", "datatype", "str"]


Binding: TypeAlias = Bind | Fixed | Holds | Derived
"""What binds a variable of a pattern beside its triples."""


class Fact(NamedTuple):
    """A triple pattern that static data are searched for, and the graphs in which."""

    triple: Triple
    graphs: tuple[URIRef, ...]


@dataclass(frozen=True, slots=True)
class EventPattern:
    """What to look for in each event of a window's stream.

    Attributes
    ----------
    window
        The window's name.
    triples
        They join inside one event.
    filters
        All of them have to hold. They may use what is bound by ``binds``.
    binds
        In their order; later ones may use earlier ones.
    parts
        The patterns of several blocks, which join over a whole window; the triples are then those
        of all parts, and filters and binds are about what was joined.
    facts
        What static data are searched for, to be joined with each solution, before ``binds``.
    beside
        The graphs of static data whose triples stand beside those of each event. A solution has
        one triple of the event at least.
    """

    window: Named
    triples: tuple[Triple, ...]
    filters: tuple[Condition, ...] = ()
    binds: tuple[Binding, ...] = ()
    parts: tuple[EventPattern, ...] = ()
    facts: tuple[Fact, ...] = field(default=(), repr=False)
    beside: tuple[URIRef, ...] = field(default=(), repr=False)

    @property
    def blocks(self) -> tuple[EventPattern, ...]:
        """The patterns that are matched inside events."""
        return self.parts or (self,)

    def joined(self, other: EventPattern) -> EventPattern:
        """Both in one event."""
        return EventPattern(
            self.window,
            self.triples + other.triples,
            self.filters + other.filters,
            self.binds + other.binds,
            facts=self.facts + other.facts,
            beside=self.beside,
        )


class Further(NamedTuple):
    """A number of a service: its variable, what counts where there is none, and of several."""

    name: str
    default: float | None = None
    pick: Pick | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """Where remote values come from.

    Attributes
    ----------
    name
        The IRI by which the caller registers it.
    pattern
        A graph pattern without braces around it, with all IRIs in full, for
        :class:`topwater.remote.sparql_source.SparqlSource`.
    key, value
        The variables of the pattern for the join value and for the number.
    default
        The number of join values that the service does not know; None leaves them out.
    silent
        Whether ``SILENT`` was said. A service that fails never stops a query in any case.
    typed
        Whether only literals with a datatype of numbers are numbers; a cast takes texts too.
    pick
        Which of several values of a join value counts: what the query says, or None.
    more
        Further numbers that come with the same look-up.
    texts
        Variables that are shown and not computed with.
    by
        The name in :attr:`Plan.take` of what is looked up by; None for the key of the ranking.
    label
        What it is called among several that are asked; None where it is the only one.
    """

    name: URIRef
    pattern: str
    key: str
    value: str
    default: float | None = None
    silent: bool = False
    typed: bool = field(default=True, repr=False)
    pick: Pick | None = field(default=None, repr=False)
    more: tuple[Further, ...] = field(default=(), repr=False)
    texts: tuple[Further, ...] = field(default=(), repr=False)
    by: str | None = field(default=None, repr=False)
    label: str | None = field(default=None, repr=False)

    @property
    def numbers(self) -> tuple[Further, ...]:
        """All numbers that come with one look-up."""
        return (Further(self.value, self.default, self.pick), *self.more)

    @property
    def names(self) -> tuple[str, ...]:
        """All variables that come with one look-up, the numbers first."""
        return tuple(each.name for each in (*self.numbers, *self.texts))


@dataclass(frozen=True, slots=True)
class Shown:
    """A variable of the answer.

    Attributes
    ----------
    name
        The variable.
    role
        ``"key"``: a term, one of :attr:`Plan.keys`. ``"score"``: the score. ``"formula"``: a
        number, from what an answer's row has. ``"text"``: a term of the stream, or a text of a
        service, that is shown only.
    formula
        For ``"formula"``: over the names in :attr:`Plan.take` and the service's value. For a
        ``"key"`` that is shown under another name: the name that it has in :attr:`Plan.keys`. For a
        ``"text"``: its name in :attr:`Plan.take`, or the service's variable.
    """

    name: str
    role: Literal["key", "score", "formula", "text"]
    formula: str = ""

    @property
    def variable(self) -> str:
        """For a ``"key"``: its name in :attr:`Plan.keys`."""
        return self.formula or self.name


class Then(NamedTuple):
    """A further condition of ``ORDER BY``: what decides between equals, and which comes first."""

    by: Shown
    descending: bool


@dataclass(frozen=True, slots=True)
class Refresh:
    """Our own clause, ``WITH BUDGET … POLICY … SPARE … ACCURACY …``; None for what is not said."""

    fetches: int | Literal["unlimited"] | None = None
    deadline: Millis | None = None
    policy: str | None = None
    spare: int | None = None
    accuracy: float | None = None
    at_most: int | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """What a query says.

    Attributes
    ----------
    text
        The query as it was given.
    name
        The IRI it is registered under; None without ``REGISTER``.
    operator, form
        What goes out: all rows of each window, or what is new in it, or what is gone; as rows or
        as triples.
    prefixes
        The query's own.
    windows
        Those that patterns use, the widest first. They have one step, and close together.
    patterns
        Alternatives (``UNION``): every solution of any of them is a row of the binding table.
    services
        What is looked up: of one service, or of several, each by one variable.
    keys
        The variables that tell items apart: the join variable, or those grouped by, or without
        either all whose terms are shown. One that is the score too stands twice, so that the
        column of its terms and that of its numbers have different names.
    take
        ``"each"``: every solution is an item. Or what the stream says of a key in a window: the
        aggregates by name, as :class:`~topwater.query.TopKQuery` has them.
    kinds
        For ``CONSTRUCT``: by names in ``take``, the names there of their datatypes.
    errors
        By names in ``take``, the names there of what is 1 if one of the values that they are made
        of is not a number: then SPARQL gives no sum either.
    score, order
        A formula over the columns (with ``"each"``) or the names in ``take`` and the service's
        value; and which scores are best.
    conditions
        What items have to fulfil, over the same names as the score: from ``HAVING``, and from
        ``FILTER`` on remote values. They are part of the compiled score, which is NaN elsewhere.
    k
        From ``LIMIT``.
    then
        What decides between equal scores, one after the other; after all of it, age.
    score_name
        The variable of the score, if it has one.
    group_by
        Whether the query says ``GROUP BY``.
    distinct
        Whether what is ranked are the different rows of ``SELECT DISTINCT``.
    projection
        What ``SELECT`` shows, in its order. For ``CONSTRUCT``, all variables of the template.
    template
        The triples of ``CONSTRUCT``. Blank nodes are ``rdflib.BNode``: new ones in each row.
    refresh
        Our own clause.
    static
        IRIs of ``FROM`` that no pattern reads.
    chosen
        Whether ``conditions`` can't be a part of the score.
    """

    text: str = field(repr=False)
    name: URIRef | None
    operator: Operator
    form: Literal["select", "construct"]
    prefixes: Mapping[str, str]
    windows: tuple[StreamWindow, ...]
    patterns: tuple[EventPattern, ...]
    services: tuple[Service, ...]
    keys: tuple[str, ...]
    take: Literal["each"] | Mapping[str, str]
    score: str
    order: Literal["largest", "smallest"]
    k: int
    conditions: tuple[Condition, ...] = ()
    score_name: str | None = None
    group_by: bool = False
    projection: tuple[Shown, ...] = ()
    template: tuple[Triple, ...] = ()
    refresh: Refresh = field(default_factory=Refresh)
    static: tuple[URIRef, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    chosen: bool = False
    then: tuple[Then, ...] = ()
    distinct: bool = False

    def __post_init__(self) -> None:
        for name in ("prefixes", "kinds", "errors"):
            object.__setattr__(self, name, Frozen(getattr(self, name)))
        if not isinstance(self.take, str):
            object.__setattr__(self, "take", Frozen(self.take))

    @property
    def key(self) -> str:
        """The name of the key column: the variable, or all of them with spaces between."""
        return " ".join(self.keys)

    @property
    def joins_windows(self) -> bool:
        """Whether several blocks join over a whole window."""
        return any(pattern.parts for pattern in self.patterns)

    @property
    def by_window(self) -> bool:
        """Whether somebody makes each window whole before it is ranked.

        Its blocks are joined there, or equal scores of single solutions told apart; or blocks
        read windows of different widths.
        """
        differ = len({each.width for each in self.windows}) > 1
        timed = self.windows[0].by == "time"
        return self.joins_windows or differ or bool(self.then and self.take == "each" and timed)

    @property
    def service(self) -> Service | None:
        """The only service, if one number of it is looked up by the key, and nothing more is."""
        return None if self.joins_services or not self.services else self.services[0]

    @property
    def joins_services(self) -> bool:
        """Whether more is looked up than one number by the key, or conditions choose among items.

        It is then a query with several remote values, as :class:`~topwater.query.TopKQuery` has.
        """
        if len(self.services) != 1:
            return bool(self.services)
        (one,) = self.services
        return bool(one.more or one.texts or one.by or self.chosen)

    def __repr__(self) -> str:
        return f"<Plan: {redacted_addresses(' '.join(self.text.split()))}>"

    @property
    def origin(self) -> str:
        """What the binding table is made from, in short: equal for equal patterns and services.

        Two queries that ask the same of different events differ in nothing else.
        """
        made: tuple[object, ...] = (
            self.patterns,
            [each.stream for each in self.windows],
            self.services,
        )
        if self.files:
            made += ([(each.facts, each.beside) for each in _with_parts(self.patterns)],)
        return hashlib.sha256(repr(made).encode()).hexdigest()[:16]

    @property
    def files(self) -> tuple[URIRef, ...]:
        """The graphs of static data that patterns read."""
        parts = _with_parts(self.patterns)
        read = [[*each.beside, *(g for fact in each.facts for g in fact.graphs)] for each in parts]
        return tuple(dict.fromkeys(graph for graphs in read for graph in graphs))

    @property
    def numbers(self) -> tuple[str, ...]:
        """The variables whose numbers the binding table has."""
        return tuple(name for name in self.query().value_columns if not name.endswith(TEXT))

    @property
    def texts(self) -> tuple[str, ...]:
        """The variables whose terms the binding table has, with :data:`TEXT` behind each."""
        return tuple(name for name in self.query().value_columns if name.endswith(TEXT))

    def query(self) -> TopKQuery:
        """The same over binding tables."""
        from topwater.rspql.plan.compilation import compiled

        return compiled(self)


def _with_parts(patterns: tuple[EventPattern, ...]) -> list[EventPattern]:
    return [part for pattern in patterns for part in (pattern, *pattern.parts)]
