"""How standing queries are run: the settings, and the algorithms by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from topwater.candidates.published.criterion import limit
from topwater.errors import QueryError
from topwater.protocols import Registry
from topwater.standing.block_index import BlockIndex, Indexed
from topwater.standing.composition import Composition, Rule
from topwater.standing.engines import Engine
from topwater.standing.skybands import Skybands
from topwater.validation import number_of, shown, unknown, whole_of


@dataclass(frozen=True, slots=True)
class Settings:
    """How standing queries are run. See ``Standing`` for what each means."""

    columns: Sequence[str]
    algorithm: str = "rapf"
    buffer: int | None = None
    sigma: float = 1e-3
    gamma: float = 0.2
    additional: int = 10
    indexed: Indexed = "auto"
    cells: int | None = None

    def __post_init__(self) -> None:
        given: object = self.columns
        columns = tuple(given) if isinstance(given, list | tuple) else ()
        texts = all(isinstance(name, str) for name in columns)
        if not columns or not texts or len({*columns}) < len(columns):
            raise QueryError(
                f"{shown(given)} are not columns",
                field="columns",
                fix="name each attribute of the objects once",
            )
        object.__setattr__(self, "columns", columns)
        taken = {"time", "key"} & {*columns}
        if taken:
            raise QueryError(
                f"{sorted(taken)[0]!r} is a reserved name",
                field="columns",
                fix="name only the attributes; rename that one",
            )
        algorithms[self.algorithm]
        number_of(self.sigma, "sigma", least=0, fix="0.001 is a good number")
        limit(1, 2, self.sigma)
        fix = "0.2 lets the candidates grow by a fifth"
        number_of(self.gamma, "gamma", least=0, fix=fix)
        whole_of(self.additional, "additional", 0, fix="10 is a good number")
        if self.cells is not None:
            fix = "leave it out for a grid that fits the dimensions"
            whole_of(self.cells, "cells", 2, fix=fix)
        if not isinstance(self.indexed, bool) and str(self.indexed) != "auto":
            raise unknown(self.indexed, ("auto", "True", "False"), "indexed")
        if self.buffer is not None:
            whole_of(self.buffer, "buffer", 1, fix="leave it out for the largest exact one")


EngineMaker = Callable[[Settings, bool], Engine]
algorithms: Registry[EngineMaker] = Registry(
    "algorithm", group="topwater.algorithms", in_lab=("cpm/w", "snn")
)


def _composed(band: Rule, filter_: Rule | None, *, watched: bool = False) -> EngineMaker:
    def make(settings: Settings, timed: bool) -> Engine:
        made = Composition(
            band,
            filter_,
            settings.buffer,
            settings.sigma,
            settings.additional,
            settings.gamma,
            watched,
        )
        index = BlockIndex(len(settings.columns), settings.indexed, settings.cells)
        return Skybands(made, index, timed=timed)

    return make


_BANDS: dict[str, tuple[Rule, str]] = {
    "s": ("strict", "a strict skyband"),
    "r": ("relaxed", "a relaxed skyband"),
}
_FILTERS: dict[str, tuple[Rule | None, str]] = {
    "": (None, ""),
    "sf": ("strict", " behind a strict filter"),
    "rf": ("relaxed", " behind a relaxed filter"),
    "pf": ("probabilistic", " behind a probabilistic filter"),
}
for _band, (_rule, _what) in _BANDS.items():
    for _filter, (_before, _by) in _FILTERS.items():
        algorithms.add(f"{_band}a{_filter}", _composed(_rule, _before), f"{_what}{_by}; exact")
algorithms.add("pa", _composed("probabilistic", None), "a probabilistic skyband; may err")
algorithms.add(
    "auto",
    _composed("probabilistic", "probabilistic", watched=True),
    "a probabilistic skyband while it can't be wrong, else a filtered one; exact",
)
