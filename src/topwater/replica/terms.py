"""The terms of a ranking: what is ranked, and how its remote side is kept fresh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from topwater.model import FloatArray
from topwater.replica.refresh_settings import RefreshSettings
from topwater.scoring import Score
from topwater.windows import Windows


@dataclass(frozen=True, slots=True)
class Terms:
    """What is ranked, and how its remote side is kept fresh.

    Attributes
    ----------
    settings
        Policy, budget and the rest.
    score
        Of stream values and the remote value, together.
    windows, k
        Of the query.
    """

    settings: RefreshSettings
    score: Score
    windows: Windows
    k: int

    def scores(self, values: Mapping[str, FloatArray], remote: FloatArray) -> FloatArray:
        """The scores of some keys, larger ones better, from both sides' values."""
        return self.score.rank_scores({**values, self.settings.remote: remote})

    def bounds(
        self, values: Mapping[str, FloatArray], low: FloatArray, high: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest of such scores, for remote values between these."""
        return self.score.rank_bounds(values, {self.settings.remote: (low, high)})
