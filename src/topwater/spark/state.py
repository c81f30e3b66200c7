"""What a checkpoint remembers, read back from Spark's state store."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812

from topwater.errors import AFRESH, StateError, TopwaterError
from topwater.monitor.joint_ranking import has_joint_ranking
from topwater.monitor.journal import Head, snapshot_from
from topwater.monitor.snapshot import Description, Kept, describe
from topwater.monitor.stored_journal import NO_MAP, StoredJournal, stored_size
from topwater.query import TopKQuery
from topwater.spark.chunk_map import CHUNKS
from topwater.spark.compat import java_errors
from topwater.spark.folders import names_in
from topwater.spark.processor import STATE
from topwater.spark.session import require
from topwater.spark.shard_placement import PLACE
from topwater.spark.stage_groups import Kind, Stage, stage_groups
from topwater.validation import span
from topwater.validation.addresses import REMOTE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from topwater.model import Millis

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIX = "give the checkpoint of a query, or the folder that a job writes its answers to"


@dataclass(frozen=True, slots=True)
class ShardState:
    """What one shard remembers.

    Attributes
    ----------
    shard, shards
        Which one it is, and of how many. The ranking that all have in common follows the last.
    holds
        What is in its state.
    origin
        What it was made from, in short, if that is a pattern of RSP-QL.
    name
        Of the ranking, if it has one.
    """

    shard: int
    shards: int
    holds: Description
    origin: str = ""
    name: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        own = {"name": self.name, "shard": self.shard, "shards": self.shards}
        return {**own, "origin": self.origin, **self.holds.to_dict()}


def read_state(spark: SparkSession, checkpoint: str | Path) -> list[ShardState]:
    """The state of a query as of its last finished micro-batch, shard by shard.

    The query may be running: nothing is changed or locked. A shard that has got no event yet
    remembers nothing, and is left out. If the query has several rankings, they follow each other
    in the order of its plan: from the last step to the first, as Spark numbers them.

    Parameters
    ----------
    spark
        A session; see :func:`topwater.spark.settings`.
    checkpoint
        The folder that the query has as its ``checkpointLocation``.

    Raises
    ------
    StateError
        If there is no such folder, no Topwater state in it, or one that is damaged or of another
        version.
    """
    folder = checked(spark, checkpoint)
    rows = head_rows(spark, folder)
    found = []
    for group in grouped(_required(spark, folder, STATE), rows):
        mine = (row for row in rows if row.operator in group)
        found += [_shard_state(spark, folder, row) for row in sorted(mine, key=_shard_of)]
    return found


def _shard_of(row: Row) -> int:
    shard: int = row.shard
    return shard


def grouped(
    operators: Sequence[int], rows: Sequence[Row], joint: Sequence[bool] = ()
) -> list[tuple[int, ...]]:
    """The stages of each ranking; see :func:`topwater.spark.stage_groups.stage_groups`."""
    kinds = {row.operator: _kind(row) for row in rows}
    stages = [Stage(number, kinds.get(number, "unknown")) for number in sorted(operators)]
    return stage_groups(stages, joint)


def _kind(row: Row) -> Kind:
    if row.shard == row.shards:
        return "joint"
    return "parts" if has_joint_ranking(_shard_head(row).query, row.shards) else "whole"


@dataclass(frozen=True, slots=True)
class ShardHead:
    """What tells whose state it is: read without the rest.

    Attributes
    ----------
    shard, shards, query, origin, name
        See :class:`ShardState`.
    size
        Bytes of the whole state.
    chunk
        Bytes of its largest chunk.
    """

    shard: int
    shards: int
    query: TopKQuery
    origin: str
    size: int
    chunk: int
    name: str = ""


def read_heads(spark: SparkSession, checkpoint: str | Path) -> list[ShardHead]:
    """Whose the state of each shard is; see :func:`read_state`."""
    return [each for heads in ranking_heads(spark, checkpoint) for each in heads]


def ranking_heads(
    spark: SparkSession, checkpoint: str | Path, joint: Sequence[bool] = ()
) -> list[list[ShardHead]]:
    """The same for each ranking, in the order of the plan; empty for one without an event."""
    folder = checked(spark, checkpoint)
    rows = head_rows(spark, folder)
    groups = grouped(_required(spark, folder, STATE), rows, joint)
    return [[_shard_head(row) for row in rows if row.operator in group] for group in groups]


def _shard_head(row: Row) -> ShardHead:
    head = Head.unpack(StoredJournal.unpack(bytes(row.snapshot), NO_MAP).head)
    size = stored_size(bytes(row.snapshot), head.size)
    query = _query(head)
    return ShardHead(row.shard, row.shards, query, row.origin, size, head.chunk, row.name)


def read_snapshots(spark: SparkSession, checkpoint: str | Path) -> dict[int, bytes]:
    """By shard, the snapshot of its monitor after the last finished micro-batch.

    Of a query with one ranking.
    """
    folder = checked(spark, checkpoint)
    return {row.shard: _snapshot(spark, folder, row)[0] for row in head_rows(spark, folder)}


def _shard_state(spark: SparkSession, checkpoint: str, row: Row) -> ShardState:
    snapshot, size = _snapshot(spark, checkpoint, row)
    holds = replace(describe(snapshot), size=size)
    return ShardState(row.shard, row.shards, holds, row.origin, row.name)


def all_chunks(
    spark: SparkSession, checkpoint: str, operators: set[int]
) -> dict[tuple[int, int], dict[int, bytes]]:
    """All chunks, by operator and place, then by id: each operator's are read once."""
    found: dict[tuple[int, int], dict[int, bytes]] = {}
    with _readable(checkpoint):
        for operator in operators:
            stored = _stored(spark, checkpoint, operator, CHUNKS)
            columns = (F.col(f"key.{PLACE}"), "user_map_key.id", "user_map_value.chunk")
            for each in stored.select(*columns).toLocalIterator():
                found.setdefault((operator, each[PLACE]), {})[each.id] = bytes(each.chunk)
    return found


def _snapshot(spark: SparkSession, checkpoint: str, row: Row) -> tuple[bytes, int]:
    """A shard's snapshot, and how many bytes its state has."""
    value = bytes(row.snapshot)
    stored = StoredJournal.unpack(value, NO_MAP)
    head = Head.unpack(stored.head)
    chunks = _chunks(spark, checkpoint, row) if stored.beside is None else stored.beside
    return snapshot_from(head, chunks.get), stored_size(value, head.size)


def _chunks(spark: SparkSession, checkpoint: str, row: Row) -> dict[int, bytes]:
    """Those of a shard that are in the map, by their ids."""
    with _readable(checkpoint):
        stored = _stored(spark, checkpoint, row.operator, CHUNKS)
        mine = stored.filter(F.col(f"key.{PLACE}") == row.key[PLACE])
        rows = mine.select("user_map_key.id", "user_map_value.chunk").toLocalIterator()
        return {each.id: bytes(each.chunk) for each in rows}


def _query(head: Head) -> TopKQuery:
    try:
        return TopKQuery.from_dict(head.query)
    except TopwaterError as error:
        raise StateError(
            f"the state is of a query that this program does not know: {error.problem}",
            fix=f"run the version that wrote it, or {AFRESH}",
        ) from error


def head_rows(spark: SparkSession, checkpoint: str) -> list[Row]:
    """The head of each shard that has got events, with its key and its operator."""
    with _readable(checkpoint):
        found = [
            row
            for operator in _required(spark, checkpoint, STATE)
            for row in _stored(spark, checkpoint, operator, STATE)
            .select("key", "value.*", F.lit(operator).alias("operator"))
            .collect()
        ]
    if any("name" not in row for row in found):
        raise StateError(
            "the state is of an older version, which did not keep whose it is",
            fix=f"run the version that wrote it, or {AFRESH}",
        )
    return found


def state_lines(spark: SparkSession, checkpoint: str | Path, *, as_json: bool) -> list[str]:
    """What any query of ours remembers, standing ones too: a line of JSON per shard, or text."""
    if has_state(spark, checked(spark, checkpoint), STATE):
        states = read_state(spark, checkpoint)
        return [json.dumps(each.to_dict()) for each in states] if as_json else lines(states)
    # Imported late: compiled code takes seconds to load, and a top-k query needs none of it.
    from topwater.spark.standing_summary import read_standing

    found = read_standing(spark, checkpoint)
    if as_json:
        return [json.dumps(each.to_dict()) for each in found]
    return [line for each in found for line in each.lines()]


def located(checkpoint: str | Path) -> str:
    """The checkpoint in a folder: the folder itself, or its ``_checkpoint``, as a job leaves it.

    What is on this machine is looked for without Spark.

    Raises
    ------
    StateError
        If there is none, or no micro-batch was finished with it.
    """
    if REMOTE.match(str(checkpoint)):
        return str(checkpoint)
    folder = Path(checkpoint)
    for place in (folder, folder / "_checkpoint"):
        if (place / "commits").is_dir():
            if not any(each.name.isdecimal() for each in (place / "commits").iterdir()):
                raise _unfinished(str(place))
            return str(place)
    there = "has no checkpoint in it" if folder.is_dir() else "is not there"
    raise StateError(f"{folder} {there}", fix=_FIX)


def _unfinished(checkpoint: str) -> StateError:
    return StateError(
        f"no micro-batch was finished with the checkpoint {checkpoint}",
        fix="let the query run until it has finished one",
    )


def checked(spark: SparkSession, checkpoint: str | Path) -> str:
    """The checkpoint, if there is one and a micro-batch was finished with it."""
    require(spark)
    checkpoint = str(checkpoint)
    if was_used(spark, checkpoint):
        return checkpoint
    if not names_in(spark, checkpoint):
        raise StateError(f"there is no checkpoint in {checkpoint}", fix=_FIX)
    raise _unfinished(checkpoint)


def was_used(spark: SparkSession, checkpoint: str) -> bool:
    """Whether a micro-batch was finished with this checkpoint."""
    return any(name.isdecimal() for name in names_in(spark, f"{checkpoint}/commits"))


def lines(states: list[ShardState]) -> list[str]:
    """States as text, for people."""
    if not states:
        return ["nothing yet: no event has come"]
    found: list[str] = []
    before: tuple[str, TopKQuery] | None = None
    for state in states:
        holds = state.holds
        if before != (state.name, holds.query):
            before = (state.name, holds.query)
            found.append(f"query {state.name}".rstrip())
            found += [f"  {line}" for line in query_lines(holds.query)]
        told = ", ".join(f"{name} {count}" for name, count in asdict(holds.counts).items() if count)
        found.append(f"{_part(state)}, {holds.size:,} bytes")
        found.append(f"  newest {moment(holds.newest)}{', a jump waits' if holds.waiting else ''}")
        found.append(f"  untold {told or 'nothing'}")
        found += [f"  {line}" for kept in holds.rankings for line in _kept(kept)]
    return found


def _part(state: ShardState) -> str:
    if state.shard == state.shards:
        return f"ranking  of all {state.shards} shards"
    return f"shard    {state.shard} of {state.shards}"


def query_lines(query: TopKQuery) -> list[str]:
    """What a query asks, in a few short lines."""
    named = {"key": query.key, "time": query.time, "groups": query.group_by, "list": query.list}
    found = [repr(query).removeprefix("<TopKQuery: ").removesuffix(">")]
    found.append(", ".join(f"{name} {value}" for name, value in named.items() if value))
    if not isinstance(query.take, str):
        found.append(f"takes {', '.join(f'{name} = {text}' for name, text in query.take.items())}")
    if query.lateness:
        found.append(f"events may come {span(query.lateness)} out of order")
    return found


def _kept(kept: Kept) -> list[str]:
    window = kept.next_window
    span = "none" if window is None else f"({moment(window.start)}, {moment(window.end)}]"
    group = "" if kept.group is None else f"group {kept.group!r}: "
    found = [f"keeps  {group}{kept.rows:,} {kept.holds}, next window {span}"]
    if kept.keys:
        oldest = f", the oldest at {moment(kept.oldest_fetch)}" if kept.fetched else ""
        found.append(f"       replica of {kept.keys:,} keys, {kept.fetched:,} fetched{oldest}")
    return found


def moment(time: Millis | None) -> str:
    """A time as text; as a number if no calendar has it."""
    if time is None:
        return "none"
    try:
        return (_EPOCH + timedelta(milliseconds=time)).isoformat(timespec="milliseconds")
    except OverflowError:
        return str(time)


def stages_with(spark: SparkSession, checkpoint: str, name: str) -> list[int]:
    """The stages that have a state variable of this name."""
    with _readable(checkpoint):
        return _required(spark, checkpoint, name)


def known_stages(spark: SparkSession, checkpoint: str) -> tuple[list[int], int]:
    """The numbers of all stateful stages, and how many tasks each of them has."""
    with _readable(checkpoint):
        stages = spark.read.format("state-metadata").load(checkpoint)
        known = stages.select("operatorId", "numPartitions").distinct().collect()
    return sorted({row.operatorId for row in known}), next(row.numPartitions for row in known)


def has_state(spark: SparkSession, checkpoint: str, name: str) -> bool:
    """Is there a state variable of this name?"""
    with _readable(checkpoint):
        return bool(_operators(spark, checkpoint, name))


def state_rows(spark: SparkSession, checkpoint: str, name: str) -> list[Row]:
    """What the state variable of this name holds, one row for each shard that has got events."""
    with _readable(checkpoint):
        return [
            row
            for operator in _required(spark, checkpoint, name)
            for row in _stored(spark, checkpoint, operator, name)
            .select("value.*", F.lit(operator).alias("operator"))
            .collect()
        ]


def _required(spark: SparkSession, checkpoint: str, name: str) -> list[int]:
    found = sorted(_operators(spark, checkpoint, name))
    if not found:
        raise StateError(f"there is no Topwater state in {checkpoint}", fix=_FIX)
    return found


def _operators(spark: SparkSession, checkpoint: str, name: str) -> list[int]:
    """Those that have it: before ours in the plan there may be ones of the user's own."""
    operators = spark.read.format("state-metadata").load(checkpoint)
    named = operators.filter(F.col("operatorProperties").contains(f'"stateName":"{name}"'))
    return [row.operatorId for row in named.select("operatorId").distinct().collect()]


@contextlib.contextmanager
def _readable(checkpoint: str) -> Iterator[None]:
    try:
        yield
    except java_errors(PySparkException) as error:
        raise StateError(
            f"the state in {checkpoint} can't be read: {_cause(error)}",
            fix=f"restore it from a copy, or {AFRESH}",
        ) from error


def _cause(error: Exception) -> str:
    told = str(getattr(error, "java_exception", error)).strip()
    return told.splitlines()[0] if told else type(error).__name__


def _stored(spark: SparkSession, checkpoint: str, operator: int, name: str) -> DataFrame:
    reader = spark.read.format("statestore").option("stateVarName", name)
    return reader.option("operatorId", operator).load(checkpoint)
