"""Whether the state stays small over a long run."""

from __future__ import annotations

from topwater_lab.bench.spark_latency import steadiness
from topwater_lab.bench.spark_runs import Ran


def test_the_state_of_a_long_run_is_compared_by_thirds() -> None:
    ran = Ran(1.0, [], written=[0] * 10 + [6] * 5 + [9] * 5 + [3] * 5, memory=[1] * 25)
    found = steadiness(ran)
    assert (found.written_bytes_first, found.written_bytes_last) == (6.0, 3.0)
