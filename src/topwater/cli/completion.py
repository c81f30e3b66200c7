"""What the shell offers when the user presses Tab. What it needs is loaded only then."""

from __future__ import annotations

from pathlib import Path

ENDINGS = (".rq", ".toml", ".yaml", ".yml")


def job_files(incomplete: str) -> list[str]:
    """Files that may be jobs, and the folders on the way to them."""
    typed = Path(incomplete)
    folder = typed if incomplete.endswith("/") else typed.parent
    start = "" if incomplete.endswith("/") else typed.name
    if not folder.is_dir():
        return []
    shown = "" if folder == Path() else f"{folder}/"
    found = [each for each in sorted(folder.iterdir()) if each.name.startswith(start)]
    return [
        f"{shown}{each.name}{'/' if each.is_dir() else ''}"
        for each in found
        if (each.is_dir() and not each.name.startswith(".")) or each.suffix in ENDINGS
    ]


def policies(incomplete: str) -> list[tuple[str, str]]:
    """Policies by name, with what they do."""
    from topwater.replica.policies import rankers

    usable = [name for name in rankers if not rankers[name].needs_truth]
    return [(name, rankers.summary(name)) for name in usable if name.startswith(incomplete)]


def settings(incomplete: str) -> list[str]:
    """Settings of a job, and the names of lists and policies."""
    from dataclasses import fields

    from topwater.candidates import lists
    from topwater.jobs.run_settings import LiveSettings, SparkSettings
    from topwater.jobs.sinks import SETTINGS
    from topwater.query import TopKQuery
    from topwater.replica import RefreshSettings

    tables = {
        "query": TopKQuery,
        "query.refresh": RefreshSettings,
        "spark": SparkSettings,
        "live": LiveSettings,
    }
    names = [f"{table}.{each.name}=" for table, made in tables.items() for each in fields(made)]
    names += [f"sink.{name}=" for name in SETTINGS]
    names += [f"query.list={name}" for name in lists]
    names += [f"query.refresh.policy={name}" for name, _ in policies("")]
    return [name for name in names if name.startswith(incomplete)]
