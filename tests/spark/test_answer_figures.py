"""The numbers of a micro-batch: those of several tasks add up to those of one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topwater.model import Answer, Counts, Freshness, Window
from topwater.spark.answer_figures import added_up, figures_of

SOME = st.integers(0, 5)
SHARE = st.none() | st.floats(0, 1)
FRESH = st.none() | st.builds(
    Freshness,
    fetched=SOME,
    failed=SOME,
    bad=SOME,
    precision=st.floats(0, 1),
    ndcg=st.floats(0, 1),
    missed=st.booleans(),
    audited=SHARE,
    doubtful=st.booleans(),
)
ANSWERS = st.lists(
    st.builds(
        Answer,
        window=st.just(Window(0, 0, 10)),
        rows=st.just(()),
        exact=st.booleans(),
        candidates=SOME,
        counts=st.builds(Counts, events=SOME, late=SOME, bad_key=SOME),
        freshness=FRESH,
        problems=st.lists(
            st.tuples(st.sampled_from(["", "timeout"]), st.integers(1, 3)),
            unique_by=lambda each: each[0],
            max_size=2,
        ).map(tuple),
    ),
    max_size=6,
)


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


@given(ANSWERS, SOME)
def test_the_figures_are_those_of_the_answers_however_they_were_divided(
    answers: list[Answer], cut: int
) -> None:
    found = added_up([figures_of(answers[:cut]), figures_of(answers[cut:])])
    fresh = [each.freshness for each in answers if each.freshness is not None]
    assert found.get("windows", 0) == len(answers)
    assert found["candidates"] == max((each.candidates for each in answers), default=0)
    assert found.get("events", 0) == sum(each.counts.events for each in answers)
    assert found.get("fetched", 0) == sum(each.fetched for each in fresh)
    assert found.get("bad_values", 0) == sum(each.bad for each in fresh)
    assert found.get("missed", 0) == sum(each.missed for each in fresh)
    audited = [each.audited for each in fresh if each.audited is not None]
    for name, values in (("precision", [each.precision for each in fresh]), ("audited", audited)):
        assert (name in found) == bool(values)
        assert found.get(name, 0) == pytest.approx(mean(values) if values else 0)
    reasons = [pair for each in answers for pair in each.problems]
    assert found["problems"] == {
        why: sum(count for other, count in reasons if other == why)
        for why in sorted({why for why, _ in reasons})
    }


def test_what_shards_say_of_their_states_is_named_so_and_closing_is_that_of_the_slowest() -> None:
    found = added_up([{"held": 5, "kept": 1, "closing_ms": 7}, {"held": 6, "closing_ms": 3}])
    assert (found["state_held"], found["state_kept"], found["closing_ms"]) == (11, 1, 7)
