"""A checkpoint for another number of shards, or for a query with other settings.

::

    checkpoint ──► journals ──► journals of as many shards as are wanted ──► state, by Spark itself
         │                                                                        │
         └──► offsets, commits, sources ──► checkpoint.rescaling ◄────────────────┘
                                                 │  exchanged at once
                                            checkpoint, and checkpoint.with-4-shards

The new checkpoint is made beside the old one and takes its place when it is complete, so a command
that is killed leaves one of them. Micro-batches keep their numbers: a sink sees no difference.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from topwater.errors import AFRESH, StateError
from topwater.monitor.shard_division import rescale as rescale_journals
from topwater.monitor.shards import divided_among, require_buckets
from topwater.query import TopKQuery
from topwater.spark import folders
from topwater.spark.checkpoint_journals import Stored, StoredQuery, read_journals
from topwater.spark.checkpoint_plan import CheckpointPlan, Wanted, changes, query_of
from topwater.spark.folders import names_in, require_java
from topwater.spark.processor import STATE as MONITOR
from topwater.spark.standing_processor import STATE as STANDING
from topwater.spark.state import checked, has_state
from topwater.spark.state_writer import ShardJournals, StoredValue, write_state
from topwater.validation import checked_call, whole_of
from topwater.validation.checkpoints import last_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

_PARTITIONS = "spark.sql.shuffle.partitions"
_STORE = "spark.sql.streaming.stateStore"
_SETTINGS = {
    f"{_STORE}.checkpointFormatVersion": "1",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
_STATE, _WORK = "state", "_work"
_WRITTEN = ("1.zip", "2.changelog")  # see write_state()
_log = logging.getLogger("topwater")


class Rescaled(NamedTuple):
    """What was done to a checkpoint.

    Attributes
    ----------
    before, shards
        How many shards there were, and how many there are now.
    kept
        Where the checkpoint is as it was before.
    """

    before: int
    shards: int
    kept: str


@checked_call()
def rescale(
    spark: SparkSession,
    checkpoint: str | Path,
    shards: int,
    *,
    partitions: int | None = None,
    query: TopKQuery | None = None,
    name: str = "",
) -> Rescaled | None:
    """Let the query of a checkpoint go on with another number of shards, and forget nothing.

    The query must have been stopped. :func:`topwater.spark.start` does this by itself.

    Parameters
    ----------
    spark
        A session; see :func:`topwater.spark.settings`.
    checkpoint
        The folder that the query has as its ``checkpointLocation``.
    shards
        How many it is to have.
    partitions
        How many tasks its stateful stages are to have. By default as many as shards, if that was so
        before; otherwise as many as before.
    query
        The query, if it is to go on with other settings: see :mod:`topwater.query.identity`.
    name
        Of the ranking, where the query has several. The others stay as they are.

    Returns
    -------
    Rescaled or None
        What was done; None if there was nothing to do.

    Raises
    ------
    StateError
        If there is no state of a top-k query in it, or one that can't be changed so.
    EnvironmentProblem
        Over Spark Connect, from where the files of a checkpoint can't be changed.
    """
    whole_of(shards, "shards", 1, fix="give the number of shards that the query is to have")
    require_buckets(shards)
    folder = str(checkpoint)
    require_java(spark, f"{folder} can't be rewritten for other shards or settings")
    finish(spark, folder)
    stored = _read(spark, folder)
    at = _place_of(stored, name, folder)
    ranking = stored.rankings[at]
    before = query_of(ranking)
    query = query or before
    as_before = ranking.shards in (0, shards) and partitions in (None, stored.partitions)
    if query is None or (as_before and query == before):
        return None
    if divided_among(query, shards) < shards:
        raise StateError(
            "several remote values with one budget are ranked in one place",
            fix="leave the state as it is: more shards would not share the work",
        )
    wanted: list[Wanted | None] = [None] * len(stored.rankings)
    wanted[at] = Wanted(query, shards)
    kept = _rewrite(spark, folder, stored, wanted, partitions)
    return Rescaled(ranking.shards, shards, kept)


def take_over(
    spark: SparkSession,
    checkpoint: str,
    wanted: Sequence[Wanted | None],
    *,
    joint: Sequence[bool],
    partitions: int | None = None,
) -> None:
    """Let the rankings of a query go on with other shards and settings: :func:`rescale` for each.

    Parameters
    ----------
    spark, checkpoint, partitions
        As for :func:`rescale`.
    wanted
        For each ranking, in the order of the plan; None for one that stays as it is.
    joint
        Whether each of them has a stage for the ranking of all shards now.
    """
    require_java(spark, f"{checkpoint} can't be rewritten for other shards or settings")
    stored = _read(spark, checkpoint, joint)
    _rewrite(spark, checkpoint, stored, wanted, partitions)


def _rewrite(
    spark: SparkSession,
    folder: str,
    stored: StoredQuery,
    wanted: Sequence[Wanted | None],
    partitions: int | None,
) -> str:
    """Put a new checkpoint in the place of the old one; where that is kept."""
    done = last_number(names_in(spark, f"{folder}/commits"))
    plan = CheckpointPlan(stored, wanted, partitions)
    made = _made(spark, folder, stored, plan)
    if last_number(names_in(spark, f"{folder}/commits")) != done:
        folders.remove(spark, made)
        raise StateError(f"the query of {folder} is running", fix="stop it, and change it then")
    different = changes(stored, wanted)
    what = "; ".join(different) or f"tasks: {stored.partitions} → {plan.tasks}"
    ending = "as-it-was"
    if len(stored.rankings) == 1 and different and different[0].startswith("shards: "):
        ending = f"with-{stored.rankings[0].shards}-shards"
    kept = _swap(spark, folder, made, ending)
    _log.warning("%s goes on with %s; as it was, it is kept in %s", folder, what, kept)
    return kept


def _place_of(stored: StoredQuery, name: str, folder: str) -> int:
    """Which of the rankings has this name."""
    names = [each.name for each in stored.rankings]
    if len(names) == 1 and name in ("", names[0]):
        return 0
    if name and names.count(name) == 1:
        return names.index(name)
    there = ", ".join(each or "one without a name" for each in names)
    raise StateError(
        f"{folder} has the rankings: {there}",
        fix="name one of them; start() takes other settings over for those without a name",
    )


def finish(spark: SparkSession, checkpoint: str) -> None:
    """Put a new checkpoint in its place, if a run was stopped just before doing so."""
    made = _beside(checkpoint)
    # The usual case first: over Spark Connect a folder that is there is listed as a whole.
    if folders.is_there(spark, made) and not folders.is_there(spark, checkpoint):
        folders.move(spark, made, checkpoint)


def _beside(checkpoint: str) -> str:
    return f"{checkpoint.rstrip('/')}.rescaling"


def _read(spark: SparkSession, folder: str, joint: Sequence[bool] = ()) -> StoredQuery:
    checked(spark, folder)
    if not has_state(spark, folder, MONITOR) and has_state(spark, folder, STANDING):
        raise StateError(
            f"{folder} belongs to standing queries, whose shards can't be changed",
            fix=f"use as many as before, or {AFRESH}",
        )
    if '"stateUniqueIds"' in _last(spark, f"{folder}/commits")[1]:
        raise StateError(
            f"the state in {folder} is kept in Spark's second format of checkpoints",
            fix=f"use as many shards as before, or {AFRESH}",
        )
    return read_journals(spark, folder, joint=joint)


def _made(spark: SparkSession, folder: str, stored: StoredQuery, plan: CheckpointPlan) -> str:
    """A whole checkpoint beside the old one; where."""
    made, number = _beside(folder), _last(spark, f"{folder}/commits")[0]
    folders.remove(spark, made)
    for name in names_in(spark, folder):
        if name != _STATE:
            folders.copy(spark, f"{folder}/{name}", f"{made}/{name}")
    settings = _rewrite_offsets(spark, made, number, plan.tasks)
    versions = [stored, *_attempted(spark, folder, made, number, stored)]
    copied = set(stored.operators)
    for at, stages in enumerate(plan.stages):
        if plan.is_copied(at, stored):
            continue
        copied -= {*stored.rankings[at].stages}
        journals = [_journals(each.rankings[at], plan.wanted[at], len(stages)) for each in versions]
        written = write_state(spark, journals, f"{made}/{_WORK}/{at}", settings)
        for place, stage in enumerate(stages):
            _put_stage(spark, f"{written}/{place}", _Stage(folder, made, stage, number + 1))
    for stage in sorted(copied):
        copy = f"{_STATE}/{stage}"
        folders.copy(spark, f"{folder}/{copy}", f"{made}/{copy}")
    folders.remove(spark, f"{made}/{_WORK}")
    return made


def _journals(stored: Stored, wanted: Wanted | None, stages: int) -> ShardJournals:
    """Those of a ranking from now on; one without an event has none."""
    if wanted is None:
        return ShardJournals({}, 1, stored.origin, stages > 1, stored.name)
    divided = _divided(stored, wanted)
    return ShardJournals(divided, wanted.shards, stored.origin, stages > 1, stored.name)


def _divided(stored: Stored, wanted: Wanted) -> dict[int, StoredValue]:
    if not stored.journals:
        return {}
    if any("notices" in (each.head.facts.get("remote") or {}) for each in stored.journals.values()):
        raise StateError(
            "the query hears of changes, and what it heard and has not used would be lost",
            fix=f"use the shards and the settings of before, or {AFRESH}",
        )
    query, shards = wanted
    made = rescale_journals(stored.journals, stored.shards, shards, uuid4().hex, query)
    return {shard: StoredValue.of(changes) for shard, changes in made.items()}


def _attempted(
    spark: SparkSession, folder: str, made: str, number: int, stored: StoredQuery
) -> list[StoredQuery]:
    """The state after the micro-batch behind that number, if it was written and not finished.

    Its answers may have reached the sink. A sink that has them leaves the next attempt out, and
    with it all that it would write.
    """
    if str(number + 1) not in names_in(spark, f"{folder}/offsets"):
        return []
    # Spark reads the state of finished micro-batches only: so this one is, in a copy.
    view = f"{made}/{_WORK}/attempted"
    for name in ("metadata", "offsets", "commits", _STATE):
        folders.copy(spark, f"{folder}/{name}", f"{view}/{name}")
    folders.copy(spark, f"{folder}/commits/{number}", f"{view}/commits/{number + 1}")
    try:
        return [read_journals(spark, view, groups=[each.stages for each in stored.rankings])]
    except StateError:
        return []


class _Stage(NamedTuple):
    """Where the state of a stage goes: its number in the new checkpoint, and which version it is.

    The new checkpoint is going to be where the old one is.
    """

    folder: str
    made: str
    number: int
    version: int


def _put_stage(spark: SparkSession, written: str, stage: _Stage) -> None:
    """Move what was written for one stage, as the version that the query goes on from."""
    target = f"{stage.made}/{_STATE}/{stage.number}"
    for name in names_in(spark, written):
        folders.move(spark, f"{written}/{name}", f"{target}/{name}")
        if name.isdecimal():
            _number_versions(spark, f"{target}/{name}", stage.version)
    notes = f"{target}/_metadata/v2"
    for name in names_in(spark, notes):
        if name.isdecimal():
            _rewrite_stage(spark, f"{notes}/{name}", stage)


def _rewrite_stage(spark: SparkSession, file: str, stage: _Stage) -> None:
    """Let what a micro-batch noted of a stage have its new number, and the place of its schema."""
    form, document = folders.read_text(spark, file).split("\n", 1)
    entry = json.loads(document)
    entry["operatorInfo"]["operatorId"] = stage.number
    address = folders.whole_address(spark, f"{stage.folder}/{_STATE}/{stage.number}")
    for store in entry["stateStoreInfo"]:
        paths = store["stateSchemaFilePaths"]
        store["stateSchemaFilePaths"] = [f"{address}/{_below_stage(path)}" for path in paths]
    folders.write_text(spark, file, f"{form}\n{json.dumps(entry, separators=(',', ':'))}")


def _number_versions(spark: SparkSession, task: str, first: int) -> None:
    """Let what was written first be this version, and what was written then the next."""
    names = names_in(spark, task)
    for at, name in reversed([*enumerate(_WRITTEN)]):
        version = f"{first + at}.{name.split('.')[1]}"
        if name in names and version != name:
            folders.move(spark, f"{task}/{name}", f"{task}/{version}")


def _below_stage(path: str) -> str:
    at = path.index("_stateSchema")
    return path[at:]


def _rewrite_offsets(spark: SparkSession, made: str, number: int, tasks: int) -> dict[str, str]:
    """Write the new number of tasks into the log of offsets; how the state is to be written."""
    settings: dict[str, str] = {}
    for name in names_in(spark, f"{made}/offsets"):
        if not name.isdecimal() or int(name) < number:
            continue
        file = f"{made}/offsets/{name}"
        form, document, *offsets = folders.read_text(spark, file).split("\n")
        entry = json.loads(document)
        entry["conf"][_PARTITIONS] = str(tasks)
        settings = _of_state(entry["conf"])
        document = json.dumps(entry, separators=(",", ":"))
        folders.write_text(spark, file, "\n".join([form, document, *offsets]))
    return settings


def _of_state(entry: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in entry.items() if name.startswith("spark.sql.streaming.")}
    return {**kept, **_SETTINGS, _PARTITIONS: entry[_PARTITIONS]}


def _last(spark: SparkSession, folder: str) -> tuple[int, str]:
    """The number of the latest micro-batch in a log, and what it says."""
    number = last_number(names_in(spark, folder))
    assert number is not None  # noqa: S101  one was finished
    return number, folders.read_text(spark, f"{folder}/{number}")


def _swap(spark: SparkSession, folder: str, made: str, ending: str) -> str:
    """Put the new checkpoint in the place of the old one, which is kept; where."""
    kept = f"{folder.rstrip('/')}.{ending}"
    folders.remove(spark, kept)
    if folders.exchange(folder, made):
        folders.move(spark, made, kept)
        return kept
    # Between the two there is no checkpoint: see finish().
    folders.move(spark, folder, kept)
    folders.move(spark, made, folder)
    return kept
