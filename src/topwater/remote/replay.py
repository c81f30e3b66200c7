"""A source that replays a recorded remote side; time moves only by a call.

For experiments, demonstrations and tests: the loop tells it the time of each evaluation, so the
same stream gives the same answers on every host, and after every restart.
"""

from __future__ import annotations

import numpy as np

from topwater.model import Fetched, FloatArray, KeyArray, Millis
from topwater.remote.known_changes import Steps


class Replay:
    """Answers with the values just before ``now``, and remembers what it was asked.

    Parameters
    ----------
    remote
        The truth over time.

    Attributes
    ----------
    now
        The time of the evaluation; the loop sets it.
    asked
        The keys of each call since the source was made.

    Examples
    --------
    >>> replay = Replay(Steps.of(np.array([0, 60]), np.array([7, 7]), np.array([1.0, 3.0])))
    >>> replay.now = 61
    >>> replay.fetch(np.array([7])).values.tolist(), replay.fetches
    ([3.0], 1)
    """

    def __init__(self, remote: Steps) -> None:
        self._remote = remote
        self.now: Millis = 0
        self.asked: list[KeyArray] = []

    @property
    def names(self) -> tuple[str, ...]:
        """What its values are called, if there are several."""
        return tuple(self._remote.columns)

    @property
    def text_names(self) -> tuple[str, ...]:
        """Those that are texts."""
        columns = self._remote.columns
        return tuple(name for name in columns if columns[name].dtype == object)

    @property
    def key_kind(self) -> str | None:
        """Whether its keys are whole numbers; of others nothing is said."""
        return "number" if self._remote.keys.dtype.kind in "iu" else None

    @property
    def fetches(self) -> int:
        """How many keys were asked for, all in all."""
        return sum(len(keys) for keys in self.asked)

    def seek(self, now: Millis) -> None:
        """Answer as of ``now`` from here on."""
        self.now = now

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:  # noqa: ARG002
        """The values of ``keys`` now. It never fails and is never late."""
        self.asked.append(np.array(keys))
        rows = self._remote.newest(keys, self.now)
        columns = {name: column[rows] for name, column in self._remote.columns.items()}
        values = np.asarray(self._remote.values[rows])
        return Fetched(values, np.ones(len(keys), bool), columns=columns)

    def truth(self, keys: KeyArray) -> tuple[FloatArray, FloatArray]:
        """For the policies that know the truth: the values now, and when they change next."""
        return self._remote.at(keys, self.now), self._remote.changes_after(keys, self.now)
