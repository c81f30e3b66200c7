"""How often a service lets itself be asked."""

from __future__ import annotations

import numpy as np
import pytest

from topwater_lab.services.request_gate import Gate


@pytest.mark.parametrize(("rate", "burst"), [(10.0, 1), (100.0, 10), (3.0, 3)])
def test_a_gate_lets_no_more_pass_than_it_says(rate: float, burst: int) -> None:
    gate, rng = Gate(rate, burst), np.random.default_rng(7)
    times = np.sort(rng.uniform(0, 20, 5_000))
    passed = [at for at in times.tolist() if gate.wait(at) == 0]
    assert len(passed) == pytest.approx(20 * rate, rel=0.1, abs=burst + 1)
    for first in range(len(passed)):
        within = np.searchsorted(passed, passed[first] + 1.0) - first
        assert within <= rate + burst
    assert gate.peak <= rate + burst
    at = times.tolist()[-1] + 1e-6
    early = gate.wait(at)
    assert early == 0.0 or gate.wait(at + early) == 0.0
