"""Standing queries as rows."""

from __future__ import annotations

import json

import numpy as np

from tests.support.standing_stream import random_queries
from topwater.spark.standing_queries import query_of


def test_queries_are_the_same_as_rows() -> None:
    for query in random_queries(np.random.default_rng(3), 8):
        given = query.to_dict()
        row = {**given, "window": str(given["window"]), "score": json.dumps(given["score"])}
        again = query_of(row)
        assert (again.width, again.timed, again.score) == (query.width, query.timed, query.score)
