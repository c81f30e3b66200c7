"""The demo, played in one process: its scene, its answers, and what is found in them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from topwater.local import run as run_locally
from topwater.model import Answer
from topwater_lab.demo.contenders import Field, field_of, rungs
from topwater_lab.demo.findings import Report, made
from topwater_lab.demo.scene import Scene


@cache
def played(windows: int = 25, seed: int = 3) -> tuple[Scene, list[Answer], Field]:
    here = Scene(windows=windows, seed=seed)
    found = [
        answer
        for answer in run_locally(here.query(), here.batches(), source=here.source())
        if answer.window.index < windows
    ]
    return here, found, field_of(here)


@cache
def reported() -> Report:
    here, found, others = played()
    climbed = [rung for budget in (2, 7, 20) for rung in rungs(here, others, budget)]
    return replace(made(here, found, others, climbed), seconds={"stream": 12.3})
