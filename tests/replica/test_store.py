"""The replica: slots, what a fetch writes, what goes beyond the limit, and restarts."""

from __future__ import annotations

import numpy as np

from topwater.replica.store import NEVER, Replica


def test_slots_are_given_again_without_what_was_in_them() -> None:
    replica = Replica(limit=2)
    slots = replica.slots(np.array([1, 2, 3]))
    replica.put(slots, np.array([1.0, 2.0, 3.0]), at=5)
    replica.miss(slots, at=6)
    replica.present(slots, 0, 5)
    gone = replica.surplus(keep=slots[2:])
    assert gone.tolist() == slots[:1].tolist()
    replica.forget(gone)
    (again,) = replica.slots(np.array([9]))
    assert again == gone[0]
    assert not replica.known(np.array([again]))[0]
    assert (replica.asked[again], replica.vain[again], replica.window[again]) == (NEVER, 0, -1)
