"""One ranking's replica and all that works on it, for tests of each part by itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from topwater.replica import Refresher, RefreshSettings, WindowView
from topwater.scoring import Formula
from topwater.testing import Scripted
from topwater.windows import sliding

MINUTE = 60_000


def refresher_of(script: Any = None, *, k: int = 2, **settings: Any) -> Refresher:
    """Over 100 s every minute; the score is the stream's value plus the remote one."""
    chosen = RefreshSettings("remote", **({"budget": 3, "spare": 1} | settings))
    source = Scripted(script or {})
    windows = sliding("100 s", "60 s")
    return Refresher(chosen, Formula("stream + remote"), windows, k, source, source.truth)


def view_of(window: int, keys: Any, stream: Any = None, last_event: Any = None) -> WindowView:
    """A window that closes at the end of a minute; by default all keys spoke just then."""
    closes = (window + 1) * MINUTE
    keys = np.array(keys)
    values = np.zeros(len(keys)) if stream is None else np.array(stream, np.float64)
    spoke = np.full(len(keys), closes) if last_event is None else np.array(last_event)
    return WindowView(window, closes, keys, {"stream": values}, spoke)
