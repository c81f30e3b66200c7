"""Standing queries: against every window sorted at every step, and through what users do."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.standing_steps import results_of, streams, top
from topwater.errors import QueryError
from topwater.model import Counts
from topwater.scoring import Euclidean, Formula, Score, WeightedDistance, WeightedSum
from topwater.standing import Standing, StandingQuery
from topwater.standing.algorithms import algorithms
from topwater.standing.auto_switch import EXACT as EXACTLY
from topwater.standing.auto_switch import WATCHED
from topwater_lab.rivals import RIVALS

EXACT = [name for name in dict.fromkeys([*algorithms, *RIVALS]) if name != "pa"]
KINDS = ["random", "tied", "rising", "falling", "waves"]
NAMES = ["x", "y", "z"]


def scores(dimensions: int, rng: np.random.Generator) -> list[Score]:
    """One score of each kind, over the first columns."""
    names = NAMES[:dimensions]
    point = dict(zip(names, rng.random(dimensions).round(2).tolist(), strict=True))
    weights = dict(zip(names, (rng.random(dimensions) + 0.1).round(2).tolist(), strict=True))
    return [
        Euclidean(point),
        WeightedDistance(point, weights),
        WeightedDistance(point, weights, combine="sum"),
        WeightedDistance(point, weights, combine="euclidean"),
        WeightedSum(weights),
        WeightedSum(weights, {"x": (0, 2)}, order="smallest"),
        Formula("x * y", order="smallest"),
        Euclidean({"y": 0.5}),
    ]


def cut(rng: np.random.Generator, size: int) -> list[slice]:
    """Random batches, some of them empty."""
    ends = np.sort(rng.integers(0, size + 1, 4))
    return [slice(int(a), int(b)) for a, b in zip([0, *ends], [*ends, size], strict=True)]


def costs_of(score: Score, columns: dict[str, np.ndarray]) -> np.ndarray:
    """What to sort by, smallest first: for straight distances their squares, as we do."""
    if isinstance(score, Euclidean):
        squares = [(columns[name] - at) ** 2 for name, at in score.point.items()]
        return np.asarray(np.sum(squares, axis=0))
    if isinstance(score, WeightedDistance) and score.combine == "euclidean":
        squares = [score.weights[n] * (columns[n] - at) ** 2 for n, at in score.point.items()]
        return np.asarray(np.sum(squares, axis=0))
    return -score.rank_scores(columns)


@pytest.mark.parametrize("algorithm", EXACT)
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    timed=st.booleans(),
    dimensions=st.integers(2, 3),
)
@example(seed=1, kind="tied", timed=False, dimensions=2)  # auto told an object twice
@example(seed=1061, kind="tied", timed=False, dimensions=2)  # and kept too many of equal costs
def test_result_stream_and_answers_equal_sorting_every_window(
    algorithm: str, seed: int, kind: str, timed: bool, dimensions: int
) -> None:
    rng = np.random.default_rng(seed)
    size = 160
    columns = dict(zip(NAMES, streams(kind, rng, size, dimensions), strict=False))
    times = np.cumsum(rng.integers(0, 4, size) * rng.integers(0, 9, size))
    stamps = times if timed else np.arange(1, size + 1)
    standing = Standing(
        list(columns), algorithm=algorithm, indexed=bool(seed % 3), cells=3 + seed % 9
    )
    queries = [
        StandingQuery(
            number,
            int(rng.integers(1, 6)),
            f"{rng.integers(1, 300)} ms" if timed else int(rng.integers(1, 60)),
            score,
        )
        for number, score in enumerate(scores(dimensions, rng))
    ]
    for query in queries:
        standing.register(query)
    found: dict[object, list[tuple[int, int]]] = {query.name: [] for query in queries}
    for rows in cut(rng, size):
        batch = {name: column[rows] for name, column in columns.items()}
        results = standing.add({**batch, "time": times[rows]})
        for name, position, at in zip(
            results.query, results.position.tolist(), results.at.tolist(), strict=True
        ):
            found[name].append((position, at))
        if rows.stop:
            for query in queries:
                costs = costs_of(query.score, {n: c[: rows.stop] for n, c in columns.items()})
                best = top(costs, stamps, query.k, query.width)
                answer = standing.top(query.name)
                assert answer.key.tolist() == [row + 1 for row in best], query
                wanted = query.score.evaluate(columns)[best]
                np.testing.assert_allclose(answer.score, wanted, rtol=1e-12, atol=1e-12)
    for query in queries:
        costs = costs_of(query.score, columns)
        expected = results_of(costs, stamps, query.k, query.width)
        assert len(found[query.name]) == len(set(found[query.name]))
        assert set(found[query.name]) == expected, query


@pytest.mark.parametrize("indexed", [True, False, "auto"])
@pytest.mark.parametrize("dimensions", [1, 2, 4, 7, 10])
def test_up_to_ten_dimensions_with_and_without_the_index(
    dimensions: int, indexed: bool | str
) -> None:
    rng = np.random.default_rng(dimensions)
    names = [f"c{d}" for d in range(dimensions)]
    size, n, k = 9_000, 1_500, 4
    columns = rng.normal(size=(dimensions, size)) ** 3
    standing = Standing(names, indexed=indexed)  # type: ignore[arg-type]
    points = rng.normal(size=(20, dimensions)) ** 3
    for number, point in enumerate(points):
        at = dict(zip(names, point.tolist(), strict=True))
        score = WeightedSum(at) if number % 5 == 4 else Euclidean(at)
        standing.register(StandingQuery(number, k, n, score))
    standing.add(dict(zip(names, columns, strict=True)))
    for number, point in enumerate(points):
        costs = np.zeros(size)
        for column, coordinate in zip(columns, point, strict=True):
            costs += -coordinate * column if number % 5 == 4 else (column - coordinate) ** 2
        best = top(costs, np.arange(1, size + 1), k, n)
        assert standing.top(number).key.tolist() == [row + 1 for row in best]


@pytest.mark.parametrize("algorithm", ["rapf", "sasf", "ra"])
@pytest.mark.parametrize("buffer", [1, 2, 5, 20])
def test_any_exact_buffer_gives_the_same(algorithm: str, buffer: int) -> None:
    rng = np.random.default_rng(buffer)
    columns = streams("waves", rng, 400, 2)
    standing = Standing(["x", "y"], algorithm=algorithm, buffer=buffer)
    standing.register(StandingQuery("q", 3, 39, Euclidean({"x": 0.4, "y": 0.4})))
    results = standing.add({"x": columns[0], "y": columns[1]})
    costs = ((columns - 0.4) ** 2).sum(axis=0)
    expected = results_of(costs, np.arange(1, 401), 3, 39)
    assert set(zip(results.position.tolist(), results.at.tolist(), strict=True)) == expected


def test_a_query_sees_only_what_comes_after_it_and_a_changed_one_begins_anew() -> None:
    standing = Standing(["x"], algorithm="rapf")
    near = Formula("x", order="smallest")
    standing.register(StandingQuery("a", 2, 10, near))
    standing.add({"x": [3.0, 1.0, 2.0]})
    standing.register(StandingQuery("b", 2, 10, near))
    assert len(standing.top("b")) == 0
    results = standing.add({"x": [5.0, 4.0]})
    assert standing.top("a").score.tolist() == [1.0, 2.0]
    assert standing.top("b").score.tolist() == [4.0, 5.0]
    assert results.query.tolist() == ["b", "b"]
    standing.change(StandingQuery("a", 1, 10, Formula("x")))
    standing.add({"x": [0.5]})
    assert standing.top("a").score.tolist() == [0.5]
    standing.cancel("b")
    assert "b" not in standing
    assert len(standing) == 1


def test_many_come_and_go_and_nothing_is_left_behind() -> None:
    rng = np.random.default_rng(5)
    standing = Standing(["x", "y"])
    columns = rng.random((2, 6_000))
    born: dict[int, int] = {}
    for number in range(300):
        point = dict(zip("xy", rng.random(2).tolist(), strict=True))
        standing.register(StandingQuery(number, 3, 500, Euclidean(point)))
        born[number] = 1 + 20 * number
        if number >= 40:
            standing.cancel(number - 40)
        rows = slice(20 * number, 20 * number + 20)
        standing.add({"x": columns[0, rows], "y": columns[1, rows]})
    assert len(standing) == 40
    for query in standing:
        assert isinstance(query.score, Euclidean)
        at = np.array([query.score.point["x"], query.score.point["y"]])
        costs = ((columns - at[:, None]) ** 2).sum(axis=0)
        best = top(costs, np.arange(1, 6_001), 3, 500, born[int(str(query.name))])
        assert standing.top(query.name).key.tolist() == [row + 1 for row in best]
    assert standing.references < 40 * 120


@pytest.mark.parametrize("algorithm", [*EXACT, "pa"])
def test_a_snapshot_goes_on_as_if_nothing_had_happened(algorithm: str) -> None:
    rng = np.random.default_rng(3)
    columns = streams("waves", rng, 900, 2)
    keys = np.array([f"k{i}" for i in range(900)], object)
    standing = Standing(["x", "y"], algorithm=algorithm)
    for number, score in enumerate(scores(2, rng)):
        standing.register(StandingQuery(number, 4, 200, score))
    standing.register(StandingQuery("timed", 4, "1 s", Formula("x + y")))

    def part(rows: slice) -> dict[str, np.ndarray]:
        times = np.arange(900)[rows] * 7
        return {"x": columns[0, rows], "y": columns[1, rows], "key": keys[rows], "time": times}

    standing.add(part(slice(0, 450)))
    restored = Standing.build(standing.snapshot())
    one, other = (each.add(part(slice(450, 900))) for each in (standing, restored))
    for name in ("query", "key", "position", "at", "time"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    for query in standing:
        assert standing.top(query.name).key.tolist() == restored.top(query.name).key.tolist()
    assert restored.counts == standing.counts


def test_keys_survive_long_after_their_rows() -> None:
    rng = np.random.default_rng(1)
    size = 200_000
    columns = rng.random((2, size))
    standing = Standing(["x", "y"], buffer=500)
    standing.register(StandingQuery("q", 5, 150_000, Euclidean({"x": 0.5, "y": 0.5})))
    keys = np.array([f"k{i}" for i in range(size)], object)
    for first in range(0, size, 10_000):
        rows = slice(first, first + 10_000)
        found = standing.add({"x": columns[0, rows], "y": columns[1, rows], "key": keys[rows]})
        assert found.key.tolist() == [f"k{at - 1}" for at in found.position.tolist()]
    costs = ((columns - 0.5) ** 2).sum(axis=0)
    best = top(costs, np.arange(1, size + 1), 5, 150_000)
    assert standing.top("q").key.tolist() == [f"k{row}" for row in best]
    assert standing.objects < 1_000


def test_bad_rows_are_counted_and_left_out() -> None:
    standing = Standing(["x", "y"])
    standing.register(StandingQuery("q", 9, "1 min", Formula("x / y", order="smallest")))
    standing.add(
        {
            "x": np.array([1.0, np.nan, 2.0, np.inf, 3.0, "four", 5.0, 6.0], object),
            "y": [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0],
            "key": np.array(["a", "b", None, "d", "e", "f", "g", "h"], object),
            "time": [10, 10, 10, 10, 9, 10, 10, 11],
        }
    )
    assert standing.top("q").key.tolist() == ["a", "h"]
    assert standing.counts == Counts(events=8, bad_score=4, bad_key=1, late=1)


@pytest.mark.parametrize(
    ("make", "field", "says"),
    [
        (lambda: Standing([]), "columns", "name each attribute"),
        (lambda: Standing(["x", "time"]), "columns", "a reserved name"),
        (lambda: Standing(["x"], algorithm="best"), "algorithm", "rapf"),
        (lambda: Standing(["x"], sigma=0.0), "sigma", ""),
        (lambda: Standing(["x"], sigma=1.0), "sigma", ""),
        (lambda: Standing(["x"], gamma=-1), "gamma", "at least 0"),
        (lambda: Standing(["x"], buffer=0), "buffer", "at least 1"),
        (lambda: StandingQuery("q", 0, 10, Formula("x")), "k", "from 1 to"),
        (lambda: StandingQuery("q", 1, 0, Formula("x")), "window", "positive"),
        (lambda: StandingQuery("q", 1, "soon", Formula("x")), "window", "duration"),
        (lambda: StandingQuery(None, 1, 10, Formula("x")), "name", "not a name"),  # type: ignore[arg-type]
        (
            lambda: StandingQuery("q", 1, 10, WeightedSum({"x": 1}, {"x": "running"})),
            "score.ranges",
            "declare",
        ),
    ],
)
def test_bad_settings_name_the_field(make: object, field: str, says: str) -> None:
    with pytest.raises(QueryError) as caught:
        make()  # type: ignore[operator]
    assert caught.value.field == field
    assert says in str(caught.value)


def test_bad_queries_are_refused_and_the_rest_goes_on() -> None:
    standing = Standing(["x", "y"], buffer=50)
    good = StandingQuery("q", 1, 99, Euclidean({"x": 0.0, "y": 0.0}))
    standing.register(good)
    for query, field in [
        (good, "name"),
        (StandingQuery("small", 1, 98, good.score), "buffer"),
        (StandingQuery("flat", 1, 99, Euclidean({"x": 0.0, "w": 0.0})), "score"),
    ]:
        with pytest.raises(QueryError) as caught:
            standing.register(query)
        assert caught.value.field == field
    standing.cancel("q")
    with pytest.raises(QueryError, match="cancelled before"):
        standing.cancel("q")
    with pytest.raises(QueryError, match="no 'y'"):
        standing.add({"x": [1.0]})
    standing.register(StandingQuery("timed", 1, "1 min", good.score))
    with pytest.raises(QueryError, match="windows of time"):
        standing.add({"x": [1.0], "y": [1.0]})
    with pytest.raises(QueryError, match="2 values for 1"):
        standing.add({"x": [1.0], "y": [1.0], "time": [1, 2]})


def test_queries_survive_json() -> None:
    rng = np.random.default_rng(0)
    for score in scores(3, rng):
        for window in (50, "90s"):
            query = StandingQuery("q", 3, window, score)
            again = StandingQuery.from_dict(json.loads(json.dumps(query.to_dict())))
            assert (again.width, again.timed, again.score) == (query.width, query.timed, score)


@pytest.mark.parametrize("kind", ["random", "falling", "rising", "slow", "mixed"])
def test_auto_is_exact_in_every_order_and_turns_both_ways(kind: str) -> None:
    rng = np.random.default_rng(11)
    size, n = 20_000, 800
    noise = rng.random((2, size))
    wave = np.sin(np.arange(size) / (2 * n) * 2 * np.pi) + 0.1 * noise
    columns = {
        "slow": wave,
        "mixed": np.where(np.arange(size) // (5 * n) % 2, wave, noise),
    }.get(kind)
    if columns is None:
        columns = streams(kind, rng, size, 2)
    found = {}
    for algorithm in ("auto", "rapf"):
        standing = Standing(["x", "y"], algorithm=algorithm)
        for number in range(12):
            near = Euclidean({"x": number / 12, "y": 0.5})
            large = WeightedSum({"x": 1 + number / 12, "y": 0.5})
            score = near if number % 2 else large
            standing.register(StandingQuery(number, 1 + number % 6, n, score))
        parts = [
            standing.add(
                {"x": columns[0, first : first + 700], "y": columns[1, first : first + 700]}
            )
            for first in range(0, size, 700)
        ]
        found[algorithm] = {
            row
            for part in parts
            for row in zip(part.query, part.position.tolist(), part.at.tolist(), strict=True)
        }
        if algorithm == "auto":
            watches = standing._engines[0]._queries["watch"][:12].tolist()  # type: ignore[attr-defined]
            alarms = standing._engines[0]._queries["alarm"][:12].tolist()  # type: ignore[attr-defined]
    assert found["auto"] == found["rapf"]
    if kind == "random":
        assert max(watches) == WATCHED
        assert max(alarms) == 0
    if kind in ("falling", "rising"):
        assert min(watches) == EXACTLY
    if kind == "slow":
        assert watches.count(EXACTLY) > 6
    if kind == "mixed":
        assert watches.count(WATCHED) > 6
        assert min(alarms) > 0


def test_pa_errs_rarely_in_random_order_and_badly_when_scores_fall() -> None:
    rng = np.random.default_rng(9)
    missed = {}
    for kind in ("random", "falling"):
        columns = streams(kind, rng, 20_000, 2)
        found = {}
        for algorithm in ("pa", "rapf"):
            standing = Standing(["x", "y"], algorithm=algorithm)
            for number in range(20):
                standing.register(StandingQuery(number, 5, 1_000, WeightedSum({"x": 1, "y": 1})))
            results = standing.add({"x": columns[0], "y": columns[1]})
            found[algorithm] = set(
                zip(results.query.tolist(), results.position.tolist(), strict=True)
            )
        missed[kind] = len(found["rapf"] - found["pa"]) / len(found["rapf"])
    assert missed["random"] < 0.001
    assert missed["falling"] > 0.3
