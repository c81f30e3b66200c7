"""The contract of policies: a sound one passes, broken ones are told which clause they break."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from topwater.model import IntArray
from topwater.replica.policies import LeastRecent
from topwater.replica.proposals import Proposal
from topwater.testing import check_policy


def test_contract_of_a_policy_of_ones_own() -> None:
    check_policy(LeastRecent, seeds=range(1))


class Twice(LeastRecent):
    def rank(self, proposal: Proposal) -> IntArray:
        return np.repeat(super().rank(proposal), 2)


class Fickle(LeastRecent):
    turns = 0

    def rank(self, proposal: Proposal) -> IntArray:
        Fickle.turns += 1
        return np.roll(super().rank(proposal), Fickle.turns)


class Scribbler(LeastRecent):
    def rank(self, proposal: Proposal) -> IntArray:
        proposal.value[:] = 0.0
        return super().rank(proposal)


class Peeker(LeastRecent):
    def rank(self, proposal: Proposal) -> IntArray:
        assert proposal.truth is not None
        return np.argsort(proposal.truth(proposal.keys)[0])


class ByHistory(LeastRecent):
    """It counts its elections, and forgets the count at a restart."""

    seen = -1

    def rank(self, proposal: Proposal) -> IntArray:
        self.seen = max(self.seen + (proposal.window != self.seen), 0)
        return np.roll(super().rank(proposal), self.seen)


@pytest.mark.parametrize(
    ("broken", "clause"),
    [(Twice, "P1"), (Fickle, "P2"), (ByHistory, "P2"), (Scribbler, "P3"), (Peeker, "P3")],
)
def test_the_check_finds_what_is_broken(broken: Any, clause: str) -> None:
    with pytest.raises(AssertionError, match=clause):
        check_policy(broken, seeds=range(2))
