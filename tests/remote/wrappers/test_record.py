"""What was recorded can be replayed."""

from __future__ import annotations

import json
import pickle
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.support.troubled import Acting
from topwater.errors import QueryError
from topwater.model import Answer
from topwater.monitor import TopKMonitor
from topwater.query import TopKQuery
from topwater.remote import Recording, Replay, recorded
from topwater.testing import Scripted, check_source
from topwater.windows import sliding

if TYPE_CHECKING:
    from pathlib import Path

    from topwater.protocols import Source


def test_it_keeps_the_contract(tmp_path: Path) -> None:
    check_source(
        lambda: Recording(Scripted({1: 1.0, 2: 2.0}), tmp_path / "log"),
        np.array([1, 2]),
        np.array([7]),
    )


def answers(source: Source) -> list[Answer]:
    query = TopKQuery(
        key="who",
        time="at",
        window=sliding("100 s", "60 s"),
        take={"n": "count"},
        score="n + far",
        k=2,
        refresh={"remote": "far", "budget": 2},
    )
    monitor = TopKMonitor.build(query, source=source)
    rng = np.random.default_rng(7)
    times = np.sort(rng.integers(1, 600_000, size=300))
    monitor.ingest({"who": rng.integers(1, 6, size=300), "at": times})
    return monitor.flush()


class Clocked(Scripted):
    def seek(self, now: int) -> None:
        self.now = now


def test_a_replay_gives_the_same_answers(tmp_path: Path) -> None:
    path = tmp_path / "log"
    script = {key: [(at, float(key * at)) for at in range(0, 700_000, 50_000)] for key in range(7)}
    live = answers(Recording(Clocked(script), path))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["at"] for line in lines] == [answer.window.end for answer in live]
    again = answers(Replay(recorded(path)))
    assert [answer.rows for answer in again] == [answer.rows for answer in live]


def test_failures_and_unknown_keys_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "log"
    source = Scripted({"a": 1.0})
    source.failing.add("bad")
    recording = Recording(source, path)
    recording.seek(5)
    recording.fetch(np.array(["a", "b", "bad"], object))
    (line,) = [json.loads(text) for text in path.read_text().splitlines()]
    assert line["values"] == [1.0, None, None]
    assert line["why"] == ["", "", "broken"]
    steps = recorded(path)
    assert steps.distinct.tolist() == ["a", "b"]
    replay = Replay(steps)
    replay.seek(5)
    assert replay.fetch(np.array(["a", "b"], object)).values.tolist()[0] == 1.0


def test_several_values_are_replayed_under_their_names(tmp_path: Path) -> None:
    path = tmp_path / "log"
    script = {
        "a": {"price": [(0, 1.0), (10, 2.0)], "title": [(0, "old"), (10, "new")]},
        "b": {"price": 5.0},
    }
    source = Scripted(script)
    source.failing.add("bad")
    recording = Recording(source, path)
    keys = np.array(["a", "b", "bad"], object)
    for now in (5, 15):
        source.now = now
        recording.seek(now)
        recording.fetch(keys)
    source.failing.update("ab")
    recording.fetch(keys)
    replay = Replay(recorded(path))
    assert (replay.names, replay.text_names) == (("price", "title"), ("title",))
    told = []
    for now in (5, 15):
        replay.seek(now)
        got = replay.fetch(keys[:2])
        told.append((got.values.tolist(), got.texts("title").tolist()))
    assert told == [([1.0, 5.0], ["old", None]), ([2.0, 5.0], ["new", None])]
    check_source(lambda: Replay(recorded(path)), keys[:2], np.empty(0, object))


def test_lines_of_many_writers_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "log"
    writers = [Recording(Acting(), path) for _ in range(4)]

    def write(each: Recording) -> None:
        for _ in range(50):
            each.fetch(np.arange(200))

    threads = [threading.Thread(target=write, args=(each,)) for each in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    lines = path.read_text().splitlines()
    assert len(lines) == 200
    assert all(len(json.loads(line)["keys"]) == 200 for line in lines)


@pytest.mark.parametrize(
    "text",
    ["", "nonsense", '{"at": 1}', '{"at": 1, "keys": [1], "values": []}', "[]", "[" * 10_000],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(QueryError, match="path"):
        recorded(path)


def test_pickles(tmp_path: Path) -> None:
    copied = pickle.loads(pickle.dumps(Recording(Acting(), tmp_path / "log")))  # noqa: S301
    copied.fetch(np.array([1]))
    assert recorded(tmp_path / "log").values.tolist() == [10.0]
