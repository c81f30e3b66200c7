"""Random conditions on terms of all kinds, for us and for another engine of SPARQL."""

from __future__ import annotations

import random
from decimal import Decimal

from tests.support.rdf_events import XSD
from topwater.rspql.plan.condition_kinds import (
    Alike,
    AllOf,
    Among,
    AnyOf,
    Compare,
    Condition,
    Kind,
    Not,
    SameTerm,
    Text,
)
from topwater.rspql.rdf.triples import canonical, term_of

# Oxigraph takes NaN < 1 for an error, and rounds large decimals to doubles twice: see the single
# tests for these.
TERMS = [
    *(f"<x:n{number}>" for number in range(3)),
    "_:b",
    '"2"',
    '"two"@en',
    '"two"@de',
    '"Ruby"',
    *(f'"{number}"^^<{XSD}integer>' for number in range(4)),
    f'"3.0"^^<{XSD}decimal>',
    f'"1.5"^^<{XSD}decimal>',
    f'"1.5E0"^^<{XSD}double>',
    *(f'"{number}"^^<{XSD}decimal>' for number in ("0.1", "0.2", "0.3", "0.100000000000000001")),
    *(f'"0.1"^^<{XSD}{kind}>' for kind in ("float", "double")),
    *(f'"{2**53 + more}"^^<{XSD}integer>' for more in (-1, 0, 1, 2)),
    f'"true"^^<{XSD}boolean>',
    f'"2026-01-01T00:00:00Z"^^<{XSD}dateTime>',
    f'"2026-01-01T01:00:00+01:00"^^<{XSD}dateTime>',
    f'"2026-01-01T00:00:00.5Z"^^<{XSD}dateTime>',
    f'"2026-01-01"^^<{XSD}date>',
    f'"2026-13-01T00:00:00Z"^^<{XSD}dateTime>',
    f'"three"^^<{XSD}integer>',
    '"3"^^<x:own>',
]
NAMED = [each for each in TERMS if each[:2] != "_:" and "13-01" not in each and "three" not in each]
CONSTANTS = {
    f'"{value}"^^<{XSD}{kind}>': f"{value}"
    for kind, values in (
        ("integer", [0, 2, 2**53, 2**53 + 1]),
        ("decimal", ["0.1", "0.3", "0.100000000000000001", "3.0"]),
    )
    for value in values
}


def some_condition(
    rng: random.Random, names: list[str], terms: list[str], depth: int = 0
) -> tuple[Condition, str]:
    """A condition that may be about some terms, and the same in SPARQL."""
    a, b = rng.choice(names), rng.choice(names)
    kind = rng.choice(
        ["compare"] * 4 + ["among", "kind", "text", "alike", "same", "all", "any", "not"]
    )
    if kind in ("all", "any") and depth < 2:
        parts = [some_condition(rng, names, terms, depth + 1) for _ in range(2)]
        conditions = tuple(condition for condition, _ in parts)
        joint = " && " if kind == "all" else " || "
        return (AllOf if kind == "all" else AnyOf)(
            conditions
        ), f"({joint.join(t for _, t in parts)})"
    if kind == "not" and depth < 2:
        condition, text = some_condition(rng, names, terms, depth + 1)
        return Not(condition), f"!({text})"
    if kind == "among":
        wanted = rng.sample(terms, 3)
        return Among(a, tuple(term_of(each) for each in wanted)), f"(?{a} IN ({', '.join(wanted)}))"
    if kind == "kind":
        sort = rng.choice(["iri", "blank", "literal", "numeric"])
        named = {"iri": "isIRI", "blank": "isBlank", "literal": "isLiteral", "numeric": "isNumeric"}
        return Kind(a, sort), f"{named[sort]}(?{a})"  # type: ignore[arg-type]
    if kind == "text":
        test, name = rng.choice(
            [("contains", "CONTAINS"), ("starts", "STRSTARTS"), ("ends", "STRENDS")]
        )
        text = rng.choice(["w", "x:n", "2", "R", "o"])
        of = rng.choice(["str", "literal"])
        subject = f"STR(?{a})" if of == "str" else f"?{a}"
        return Text(test, a, text, of=of), f'{name}({subject}, "{text}")'  # type: ignore[arg-type]
    if kind == "alike":
        return Alike(a, b), f"(?{a} = ?{b})"
    if kind == "same":
        wanted = rng.sample(terms, 3)
        same = " || ".join(f"sameTerm(?{a}, {each})" for each in wanted)
        return SameTerm(a, tuple(term_of(each) for each in wanted)), f"({same})"
    return _comparison(rng, a, b)


def _comparison(rng: random.Random, a: str, b: str) -> tuple[Condition, str]:
    op = rng.choice(["=", "=", "!=", "!=", "<", "<=", ">", ">="])
    number = rng.choice([*CONSTANTS.values()])
    sides = [(a, b), (a, number), (number, a), (f"{a} + {b}", number), (f"{a} + 1", "2")]
    sides += [(f"{a} * 3", "3"), (f"{a} * 1 - {b}", "0"), (f"{a} - {number}", b)]
    left, right = rng.choice(sides)
    if rng.random() < 0.2:
        to = rng.choice(["double", "decimal", "integer", "float"])
        number = rng.choice(["0", "2", "0.3", str(2**53 + 1)])
        left, text = f"`{a}^^{to}`", f"<{XSD}{to}>(?{a})"
        return Compare(left, op, number), f"({text} {op} {number})"  # type: ignore[arg-type]
    sparql = " ".join(_dollars(side, a, b) for side in (left, op, right))
    return Compare(left, op, right), f"({sparql})"  # type: ignore[arg-type]


def _dollars(side: str, *names: str) -> str:
    for name in set(names):
        side = side.replace(name, f"?{name}")
    return side


def known_term(text: str) -> str:
    """A term as both sides write it: Oxigraph writes numbers in its own way."""
    if text.startswith("_:"):
        return "_:"
    found = canonical(text) or ""
    kind = found.rpartition("#")[2].removesuffix(">")
    if kind in ("integer", "byte", "decimal", "double", "float") and '"three"' not in found:
        return f"{Decimal(found[1 : found.rindex(chr(34))]).normalize():f} {kind}"
    return found
