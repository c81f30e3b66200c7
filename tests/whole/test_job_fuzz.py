"""Mutated job files and settings: each is read or refused with a fix, soon, and nothing else."""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from tests.support.job_mutants import corpus, prepare, tried
from topwater.jobs import read_job


def test_the_jobs_themselves_are_read(tmp_path: Path) -> None:
    prepare(tmp_path)
    for job in corpus():
        path = tmp_path / f"job.{job.ending}"
        path.write_text(job.text)
        assert read_job(path).query.k


def test_mutated_jobs_are_read_or_refused(tmp_path: Path) -> None:
    prepare(tmp_path)
    outcome, _, wrong = tried(tmp_path, seed=0, count=400)
    assert not wrong, "\n".join(wrong[:3])
    assert outcome["refused"] > 100
    assert outcome["read"] > 20


@pytest.mark.soak
@pytest.mark.timeout(7_200)
def test_a_hundred_thousand_mutated_jobs_are_read_or_refused(tmp_path: Path) -> None:
    folders = [tmp_path / str(seed) for seed in range(1, 201)]
    for folder in folders:
        folder.mkdir()
        prepare(folder)
    with ProcessPoolExecutor(os.cpu_count()) as workers:
        found = list(workers.map(tried, folders, range(1, 201), [500] * 200))
    outcome = sum((each for each, _, _ in found), Counter[str]())
    wrong = [each for _, _, part in found for each in part]
    print(f"{outcome}, the longest in {max(longest for _, longest, _ in found):.2f} s")
    assert not wrong, "\n".join(wrong[:3])
    assert outcome.total() == 100_000
