"""The contract of sources: sound ones pass, broken ones are told which clause they break."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from topwater.testing import Scripted, check_source


class Unordered(Scripted):
    def fetch(self, keys: Any, deadline: float | None = None) -> Any:
        return super().fetch(np.sort(keys), deadline)


def test_the_check_of_sources_finds_what_is_broken() -> None:
    keys, missing = np.array(["a", "b"], object), np.array(["x"], object)
    with pytest.raises(AssertionError, match="F1"):
        check_source(lambda: Unordered({"a": 1.0, "b": 2.0}), keys, missing)
    with pytest.raises(AssertionError, match="F1"):
        check_source(lambda: Scripted({"a": 1.0}), keys, missing)
