"""Variables that are bound nowhere."""

from __future__ import annotations

import pytest

from tests.support.rspql_asked import asked
from topwater.errors import QueryError

WHERE = "WINDOW :w { ?sensor :value ?value }"


@pytest.mark.parametrize(
    ("select", "rest"),
    [
        ("?sensor", "ORDER BY DESC(?valeu) LIMIT 3"),
        ("?sensor ?valeu", "ORDER BY DESC(?value) LIMIT 3"),
        ("?sensor (SUM(?valeu) AS ?n)", "GROUP BY ?sensor ORDER BY DESC(?n) LIMIT 3"),
    ],
)
def test_the_near_name_is_offered(select: str, rest: str) -> None:
    with pytest.raises(QueryError) as error:
        asked(select, WHERE, rest)
    assert "?valeu is bound nowhere" in error.value.problem
    assert error.value.fix == "did you mean ?value?"
    shown, caret = error.value.problem.splitlines()[1:]
    assert shown[caret.index("^") :].startswith("?valeu")


def test_a_filter_on_a_misspelt_variable() -> None:
    with pytest.raises(QueryError, match=r"did you mean [?]value") as error:
        asked("?sensor", "WINDOW :w { ?sensor :value ?value FILTER(?vlaue > 3) }", RANKED)
    assert "?vlaue is bound nowhere" in error.value.problem


RANKED = "ORDER BY DESC(?value) LIMIT 3"


def test_what_is_like_nothing_is_told_with_what_there_is() -> None:
    with pytest.raises(QueryError) as error:
        asked("?sensor", WHERE, "ORDER BY DESC(?x) LIMIT 3")
    assert error.value.fix == "bind it, or use one that is bound: ?sensor, ?value"
