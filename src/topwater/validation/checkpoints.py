"""Does a checkpoint fit the sink that it is to write to?

Micro-batches are numbered, in the checkpoint and in a folder of answers alike. Spark's file sink
silently leaves out a number that its log has already, and a job's own files are written over by
number. So with a new checkpoint, or an older copy of one, beside a folder that is further on,
windows are lost, or are there twice. Here that is found before anything starts.
"""

from __future__ import annotations

from collections.abc import Iterable

from topwater.errors import QueryError

SINK_LOG = "_spark_metadata"
"""Where Spark's file sink keeps which files belong to which micro-batch."""

_OTHER = "write to another folder; this one keeps its windows"


def last_number(names: Iterable[str]) -> int | None:
    """The highest number among the names in a folder of Spark's; None if there is none.

    Examples
    --------
    >>> last_number(["0", "9.compact", "10", ".10.crc", "metadata"]), last_number([])
    (10, None)
    """
    plain = (name.removesuffix(".compact") for name in names)
    return max((int(name) for name in plain if name.isdecimal()), default=None)


def require_continued(
    sink: str, checkpoint: str, *, written: int | None, planned: int | None, done: int | None = None
) -> None:
    """Raise unless a folder of answers is as far as the checkpoint that goes on with it.

    Parameters
    ----------
    sink, checkpoint
        The folders, to be named.
    written
        The last micro-batch that the sink has; None for a new folder, which fits any checkpoint.
    planned
        The last micro-batch that was begun with the checkpoint; None for a new one. It may not have
        come to its end: then it runs again, and the sink may have it already.
    done
        The last micro-batch that was finished; None if that is not known, or none was.
    """
    if written is None:
        return
    if planned is None:
        raise QueryError(
            f"{sink} holds the answers of another run, and {checkpoint} is new",
            field="path",
            fix=f"name the checkpoint of that run, or {_OTHER}",
        )
    if written > planned:
        raise QueryError(
            f"{sink} has the answers of micro-batch {written}, and {checkpoint} only came to "
            f"{planned}: it is an older copy, or belongs to another run",
            field="path",
            fix=f"name the checkpoint that came as far, or {_OTHER}",
        )
    if done is not None and written < done:
        raise QueryError(
            f"{sink} ends with micro-batch {written}, and {checkpoint} has finished {done}: "
            "the windows in between are not there",
            field="path",
            fix=f"restore the folder that this checkpoint wrote to, or {_OTHER}",
        )
