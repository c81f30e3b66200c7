"""Stage 2 with faults: at a word from outside it dies, or damages its state, when all is done."""

from __future__ import annotations

import os
import signal
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle

from topwater.spark.processor import MonitorProcessor, ShardJournal

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest
    from pyspark.sql import Row

    from topwater.monitor.journal import Journal

# Spark's workers can't import this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

FAULTS = ("kill", "damage")


class Faulty(MonitorProcessor):
    """Does what the names of files say, each once, after all else is done.

    Parameters
    ----------
    words
        The folder with these files: one of FAULTS. It also gets ``worker-PID`` for each worker
        that keeps a monitor, and ``caught-…`` whenever one that was kept is not believed.
    """

    def __init__(self, words: str, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._words = words

    def handleInputRows(self, *given: Any) -> Iterator[Row]:
        found = list(super().handleInputRows(*given))
        words = Path(self._words)
        (words / f"worker-{os.getpid()}").touch()
        for fault in FAULTS:
            if claimed(words / fault):
                self._do(fault)
        return iter(found)

    def _do(self, fault: str) -> None:
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        else:
            self._damage()

    def _damage(self) -> None:
        """Change a byte of a chunk of the state, which is small: its chunks are beside the head."""
        value = self._state.get()
        assert value is not None
        self._state.update((bytes(value[0])[:-1] + b"!", *value[1:]))

    def _journal(self, shard: int) -> ShardJournal:
        had = (self._run, shard) in kept()
        own = super()._journal(shard)
        if had and own.how == "rebuilt":
            (Path(self._words) / f"caught-{time.time_ns()}").touch()
        return own


def kept() -> dict[tuple[str, int], Journal[Any]]:
    """The monitors that this worker has kept."""
    # Imported here: what this module has is sent to the workers as a copy.
    from topwater.spark.monitor_cache import CACHE

    return CACHE._kept


def claimed(word: Path) -> bool:
    """Whether this process is the one that took a word away."""
    try:
        word.unlink()
    except FileNotFoundError:
        return False
    return True


def install(words: Path, patch: pytest.MonkeyPatch) -> None:
    """Let ``topk`` use it, as long as the patch holds."""
    words.mkdir()

    def made(*args: Any, **settings: Any) -> Faulty:
        return Faulty(str(words), *args, **settings)

    # The package has a function of the module's name.
    patch.setattr(import_module("topwater.spark.topk"), MonitorProcessor.__name__, made)
