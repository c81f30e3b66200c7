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
from topwater.monitor.joint_ranking import has_joint_ranking
from topwater.monitor.shard_division import rescale as rescale_journals
from topwater.monitor.shards import divided_among, require_buckets
from topwater.query import TopKQuery
from topwater.query.identity import tuned
from topwater.spark import folders
from topwater.spark.folders import names_in, require_java
from topwater.spark.standing_processor import STATE as STANDING
from topwater.spark.state import Stored, checked, has_state, read_journals
from topwater.spark.state_writer import ShardJournals, StoredValue, write_state
from topwater.validation import checked_call, whole_of
from topwater.validation.checkpoints import last_number

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    before = _query_of(stored)
    query = query or before
    as_before = stored.shards in (0, shards) and partitions in (None, stored.partitions)
    if query is None or (as_before and query == before):
        return None
    if divided_among(query, shards) < shards:
        raise StateError(
            "several remote values with one budget are ranked in one place",
            fix="leave the state as it is: more shards would not share the work",
        )
    done = last_number(names_in(spark, f"{folder}/commits"))
    tasks = _tasks(stored, shards, partitions)
    made = _made(spark, folder, stored, _Wanted(query, shards, tasks))
    if last_number(names_in(spark, f"{folder}/commits")) != done:
        folders.remove(spark, made)
        raise StateError(f"the query of {folder} is running", fix="stop it, and change it then")
    other = stored.shards != shards
    kept = _swap(spark, folder, made, f"with-{stored.shards}-shards" if other else "as-it-was")
    changes = [f"shards: {stored.shards} → {shards}"] if other else []
    changes += [] if before is None else map(str, tuned(before, query))
    what = "; ".join(changes) or f"tasks: {stored.partitions} → {tasks}"
    _log.warning("%s goes on with %s; as it was, it is kept in %s", folder, what, kept)
    return Rescaled(stored.shards, shards, kept)


class _Wanted(NamedTuple):
    """What a checkpoint is to be for: a query, with its numbers of shards and tasks."""

    query: TopKQuery
    shards: int
    tasks: int


def _query_of(stored: Stored) -> TopKQuery | None:
    """Of the state; None if no event has come yet."""
    written = next(iter(stored.journals.values()), None)
    return None if written is None else TopKQuery.from_dict(written.head.query)


def finish(spark: SparkSession, checkpoint: str) -> None:
    """Put a new checkpoint in its place, if a run was stopped just before doing so."""
    made = _beside(checkpoint)
    # The usual case first: over Spark Connect a folder that is there is listed as a whole.
    if folders.is_there(spark, made) and not folders.is_there(spark, checkpoint):
        folders.move(spark, made, checkpoint)


def _beside(checkpoint: str) -> str:
    return f"{checkpoint.rstrip('/')}.rescaling"


def _read(spark: SparkSession, folder: str) -> Stored:
    checked(spark, folder)
    if has_state(spark, folder, STANDING):
        raise StateError(
            f"{folder} belongs to standing queries, whose shards can't be changed",
            fix=f"use as many as before, or {AFRESH}",
        )
    if '"stateUniqueIds"' in _last(spark, f"{folder}/commits")[1]:
        raise StateError(
            f"the state in {folder} is kept in Spark's second format of checkpoints",
            fix=f"use as many shards as before, or {AFRESH}",
        )
    return read_journals(spark, folder)


def _tasks(stored: Stored, shards: int, wanted: int | None) -> int:
    """How many tasks the stateful stages get. All stages of a query have as many."""
    usual = shards if stored.partitions == stored.shards else stored.partitions
    if stored.operators == stored.ours:
        return usual if wanted is None else wanted
    if wanted not in (None, stored.partitions):
        raise StateError(
            "the query has stateful stages besides ours, whose tasks can't be changed",
            fix=f"leave out partitions, or use {stored.partitions}",
        )
    return stored.partitions


def _made(spark: SparkSession, folder: str, stored: Stored, wanted: _Wanted) -> str:
    """A whole checkpoint beside the old one; where."""
    query, shards, tasks = wanted
    made, number = _beside(folder), _last(spark, f"{folder}/commits")[0]
    folders.remove(spark, made)
    for name in names_in(spark, folder):
        if name != _STATE:
            folders.copy(spark, f"{folder}/{name}", f"{made}/{name}")
    settings = _rewrite_offsets(spark, made, number, tasks)
    joint = has_joint_ranking(query, shards)
    versions = [
        ShardJournals(_divided(each, wanted), shards, each.origin, joint)
        for each in (stored, *_attempted(spark, folder, made, number))
    ]
    written = write_state(spark, versions, f"{made}/{_WORK}", settings)
    for at, stage in enumerate(_stages(stored, joint=joint)):
        _put_stage(spark, f"{written}/{at}", _Stage(folder, made, stage, number + 1))
    for stage in set(stored.operators) - set(stored.ours):
        copy = f"{_STATE}/{stage}"
        folders.copy(spark, f"{folder}/{copy}", f"{made}/{copy}")
    folders.remove(spark, f"{made}/{_WORK}")
    return made


def _divided(stored: Stored, wanted: _Wanted) -> dict[int, StoredValue]:
    query, shards, _ = wanted
    if any("notices" in (each.head.facts.get("remote") or {}) for each in stored.journals.values()):
        raise StateError(
            "the query hears of changes, and what it heard and has not used would be lost",
            fix=f"use the shards and the settings of before, or {AFRESH}",
        )
    made = rescale_journals(stored.journals, stored.shards, shards, uuid4().hex, query)
    return {shard: StoredValue.of(changes) for shard, changes in made.items()}


def _attempted(spark: SparkSession, folder: str, made: str, number: int) -> list[Stored]:
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
        return [read_journals(spark, view)]
    except StateError:
        return []


def _stages(stored: Stored, *, joint: bool) -> list[int]:
    """The numbers of our stateful stages from now on."""
    if len(stored.ours) == 1 + joint:
        return stored.ours
    if stored.operators != stored.ours or len(stored.ours) > 2:
        raise StateError(
            "the query has stateful stages besides ours, and with as many shards ours are "
            f"{1 + joint} where they were {len(stored.ours)}",
            fix="change between numbers of shards above 1, or use as many as before",
        )
    return [0, 1][: 1 + joint]


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
