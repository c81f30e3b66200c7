"""Checks of the contracts in :mod:`topwater.protocols`, for our implementations and for yours.

Plain Python and NumPy: usable from any test runner.
"""

from __future__ import annotations

import pickle
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from topwater.model import (
    Arrivals,
    BoolArray,
    Fetched,
    FloatArray,
    IntArray,
    Items,
    Key,
    KeyArray,
    Millis,
    Problem,
)
from topwater.protocols import CandidateList, Floors, Source, Sweeps
from topwater.replica import Ranking, Refresher, RefreshSettings, WindowView
from topwater.replica.policies import Policy, Proposal, Proposer, resolve
from topwater.scoring import Formula
from topwater.windows import Windows, counting, sliding, tumbling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_TOLERANCE = 0.5
"""Seconds: a busy machine must not make a good source fail."""

KeyKind: TypeAlias = Literal["int", "str"]
Row: TypeAlias = tuple[float, int, object]
"""(score, time, key)"""

WINDOWS = (
    Windows(9, 3, start=1),
    Windows(5, 2),
    Windows(100, 60),
    Windows(100, 60, start=-130),
    Windows(7, 1),
    Windows(10, 10),
    Windows(1, 1),
    counting(12, 3),
    counting(6),
)
"""Overlapping evenly and unevenly, by one, not at all, over time and over counts."""


def random_items(
    rng: np.random.Generator,
    windows: Windows,
    panes: IntArray,
    *,
    keys: KeyKind = "int",
    levels: int = 12,
    drift: float = 0.0,
) -> Items:
    """One random item in each of ``panes``; many of them tie, and some are equal.

    Parameters
    ----------
    rng
        The source of randomness.
    windows
        They say where panes lie.
    panes
        The pane of each item, in the order in which the items are to come.
    keys
        Whole numbers, or strings in an object array.
    levels
        How many different scores there are, before the drift.
    drift
        By how much scores rise from pane to pane; negative if later items score lower.

    Examples
    --------
    >>> items = random_items(np.random.default_rng(1), Windows(9, 3), np.array([4, 0]))
    >>> Windows(9, 3).pane_of(items.time).tolist()
    [4, 0]
    """
    n = len(panes)
    opens = windows.start + panes * windows.pane
    scores = rng.integers(levels, size=n) - levels / 3 + drift * panes
    names = rng.integers(-3, 8, size=n)
    return Items(
        scores.astype(np.float64),
        (opens + rng.integers(1, windows.pane + 1, size=n)).astype(np.int64),
        names.astype(str).astype(object) if keys == "str" else names.astype(np.int64),
    )


def random_cuts(rng: np.random.Generator, items: Items) -> Iterator[Items]:
    """The items in order, as batches of random sizes, some of them empty."""
    cuts = np.sort(rng.integers(0, len(items) + 1, size=rng.integers(0, 6)))
    for first, last in zip([0, *cuts], [*cuts, len(items)], strict=True):
        yield items.take(slice(int(first), int(last)))


def rows(items: Items) -> list[Row]:
    """(score, time, key) of each item, as Python values."""
    return list(zip(items.score.tolist(), items.time.tolist(), items.key.tolist(), strict=True))


def best_first(found: Iterable[Row]) -> list[Row]:
    """The total order: score descending, then the younger, then the smaller key."""
    return sorted(found, key=lambda row: (-row[0], -row[1], row[2]))


def check_list(
    make: Callable[[Windows, int], CandidateList],
    *,
    in_order: bool = False,
    seeds: Iterable[int] = range(4),
    steps: int = 40,
    windows: Iterable[Windows] = WINDOWS,
) -> None:
    """Run a list against its contract, on seeded random streams.

    Parameters
    ----------
    make
        Builds an empty list for windows and k.
    in_order
        The list takes only panes that are in the current window, instead of all that L1 allows.
    seeds
        One stream per seed and kind of window.
    steps
        How many times to add, expire, sweep or restart in each stream.
    windows
        The kinds of window to try.

    Raises
    ------
    AssertionError
        Starting with the number of the clause that is broken.
    """
    for spans in windows:
        for seed in seeds:
            _Trial(make, spans, seed, in_order).run(steps)


class _Trial:
    """One stream, one list under test, and the items that a perfect memory would hold."""

    def __init__(
        self,
        make: Callable[[Windows, int], CandidateList],
        windows: Windows,
        seed: int,
        in_order: bool,
    ) -> None:
        self.make = make
        self.windows = windows
        self.in_order = in_order
        self.rng = np.random.default_rng([seed, windows.width, windows.step])
        self.k = int(self.rng.choice([1, 2, 3, 8]))
        self.keys: KeyKind = "str" if seed % 2 else "int"
        self.drift = float(self.rng.choice([-2, -0.1, 0, 0, 0.1, 2]))
        self.case = f"{windows}, k={self.k}, seed={seed}"
        self.current = 0
        self.history: list[Row] = []
        self.list = make(windows, self.k)
        self.twin = make(windows, self.k)

    def run(self, steps: int) -> None:
        moves = [self.add, self.add, self.slide, self.slide, self.jump, self.restart]
        if isinstance(self.list, Sweeps) and not self.in_order:
            moves.append(self.sweep)
        if isinstance(self.list, Floors):
            moves.append(self.floors)
        self.compare()
        for _ in range(steps):
            moves[self.rng.integers(len(moves))]()
            self.compare()

    def add(self) -> None:
        """L1, L7: one list gets the batch whole, the other in pieces."""
        items = self.arriving()
        self.history += rows(items)
        self.list.add(self.windows.group(items))
        for part in random_cuts(self.rng, items):
            self.twin.add(self.windows.group(part))

    def slide(self) -> None:
        self.expire(self.current)

    def jump(self) -> None:
        far = 10**9 if self.rng.random() < 0.1 else 2 * self.windows.overlap
        self.expire(self.current + int(self.rng.integers(far)))

    def expire(self, window: int) -> None:
        """L3: repeating it changes nothing."""
        self.current = window + 1
        for each in (self.list, self.twin):
            each.expire(window)
        before = list(self.list)
        self.list.expire(window)
        self.demand(3, list(self.list) == before, "expiring again changed what is kept")

    def restart(self) -> None:
        """L5: go on with a list rebuilt from the snapshot."""
        saved = self.windows.group(self.list.snapshot())
        self.list = self.make(self.windows, self.k)
        if self.current:
            self.list.expire(self.current - 1)
        self.list.add(saved)
        self.compare(clause=5)

    def sweep(self) -> None:
        """L8: many windows in one call."""
        items = self.arriving()
        until = self.current + int(self.rng.integers(2 * self.windows.overlap))
        self.history += rows(items)
        expected = [self.expected(w) for w in range(self.current, until + 1)]
        right = [len(top) for top in expected]
        for each in (self.list, self.twin):
            found, sizes, kept = _sweep(each, self.windows.group(items), until)
            self.demand(8, sizes.tolist() == right, f"{sizes} items per window, not {right}")
            self.demand(8, len(kept) == len(right), f"{len(kept)} numbers of candidates")
            self.demand(8, bool((kept >= sizes).all()), f"{kept} candidates for {sizes} items")
            self.same(8, rows(found), [row for top in expected for row in top], "sweep")
        self.current = until + 1

    def floors(self) -> None:
        """L9: in each window of the pane, k items score at least its floor."""
        assert isinstance(self.list, Floors), "L9: lists of one maker must all have floors"
        panes = np.unique(self.windows.pane_of(self.arriving().time))
        for pane, floor in zip(panes.tolist(), self.list.floors(panes).tolist(), strict=True):
            first, last = self.windows.span_of(pane)
            for window in range(max(first, self.current), last + 1) if floor > -np.inf else ():
                top = self.expected(window)
                useless = len(top) == self.k and top[-1][0] >= floor
                self.demand(9, useless, f"floor {floor} of pane {pane} is too high for {window}")

    def compare(self, clause: int = 2) -> None:
        later = self.current + int(self.rng.integers(2 * self.windows.overlap))
        self.list.check()
        for window in (self.current, later):
            right = self.expected(window)
            self.same(clause, rows(self.list.top(window)), right, f"top({window})")
            self.same(7, rows(self.twin.top(window)), right, f"top({window}) in other batches")
        self.list.check()
        self.kept()

    def kept(self) -> None:
        """L4: what is kept is in order, was added, and can still be asked for."""
        kept = list(self.list)
        opens = self.windows.window(self.current).opens
        self.demand(4, len(self.list) == len(kept), f"len {len(self.list)}, not {len(kept)}")
        self.same(4, kept, best_first(kept), "iteration")
        self.demand(4, all(time > opens for _, time, _ in kept), "an expired item is kept")
        self.demand(4, not Counter(kept) - Counter(self.history), "an item was never added")

    def arriving(self) -> Items:
        """Nothing, a few or a burst; in any pane that may come, most often in the next ones."""
        first, last = self.windows.panes_in(self.current)
        if not self.in_order:
            last += int(self.rng.integers(2 * self.windows.panes_per_window))
        count = int(self.rng.choice([0, 1, 5, 5, 20, 150]))
        panes = self.rng.integers(first, last + 1, size=count)
        if self.rng.random() < 0.5:
            panes = np.sort(panes)
        return random_items(self.rng, self.windows, panes, keys=self.keys, drift=self.drift)

    def expected(self, window: int) -> list[Row]:
        """The one rule, without panes: sort what lies in the window."""
        span = self.windows.window(window)
        inside = (row for row in self.history if span.opens < row[1] <= span.closes)
        return best_first(inside)[: self.k]

    def same(self, clause: int, found: list[Row], right: list[Row], what: str) -> None:
        self.demand(clause, found == right, f"{what} is\n  {found}, not\n  {right}")

    def demand(self, clause: int, holds: bool, broken: str) -> None:
        assert holds, f"L{clause}: {broken}\n  ({self.case}, current window {self.current})"


def _sweep(each: CandidateList, arrivals: Arrivals, until: int) -> tuple[Items, IntArray, IntArray]:
    assert isinstance(each, Sweeps), "L8: lists of one maker must all sweep, or none"
    return each.sweep(arrivals, until)


class Scripted:
    """A source whose values are written down, on a clock that is moved by hand.

    Parameters
    ----------
    values
        Per key its value, or its values as pairs of (since when, value), in order of time. A key
        that is not there, or not yet, has no value.
    seconds_per_key
        What a fetch is said to take. Keys that the deadline leaves no time for fail.

    Attributes
    ----------
    now
        The time at which values are read. Move it at will.
    failing
        Keys that fail, as long as they are in it.
    calls
        The keys of each fetch, in order.

    Examples
    --------
    >>> source = Scripted({"a": [(0, 1.0), (10, 2.0)], "b": 5.0})
    >>> source.now = 10
    >>> source.failing.add("b")
    >>> got = source.fetch(np.array(["a", "b", "c"], object))
    >>> got.values.tolist(), got.ok.tolist()
    ([2.0, nan, nan], [True, False, True])
    >>> source.calls
    [['a', 'b', 'c']]
    """

    punctual = True

    def __init__(
        self,
        values: Mapping[Any, float | Sequence[tuple[Millis, float]]],
        *,
        seconds_per_key: float = 0.0,
    ) -> None:
        self.values = dict(values)
        self.seconds_per_key = seconds_per_key
        self.now: Millis = 0
        self.failing: set[Key] = set()
        self.calls: list[list[Key]] = []

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys`` at :attr:`now`."""
        asked = keys.tolist()
        self.calls.append(asked)
        ok = np.array([key not in self.failing for key in asked], bool)
        if deadline is not None and self.seconds_per_key > 0:
            ok[int(max(0.0, deadline) / self.seconds_per_key) :] = False
        values = np.array([self.value(key) for key in asked], np.float64)
        seconds = self.seconds_per_key * len(asked)
        seconds = seconds if deadline is None else min(seconds, max(0.0, deadline))
        return Fetched(np.where(ok, values, np.nan), ok, seconds)

    def value(self, key: Key, at: Millis | None = None) -> float:
        """The true value of a key at a time, by default now; NaN if it has none."""
        script = self.values.get(key, ())
        if isinstance(script, float | int):
            return float(script)
        now = self.now if at is None else at
        return next((value for since, value in reversed(script) if since <= now), float("nan"))

    def truth(self, keys: KeyArray) -> tuple[FloatArray, FloatArray]:
        """For policies that know the truth: values, and when each changes next (in ms)."""
        asked = keys.tolist()
        return (
            np.array([self.value(key) for key in asked], np.float64),
            np.array([self._next_change(key) for key in asked], np.float64),
        )

    @property
    def fetches(self) -> int:
        """How many keys were asked for."""
        return sum(map(len, self.calls))

    def _next_change(self, key: Key) -> float:
        script = self.values.get(key, ())
        moments = () if isinstance(script, float | int) else (since for since, _ in script)
        return min((since for since in moments if since > self.now), default=float("inf"))


def check_source(make: Callable[[], Source], keys: KeyArray, missing: KeyArray) -> None:
    """Run a source against its contract. Its values must not change meanwhile.

    Parameters
    ----------
    make
        Builds the source, not connected yet.
    keys
        At least two keys that have values.
    missing
        Keys without a value.

    Raises
    ------
    AssertionError
        Starting with the number of the clause that is broken.
    """
    source = make()
    whole = source.fetch(keys)
    _same_shape(whole, keys)
    assert whole.ok.all(), "F1: a key that has a value was not answered"
    assert np.isfinite(whole.values).all(), "F1: a key that has a value got none"
    for rows in (np.arange(len(keys))[::-1], np.array([1]), np.empty(0, np.int64)):
        part = source.fetch(keys[rows])
        _same_shape(part, keys[rows])
        right = np.array_equal(part.values, whole.values[rows])
        assert right, f"F1: {part.values} for {keys[rows]}, and {whole.values} for {keys}"
    _same_shape(source.fetch(missing), missing)
    mixed = source.fetch(np.concatenate([missing, keys]))
    assert np.array_equal(mixed.values[len(missing) :], whole.values), "F1: values moved"
    assert not np.isfinite(mixed.values[: len(missing)]).any(), "F1: a value from nowhere"
    for deadline in (0.0, 1e-9, 0.05):
        _on_time(source, keys, deadline)
    for copied in (pickle.loads(pickle.dumps(each)) for each in (make(), source)):  # noqa: S301
        again = copied.fetch(keys)
        assert np.array_equal(again.values, whole.values), "F3: a copy answers differently"


def _on_time(source: Source, keys: KeyArray, deadline: float) -> None:
    """F2, with much tolerance: what is checked is that a deadline is kept at all."""
    begun = time.monotonic()
    try:
        got = source.fetch(keys, deadline)
    except Exception as error:
        raise AssertionError(f"F2: {type(error).__name__} with a deadline of {deadline}") from error
    spent = time.monotonic() - begun
    _same_shape(got, keys)
    assert spent < deadline + _TOLERANCE, f"F2: {spent:.3f} seconds for a deadline of {deadline}"


def check_failing_source(make: Callable[[], Source], keys: KeyArray, deadline: float = 0.5) -> None:
    """Run a source against its contract whose remote side does not work, in whatever way.

    Parameters
    ----------
    make
        Builds a source whose service is down, hangs, or talks nonsense.
    keys
        Any keys.
    deadline
        How many seconds it may take.

    Raises
    ------
    AssertionError
        Starting with the number of the clause that is broken.

    Examples
    --------
    >>> class Down:
    ...     def fetch(self, keys, deadline=None):
    ...         raise OSError("no connection")
    >>> check_failing_source(Down, np.array([1, 2]))
    Traceback (most recent call last):
    ...
    AssertionError: F2: OSError with a deadline of 0.5
    """
    source = make()
    for _ in range(2):
        _on_time(source, keys, deadline)
        got = source.fetch(keys, deadline)
        assert not got.ok.any(), "F2: a key was answered by a service that does not work"
        told = set(got.problems())
        assert told <= set(get_args(Problem)), f"F2: {told} for problems"


def _same_shape(got: Fetched, keys: KeyArray) -> None:
    for name, column, dtype in (("values", got.values, np.float64), ("ok", got.ok, np.bool_)):
        assert column.shape == keys.shape, f"F1: {column.shape} {name} for {keys.shape} keys"
        assert column.dtype == dtype, f"F1: {name} of type {column.dtype}, not {dtype}"
    assert not np.isfinite(got.values[~got.ok]).any(), "F2: a key that failed has a value"
    assert got.seconds >= 0, f"F2: it took {got.seconds} seconds"


def check_policy(
    policy: str | Callable[[int], Policy],
    *,
    seeds: Iterable[int] = range(3),
    refresh_from: Iterable[Proposer] | None = None,
    steps: int = 15,
) -> None:
    """Run a policy against its contract, on seeded random workloads.

    Parameters
    ----------
    policy
        Its registry name, or what makes it from a seed.
    seeds
        One workload per seed and proposer.
    refresh_from
        Where to propose keys from: by default what the name says, or everywhere for a maker.
    steps
        How many windows to evaluate in each workload.

    Raises
    ------
    AssertionError
        Starting with the number of the clause that is broken.
    """
    named = isinstance(policy, str)
    places = refresh_from or ((None,) if named else ("candidates", "window", "replica"))
    for place in places:
        for seed in seeds:
            _PolicyTrial(policy, seed, place).run(steps)


class _PolicyTrial:
    """One workload, one policy in the loop, and twins that repeat each election."""

    def __init__(
        self, policy: str | Callable[[int], Policy], seed: int, place: Proposer | None
    ) -> None:
        self.policy = policy
        self.seed = seed
        self.rng = np.random.default_rng(seed)
        self.windows = tumbling("1 min") if seed % 3 == 2 else sliding("100 s", "60 s")
        names = np.arange(25)
        self.names = names.astype(str).astype(object) if seed % 2 else names
        self.settings = RefreshSettings(
            "remote",
            policy=policy if isinstance(policy, str) else "wbm",
            budget={"fetches": 3, "carry_over": seed % 2 == 1},  # type: ignore[arg-type]
            spare=4,
            refresh_from=place,
            limit=None if seed % 3 else 18,
            seed=seed,
        )
        self.knows = isinstance(policy, str) and resolve(policy)[0].needs_truth
        self.source = Scripted(self.script())
        self.loop = self.build(self.source)

    def script(self) -> dict[Key, list[tuple[Millis, float]]]:
        """Random values; some keys have none, or only later."""
        return {
            key: [
                (int(since), float(self.rng.normal()))
                for since in np.sort(self.rng.integers(0, 1_000_000, self.rng.integers(9)))
            ]
            for key in self.names.tolist()
        }

    def build(self, source: Scripted) -> Refresher:
        score = Formula("0.7 * stream + remote")
        loop = Refresher(self.settings, score, self.windows, 4, source, source.truth)
        if not isinstance(self.policy, str):
            loop._policy = self.policy(self.seed)
        self.watch(loop._policy, source)
        return loop

    def run(self, steps: int) -> None:
        for window in range(steps):
            view = self.view(window)
            table, meta = self.loop.snapshot()
            twins = []
            for values in (self.source.values, {} if self.knows else self.script()):
                source = Scripted(self.source.values if self.knows else values)
                source.now, source.failing = view.closes, self.source.failing
                twin = self.build(source)
                twin.restore(table, meta)
                twins.append(twin.refresh(view).fetched.tolist())
            ranking = self.evaluated(view)
            self.demand(2, ranking.fetched.tolist() == twins[0], "a restart elects other keys")
            self.demand(3, ranking.fetched.tolist() == twins[1], "other keys for other true values")

    def view(self, window: int) -> WindowView:
        present = np.flatnonzero(self.rng.random(len(self.names)) < 0.5)
        closes = self.windows.window(window).closes
        self.source.failing = set(self.rng.choice(self.names, 3).tolist())
        return WindowView(
            window,
            closes,
            self.names[present],
            {"stream": self.rng.integers(0, 3, len(present)).astype(np.float64)},
            closes - self.rng.integers(0, self.windows.width, len(present)),
        )

    def evaluated(self, view: WindowView) -> Ranking:
        self.source.now = view.closes
        before = self.source.fetches
        ranking = self.loop.refresh(view)
        self.demand(3, self.source.fetches - before == len(ranking.fetched), "more was fetched")
        return ranking

    def watch(self, policy: Policy, source: Scripted) -> None:
        """Look at each election from outside."""
        rank = policy.rank

        def watched(proposal: Proposal) -> IntArray:
            columns = _columns(proposal)
            before = {name: column.copy() for name, column in columns.items()}
            calls = len(source.calls)
            found = rank(proposal)
            self.demand(1, found.dtype.kind == "i" and found.ndim == 1, f"{found} are no rows")
            self.demand(1, len(np.unique(found)) == len(found), f"a row twice: {found}")
            inside: BoolArray = (found >= 0) & (found < len(proposal))
            self.demand(1, bool(inside.all()), f"not of {len(proposal)} rows: {found}")
            self.demand(2, np.array_equal(rank(proposal), found), "asked again, it ranks anew")
            self.demand(3, len(source.calls) == calls, "it fetched")
            for name, column in before.items():
                same = np.array_equal(column, columns[name], equal_nan=column.dtype.kind == "f")
                self.demand(3, same, f"it wrote {name}")
            return found

        setattr(policy, "rank", watched)  # noqa: B010  for the type checker

    def demand(self, clause: int, holds: bool, broken: str) -> None:
        assert holds, f"P{clause}: {broken}\n  ({self.settings}, {self.windows})"


def _columns(proposal: Proposal) -> dict[str, Any]:
    every = {field.name: getattr(proposal, field.name) for field in fields(proposal)}
    return {name: each for name, each in every.items() if isinstance(each, np.ndarray)}
