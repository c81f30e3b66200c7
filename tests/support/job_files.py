"""A small job in a file, with more or other settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topwater.jobs import Job, read_job

if TYPE_CHECKING:
    from pathlib import Path

TOML = """\
[query]
key = "user"
time = "at"
window = "9 min every 3 min"
take = {n = "count"}
score = "n"
k = 3

[stream]
kind = "files"
path = "in"
schema = "user string, at timestamp"
"""


def job(folder: Path, more: str = "", *settings: str) -> Job:
    """The job, written into a folder and read from there."""
    (folder / "in").mkdir(exist_ok=True)
    (folder / "job.toml").write_text(TOML + more)
    return read_job(folder / "job.toml", settings=settings)
