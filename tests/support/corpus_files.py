"""The corpus: queries, and next to each what it is read as, or how it is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from topwater.errors import QueryError
from topwater.rspql import Plan, parse
from topwater.rspql.explanation import condition_text, pattern_lines, triple_text
from topwater.rspql.parser.cursor import shown

FOLDER = Path(__file__).parent / "corpus"
QUERIES = sorted(FOLDER.glob("*.rq"))


def read(text: str) -> str:
    """The plan of a query in a few lines, or the error."""
    services = [":B2"] if "# services:" in text else None
    files = [":rooms"] if "# files:" in text else []
    try:
        return "\n".join(lines(parse(text, services=services, files=files))) + "\n"
    except QueryError as error:
        return f"refused: {error}\n"


def lines(plan: Plan) -> Iterator[str]:
    """All of a plan, one part a line."""
    yield f"name: {plan.name and shown(plan.name, plan.prefixes)}"
    yield f"out: {plan.operator} {plan.form}"
    for window in plan.windows:
        name, stream = (shown(each, plan.prefixes) for each in (window.name, window.stream))
        yield f"window: {name} on {stream}: {window.width} by {window.step}, {window.by}"
    for pattern in plan.patterns:
        yield f"pattern: {'; '.join(pattern_lines(pattern, plan))}"
    for service in plan.services:
        how = "" if service.default is None else f", else {service.default:g}"
        yield f"service: {shown(service.name, plan.prefixes)} {{ {service.pattern} }}"
        by = "" if service.by is None else f" as {service.by}"
        names = ", ".join(f"?{name}" for name in service.names)
        yield f"looked up: {names} by ?{service.key}{by}{how}"
    yield f"keys: {', '.join(plan.keys)}"
    yield f"take: {plan.take}"
    yield f"score: {plan.score}, {plan.order} first, {plan.k} best"
    for each, largest in plan.then:
        yield f"then: {each.formula or each.role}, {'largest' if largest else 'smallest'} first"
    if plan.query().where is not None:
        yield f"where: {plan.query().where}"
    for condition in plan.conditions:
        yield f"condition: {condition_text(condition, plan)}"
    told_of = (f"{each.name} ({each.formula or each.role})" for each in plan.projection)
    yield f"shown: {', '.join(told_of)}"
    for triple in plan.template:
        yield f"template: {_without_labels(triple_text(triple, plan))}"
    said = {each.name: getattr(plan.refresh, each.name) for each in fields(plan.refresh)}
    if any(value is not None for value in said.values()):
        yield f"with: {', '.join(f'{n} {v}' for n, v in said.items() if v is not None)}"
    if plan.static:
        yield f"not read: {', '.join(shown(each, plan.prefixes) for each in plan.static)}"
    yield f"compiled: {plan.query().score.to_dict()['text']} in {plan.query().list or 'aggregates'}"


def _without_labels(text: str) -> str:
    """Blank nodes have a new label in every run."""
    return " ".join("_:" if word.startswith("_:") else word for word in text.split())
