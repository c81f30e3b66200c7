"""Standing queries as rows."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.support.standing_stream import random_queries
from topwater.errors import QueryError
from topwater.spark.standing_queries import query_of


@pytest.mark.parametrize("score", ["{", '{"a":' * 10_000, "{" + "x" * 100_000])
def test_a_score_that_can_not_be_read_is_refused(score: str) -> None:
    given = next(iter(random_queries(np.random.default_rng(3), 1))).to_dict()
    with pytest.raises(QueryError, match="is not JSON") as caught:
        query_of({**given, "window": str(given["window"]), "score": score})
    assert len(str(caught.value)) < 1_000


def test_queries_are_the_same_as_rows() -> None:
    for query in random_queries(np.random.default_rng(3), 8):
        given = query.to_dict()
        row = {**given, "window": str(given["window"]), "score": json.dumps(given["score"])}
        again = query_of(row)
        assert (again.width, again.timed, again.score) == (query.width, query.timed, query.score)
