"""What of an answer is exact, what is not, and why; and what differs from plain SPARQL."""

from __future__ import annotations

from collections.abc import Iterator

from topwater.replica.policies import resolve
from topwater.rspql.parser.cursor import shown
from topwater.rspql.plan.compilation import is_bounded
from topwater.rspql.plan.plan import Plan


def keys_text(plan: Plan) -> str:
    """What tells items apart, as variables."""
    return " and ".join(f"?{name}" for name in dict.fromkeys(plan.keys))


def exact(plan: Plan) -> Iterator[str]:
    """What is certainly right."""
    if plan.service is None:
        yield "every answer: what is forgotten can be in no answer any more"
        return
    if is_bounded(plan):
        yield (
            "an answer for which every key that the list knows was read, and in which none that "
            "was forgotten could be, whatever its value is now: its column exact is then true"
        )
        return
    yield "what the stream says of every key: none is forgotten while it is in a window"
    yield (
        f"an answer for which every ?{plan.key} of its window was read from the service: its "
        "column exact is then true"
    )


def approximate(plan: Plan) -> Iterator[str]:
    """What may be wrong."""
    refresh = plan.query().refresh
    if refresh is None or plan.service is None:
        return
    value = f"?{plan.service.value}"
    entry, _ = resolve(refresh.policy)
    if not entry.refreshes:
        yield f"{value}: {refresh.policy} never reads a value again"
    elif refresh.budget.unlimited:
        yield (
            f"{value}: every key that is remembered of a window is read for its answer; one for "
            "which the service has no answer keeps the value read last, and a row says how old "
            "that is"
        )
    elif entry.unbounded:
        yield f"{value}: {refresh.policy} reads all candidates, but no other key of the window"
    else:
        yield (
            f"{value}: a window may have more keys than are read for it; the others keep the value "
            "read last, and a row says how old that is"
        )
    if refresh.policy.endswith("worth") and not refresh.budget.unlimited:
        yield (
            f"however many fetches there are, {refresh.policy} reads no {value} again of which it "
            "expects no other answer; WITH BUDGET UNLIMITED reads every key of the window"
        )
    yield f"a key whose {value} was never read counts with an average one"
    if is_bounded(plan):
        yield (
            f"a key that is not among the k + {refresh.spare} best of any window is forgotten, and "
            f"missed if its {value} rises later"
        )
    elif plan.refresh.spare is not None:
        yield (
            "SPARE does not bound the memory here: that takes one value of the stream, with which "
            "the score rises or falls whatever the others are, and no GROUP BY"
        )
    yield "how right an answer may be is estimated, and stands in it"


def differences(plan: Plan) -> Iterator[str]:
    """Where the answer is another one than SPARQL gives over all triples of a window."""
    if any(len(pattern.triples) > 1 for pattern in plan.patterns):
        yield "the triples of a pattern join inside one event, and not across events"
    if plan.take == "each":
        yield "a triple that is in two events gives two items, where a set of triples has it once"
    elif plan.group_by:
        yield "a triple that is in two events counts twice, where a set of triples has it once"
    else:
        yield (
            f"a ?{plan.key} counts once in a window, with its latest solution, where SPARQL gives "
            "a row for each"
        )
    if plan.windows[0].by == "count":
        yield "windows count solutions of the pattern, not triples"
    yield "equal scores are ranked by age, the younger first, where SPARQL leaves it open"
    for graph in plan.static:
        yield f"FROM {shown(graph, plan.prefixes)} is read by no pattern"
