"""Queries: the round trip through JSON, equality, copies, and settings that can't work."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topwater.candidates import lists
from topwater.candidates.rescorable import changing
from topwater.errors import QueryError
from topwater.local import run
from topwater.query import TopKQuery
from topwater.replica import Budget
from topwater.scoring import Euclidean, Formula, WeightedDistance, WeightedSum
from topwater.windows import Windows, counting, sliding, tumbling

if TYPE_CHECKING:
    from collections.abc import Callable

NUMBER = st.floats(-1e6, 1e6)
ORDER = st.sampled_from(["largest", "smallest"])
COLUMNS = ("a", "b", "two words", "été", "key", "time")


def query_of(**changes: Any) -> TopKQuery:
    plain = {"key": "who", "time": "at", "window": sliding(9, 3), "score": "a", "k": 3}
    return TopKQuery(**{**plain, **changes})


def _named(names: list[str], value: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(dict.fromkeys(names, value))


@st.composite
def scores(draw: st.DrawFn, names: tuple[str, ...], *, running: bool) -> Any:
    some = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    pair = st.tuples(NUMBER, NUMBER).map(sorted).map(tuple)
    a_range = st.one_of(pair, st.just("running")) if running else pair
    return draw(
        st.one_of(
            st.builds(
                Formula,
                st.sampled_from(
                    [f"`{some[0]}`", f"2 * `{some[0]}` - 1", " + ".join(f"`{n}`" for n in some)]
                ),
                ORDER,
            ),
            st.builds(WeightedSum, _named(some, NUMBER), _named(some[:1], a_range), ORDER),
            st.builds(Euclidean, _named(some, NUMBER), ORDER),
            st.builds(
                WeightedDistance,
                _named(some, NUMBER),
                _named(some, st.floats(0, 10)),
                st.sampled_from(["max", "sum", "euclidean"]),
                ORDER,
            ),
        )
    )


@st.composite
def queries(draw: st.DrawFn) -> TopKQuery:
    take: Any = "each"
    names: tuple[str, ...] = COLUMNS
    if draw(st.booleans()):
        names = ("n", "spent", "höhe")
        column = st.sampled_from(COLUMNS).map(lambda name: f"(`{name}`)")
        function = st.sampled_from(["sum", "mean", "min", "max", "last"])
        aggregate = st.just("count") | st.builds(str.__add__, function, column)
        take = draw(_named(list(names), aggregate))
    step, more = draw(st.integers(1, 10**6)), draw(st.integers(0, 10**6))
    by_time = draw(st.booleans())
    start = draw(st.integers(-(10**12), 10**12)) if by_time else 0
    return TopKQuery(
        key=draw(st.sampled_from(COLUMNS)),
        time=draw(st.sampled_from(COLUMNS)) if by_time else None,
        window=Windows(step + more, step, start, "time" if by_time else "count"),
        score=draw(scores(names, running=take == "each")),
        k=draw(st.integers(1, 10**6)),
        take=take,
        list=draw(st.sampled_from(list(lists))) if take == "each" else None,
        lateness=draw(st.integers(0, 10**9)) if by_time else 0,
        late=draw(st.sampled_from(["drop", "use"])),
        empty_windows=draw(st.integers(0, 10**6)),
    )


class TestRoundTrips:
    @settings(max_examples=150, deadline=None)
    @given(queries())
    def test_json_pickle_copy_and_replace(self, query: TopKQuery) -> None:
        copies = (
            TopKQuery.from_json(query.to_json()),
            TopKQuery.from_dict(query.to_dict()),
            pickle.loads(pickle.dumps(query)),  # noqa: S301
            copy.deepcopy(query),
            replace(query),
        )
        for again in copies:
            assert again == query
            assert hash(again) == hash(query)
            assert again.to_json() == query.to_json()
        assert replace(query, k=query.k + 1) != query
        assert replace(query, k=query.k + 1).k == query.k + 1

    def test_every_field_can_be_replaced(self) -> None:
        query = query_of()
        changed: dict[str, Any] = {
            "key": "b",
            "window": tumbling(5),
            "score": "b",
            "k": 9,
            "time": "b",
            "take": {"a": "count"},
            "list": "recompute",
            "lateness": 5,
            "late": "use",
            "jump": 7,
            "group_by": "c",
            "empty_windows": 0,
            "heartbeat": "d",
        }
        assert {*changed, "refresh", "where"} == {field.name for field in fields(query)}
        for name, value in changed.items():
            other = replace(query, **{name: value})
            assert other != query
            assert replace(other, **{name: getattr(query, name)}) == query

    def test_refresh_can_be_replaced(self) -> None:
        query = query_of(take={"n": "count"}, score="n + far", refresh="far")
        assert query.single is not None
        other = replace(query, refresh=replace(query.single, budget=Budget(fetches=3)))
        assert other != query
        assert TopKQuery.from_json(other.to_json()) == other
        assert hash(other) == hash(TopKQuery.from_json(other.to_json()))

    @pytest.mark.parametrize(
        ("settings", "field"),
        [
            ({"refresh": "far"}, "take"),
            ({"refresh": "far", "take": {"n": "count"}, "score": "n"}, "score"),
            ({"refresh": "n", "take": {"n": "count"}, "score": "n"}, "refresh.remote"),
            ({"refresh": {"remote": "far", "budget": -1}}, "budget.fetches"),
            ({"refresh": {"remote": "far", "budget": 0}}, "budget"),
            ({"refresh": {"remote": "far", "policy": "best"}}, "policy"),
            ({"refresh": {"remote": "far", "policy": "wbm", "estimator": None}}, "estimator"),
            ({"refresh": {"remote": "far", "estimator": "guess"}}, "estimator"),
            ({"refresh": {"remote": "far", "spare": -1}}, "spare"),
            ({"refresh": {"remote": "far", "aim": "both"}}, "aim"),
            ({"refresh": {"remote": "far", "budget": []}}, "budget.fetches"),
            (
                {"refresh": {"remote": "far", "budget": {"fetches": 1, "accuracy": 2}}},
                "budget.accuracy",
            ),
            ({"refresh": {"remote": "far", "budget": {"deadline": "soon"}}}, "budget.deadline"),
            ({"refresh": {"remote": "far", "ttl": 60}}, "refresh.ttl"),
            ({"refresh": {"policy": "worth"}}, "refresh"),
        ],
    )
    def test_what_can_not_be_refreshed(self, settings: dict[str, Any], field: str) -> None:
        with pytest.raises(QueryError) as caught:
            query_of(**settings)
        assert caught.value.field == field
        assert caught.value.fix

    def test_replace_validates(self) -> None:
        with pytest.raises(QueryError, match=r"^k: "):
            replace(query_of(), k=0)
        with pytest.raises(QueryError, match=r"^score: 'a' is not among"):
            replace(query_of(), take={"n": "count"})

    def test_the_order_of_terms_survives(self) -> None:
        """Else the same query rounds differently here and on Spark."""
        score = WeightedSum({"c": 0.3, "b": 0.2, "a": 0.1})
        again = TopKQuery.from_json(query_of(score=score).to_json()).score
        ones = {name: np.ones(1) for name in "abc"}
        assert score.evaluate(ones).tolist() == again.evaluate(ones).tolist()
        turned = WeightedSum({"a": 0.1, "b": 0.2, "c": 0.3})
        assert score.evaluate(ones).tolist() != turned.evaluate(ones).tolist()

    def test_it_cannot_be_changed(self) -> None:
        query = query_of(take={"a": "count"})
        with pytest.raises(FrozenInstanceError):
            query.k = 5  # type: ignore[misc]
        with pytest.raises(TypeError):
            query.take["a"] = "sum(b)"  # type: ignore[index]

    def test_later_changes_of_what_was_given_do_nothing(self) -> None:
        take = {"a": "count"}
        query = query_of(take=take)
        take["a"] = "sum(b)"
        query.to_dict()["take"]["a"] = "sum(b)"
        assert query == query_of(take={"a": "count"})

    def test_equal_in_other_words(self) -> None:
        assert query_of(score="a+ 1") == query_of(score=Formula("(a + 1)"))
        assert query_of(take={"a": "SUM( b )"}) == query_of(take={"a": "sum(`b`)"})
        assert query_of(lateness="1 s") == query_of(lateness=timedelta(seconds=1))
        assert query_of(lateness=np.int64(5)) == query_of(lateness=5)
        assert query_of(window=sliding("9ms", "3ms")) == query_of()
        assert len({query_of(), query_of(), query_of(k=4)}) == 2

    def test_durations_in_files(self) -> None:
        plain = query_of().to_dict()
        plain["window"] = {"width": "9 min", "step": "PT3M"}
        plain["lateness"] = "10 s"
        query = TopKQuery.from_dict(plain)
        assert (query.window, query.lateness) == (sliding("9 min", "3 min"), 10_000)


class TestWhatItSays:
    def test_columns_that_are_read(self) -> None:
        assert query_of(score="a * b").value_columns == ("a", "b")
        assert query_of(take={"n": "count"}, score="n").value_columns == ()
        taken = {"n": "sum(x)", "m": "mean(x)", "o": "max(y)"}
        assert query_of(take=taken, score="n").value_columns == ("x", "y")

    def test_names_that_functions_have_too(self) -> None:
        query = query_of(take={"max": "max(v)", "count": "count"}, score="max + count")
        assert query.score.columns == ("max", "count")


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"k": 0}, "k", "at least 1, not 0"),
    ({"k": -1}, "k", "at least 1"),
    ({"k": 2.0}, "k", "whole number"),
    ({"k": True}, "k", "whole number"),
    ({"k": "3"}, "k", "whole number"),
    ({"k": None}, "k", "whole number"),
    ({"key": None}, "key", "None does not name a column"),
    ({"key": ""}, "key", "does not name a column"),
    ({"key": 5}, "key", "does not name a column"),
    ({"key": [["who"]]}, "key", "does not name a column"),
    ({"time": ""}, "time", "does not name a column"),
    ({"time": 5}, "time", "does not name a column"),
    ({"time": None}, "time", "time windows need the column"),
    ({"window": None}, "window", "is not a window"),
    ({"window": "9 min"}, "window", "is not a window"),
    ({"window": (9, 3)}, "window", "is not a window"),
    ({"list": "treap"}, "list", "'treap' is unknown"),
    ({"list": 3}, "list", "is unknown"),
    ({"list": []}, "list", "is unknown"),
    ({"lateness": -1}, "lateness", "not -1"),
    ({"lateness": 10**40}, "lateness", "must be a whole number from 0"),
    ({"lateness": "soon"}, "lateness", "is not a duration"),
    ({"lateness": 1.5}, "lateness", "is not a duration"),
    ({"lateness": True}, "lateness", "is not a duration"),
    ({"window": counting(9), "lateness": 1}, "lateness", "none is late"),
    ({"late": "keep"}, "late", "'keep' is unknown"),
    ({"late": []}, "late", "is unknown"),
    ({"late": None}, "late", "is unknown"),
    ({"empty_windows": -1}, "empty_windows", "at least 0"),
    ({"empty_windows": 1.0}, "empty_windows", "whole number"),
    ({"empty_windows": None}, "empty_windows", "whole number"),
    ({"score": "1"}, "score", "names no column"),
    ({"score": "1", "take": {"n": "count"}}, "score", "names no column"),
    ({"score": None}, "score", "not a score"),
    ({"score": 7}, "score", "not a score"),
    ({"score": Formula}, "score", "not a score"),
    ({"score": {}}, "score.kind", "is unknown"),
    ({"score": {"kind": "cosine"}}, "score.kind", "is unknown"),
    ({"take": "all"}, "take", "'all' is unknown"),
    ({"take": None}, "take", "is unknown"),
    ({"take": ["n"]}, "take", "is unknown"),
    ({"take": {}}, "take", "is empty"),
    ({"take": {"n": "median(v)"}, "score": "n"}, "take.n", "not an aggregate"),
    ({"take": {"n": "sum"}, "score": "n"}, "take.n", "takes one"),
    ({"take": {"n": 5}, "score": "n"}, "take.n", "not an aggregate"),
    ({"take": {"two words": "count"}}, "take", "can't be used as a name"),
    ({"take": {"": "count"}}, "take", "can't be used as a name"),
    ({"take": {3: "count"}}, "take", "can't be used as a name"),
    ({"take": {"key": "count"}}, "take", "can't be used as a name"),
    ({"take": {"time": "count"}}, "take", "can't be used as a name"),
    ({"take": {"pane": "count"}}, "take", "can't be used as a name"),
    ({"take": {"n": "count"}}, "score", "'a' is not among"),
    ({"take": {"a": "count"}, "list": "mintopk"}, "list", "ranks single events"),
    ({"take": {"a": "count"}, "list": "panes"}, "list", "ranks single events"),
    ({"take": {"a": "count"}, "list": "recompute"}, "list", "ranks single events"),
    ({"list": "panes+n"}, "list", "keeps one object per key"),
    (
        {"take": {"a": "count"}, "score": WeightedSum({"a": 1}, {"a": "running"})},
        "score.ranges",
        "running ranges",
    ),
]


@pytest.mark.parametrize(("changed", "field", "told"), BAD, ids=[str(bad[0]) for bad in BAD])
def test_settings_that_cannot_work(changed: dict[str, Any], field: str, told: str) -> None:
    with pytest.raises(QueryError) as caught:
        query_of(**changed)
    assert caught.value.field == field
    assert told in caught.value.problem
    assert caught.value.fix
    assert str(caught.value).startswith(f"{field}: ")


def test_an_unknown_list_tells_the_nearest_or_all_others() -> None:
    with pytest.raises(QueryError) as caught:
        query_of(list="xyz")
    assert caught.value.fix == "use one of: " + ", ".join([*lists, *changing])
    with pytest.raises(QueryError) as caught:
        query_of(list="mintop")
    assert caught.value.fix == "did you mean mintopk?"


class TestList:
    """``query.list`` names a list that is there, and one that would not be used is refused."""

    def test_each_event_an_item(self) -> None:
        assert query_of().list == "panes"
        assert query_of(list=None).list == "panes"
        assert query_of(list="recompute").list == "recompute"

    def test_aggregates_have_none(self) -> None:
        query = query_of(take={"a": "count"})
        assert query.list is None
        assert TopKQuery.from_json(query.to_json()) == query
        assert replace(query, k=4).list is None

    def test_the_usual_list_gives_way_where_there_is_none(self) -> None:
        query = query_of()
        counted = replace(query, take={"a": "count"})
        assert counted.list is None
        assert replace(counted, take="each") == query
        with pytest.raises(QueryError, match="ranks single events"):
            replace(query_of(list="panes"), take={"a": "count"})

    def test_aggregates_with_a_list_for_changing_scores(self) -> None:
        query = query_of(take={"a": "last(a)"}, score="a + f", refresh="f", list="panes+n")
        assert query.list == "panes+n"
        assert TopKQuery.from_json(query.to_json()) == query


@pytest.mark.parametrize(
    ("wrong", "fix"),
    [
        ({"keyy": "who"}, "did you mean key?"),
        ({"windows": 3}, "did you mean window?"),
        ({"refesh": "f"}, "did you mean refresh?"),
        ({"xyz": 3}, "use one of: key, window, score, k, order, time,"),
    ],
)
def test_a_wrong_keyword(wrong: dict[str, Any], fix: str) -> None:
    plain = query_of()
    calls: list[Callable[[], Any]] = [
        lambda: query_of(**wrong),
        lambda: replace(plain, **wrong),
        lambda: TopKQuery.from_dict(plain.to_dict() | wrong),
    ]
    for call in calls:
        with pytest.raises(QueryError) as caught:
            call()
        assert caught.value.field == next(iter(wrong))
        assert caught.value.problem.endswith(": no such setting")
        assert caught.value.fix.startswith(fix)


class TestFromText:
    def test_an_unknown_setting(self) -> None:
        plain = query_of().to_dict() | {"topk": 3}
        with pytest.raises(QueryError, match=r"^topk: no such setting\n  fix: use one of: .*late"):
            TopKQuery.from_dict(plain)

    @pytest.mark.parametrize("name", ["key", "window", "score", "k"])
    def test_a_missing_setting(self, name: str) -> None:
        plain = {key: value for key, value in query_of().to_dict().items() if key != name}
        with pytest.raises(QueryError, match=f"^{name}: is missing"):
            TopKQuery.from_json(json.dumps(plain))

    def test_the_rest_may_be_missing(self) -> None:
        plain = {name: query_of().to_dict()[name] for name in ("key", "window", "score", "k")}
        assert TopKQuery.from_dict({**plain, "time": "at"}) == query_of()

    @pytest.mark.parametrize(
        "text", ["", "{", "nonsense", "[]", "3", "null", '"each"', "[" * 10_000]
    )
    def test_what_is_no_query(self, text: str) -> None:
        with pytest.raises(QueryError, match=r"^query: (no JSON|must be a table)"):
            TopKQuery.from_json(text)

    @pytest.mark.parametrize("settings", [None, [], "k", 3])
    def test_what_are_no_settings(self, settings: Any) -> None:
        with pytest.raises(QueryError, match=r"^query: must be a table of names and values, not "):
            TopKQuery.from_dict(settings)

    @pytest.mark.parametrize(
        ("window", "field"),
        [
            ({"width": 9}, "window.step"),
            ({"width": 9, "step": 3, "slide": 3}, "window.slide"),
            ({"width": 9, "step": 0}, "window.step"),
            ({"width": "9 parsecs", "step": 3}, "window.width"),
            ({"width": 9, "step": 3, "by": "row"}, "window.by"),
            ({3: 9}, "window.3"),
            ([9, 3], "window"),
            (None, "window"),
        ],
    )
    def test_windows_that_cannot_be_read(self, window: Any, field: str) -> None:
        with pytest.raises(QueryError) as caught:
            TopKQuery.from_dict(query_of().to_dict() | {"window": window})
        assert caught.value.field == field
        assert caught.value.fix


class TestOrder:
    def query(self, **more: Any) -> TopKQuery:
        return TopKQuery(key="k", time="t", window=tumbling(10), score="price", k=2, **more)

    def test_the_smallest_are_best(self) -> None:
        query = self.query(order="smallest")
        events = {"k": ["a", "b", "c"], "t": [1, 2, 3], "price": [3.0, 1.0, 2.0]}
        (answer,) = run(query, [events])
        assert answer.keys == ["b", "c"]
        assert query.order == "smallest"

    def test_it_is_the_same_as_that_of_the_score(self) -> None:
        settings: dict[str, Any] = {"key": "k", "time": "t", "window": tumbling(10), "k": 2}
        by_score = TopKQuery(**settings, score=Formula("price", order="smallest"))
        assert self.query(order="smallest") == by_score
        assert TopKQuery.from_json(by_score.to_json()) == by_score
        turned: dict[str, Any] = {"order": "smallest"}
        assert replace(self.query(), **turned) == by_score
        assert replace(by_score, k=3).order == "smallest"
        assert "the smallest first" in repr(by_score)

    def test_a_distance_keeps_its_own(self) -> None:
        settings: dict[str, Any] = {"key": "k", "time": "t", "window": tumbling(10), "k": 2}
        near = TopKQuery(**settings, score={"kind": "euclidean", "point": {"x": 1.0}})
        assert near.order == "smallest"
        turned: dict[str, Any] = {"order": "largest"}
        assert replace(near, **turned).order == "largest"

    def test_it_is_one_of_two(self) -> None:
        with pytest.raises(QueryError, match="order: 'smalest' is unknown") as caught:
            self.query(order="smalest")
        assert caught.value.fix == "did you mean smallest?"
