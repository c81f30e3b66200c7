"""What the demo says, word by word, of figures that are made up."""

from __future__ import annotations

from dataclasses import replace

from topwater_lab.demo.contenders import TABLE, Contender, Field, Rung, Verdict
from topwater_lab.demo.findings import LookedUp, Report
from topwater_lab.demo.scene import Scene, Traffic
from topwater_lab.demo.sentences import closing, needs, paid, times, traffic


def contender(name: str, right: float, fetched: int) -> Contender:
    return Contender(name, (Verdict((1,), right, right, fetched),))


OTHERS = Field((), (), contender(TABLE, 0.25, 0), contender("at-asm", 1.0, 99))
REPORT = Report(Scene(windows=1), (), contender("worth", 0.5, 7), OTHERS)


def test_what_others_need_or_do_not_reach() -> None:
    cheap, dear = contender("ttl:5 min", 0.5, 9), contender("ttl:1 min", 0.75, 24)
    climbed = (Rung("cache", 24, dear), Rung("cache", 10, cheap))
    spent = "For what worth has with 7.0 look-ups a window"
    assert needs(replace(REPORT, rungs=climbed)) == [
        f"{spent}, a TTL cache needs 9.0 for its nDCG of 0.500 (TTL 5 min) and needs 9.0 for its "
        "precision of 0.500 (TTL 5 min).",
        f"{spent}, the best published policy does not reach its nDCG of 0.500 with up to 24 and "
        "does not reach its precision of 0.500 with up to 24.",
    ]
    assert "with up to 7 and" in needs(REPORT)[0], "if none was tried, the budget of the demo"


def test_the_traffic_is_what_the_service_counted() -> None:
    found = replace(REPORT, looked_up=LookedUp(keys=21, lost=1))
    assert traffic(found) == "21 look-ups without a service; 1 was lost."
    found = replace(found, traffic=Traffic(40, 20, 2, 38, 80, 31))
    assert traffic(found) == (
        "21 look-ups in 20 requests over HTTP; 1 was lost, 2 were refused: at most 38 within a "
        "second, where the service allows 40. Asked 80 times without waiting, it refused 31."
    )


def test_what_the_look_ups_brought() -> None:
    brought = LookedUp(7, 4, 2, 1, 0, windows=1, better=1, worse=0, without=0.25)
    assert paid(replace(REPORT, looked_up=brought)) == (
        "7 look-ups: 4 of users never asked for before, 2 that found another value, 1 that "
        "confirmed the one known, 0 lost. In 1 of 1 windows they made the answer better, in 0 "
        "worse. Had no window used its own, nDCG would have been 0.250 instead of 0.500."
    )


def test_times_are_told_if_there_are_any() -> None:
    assert times(REPORT) == ""
    assert times(replace(REPORT, seconds={"Spark": 4.25, "stream": 11.0})) == (
        "Time: Spark 4.2 s, stream 11.0 s."
    )


def test_the_end_says_whether_windows_differ() -> None:
    assert "0 windows on Spark, all equal to the same query in process: yes." in closing(REPORT)
    assert closing(replace(REPORT, differing=3))[-2].endswith("no, 3 differ.")
