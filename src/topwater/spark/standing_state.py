"""Snapshots of standing queries ↔ bytes: arrays and values that JSON can hold, and no code.

Arrays are compressed: places that queries keep free are most of a snapshot, and a state store
needs 15 ms to hand out a megabyte.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from topwater.errors import AFRESH, StateError
from topwater.model import Counts
from topwater.tables import keys_from_arrow, keys_to_arrow, pack, unpack

_ARRAY = "an array"
_CODEC = "lz4"


def packed_snapshot(snapshot: Mapping[str, Any], meta: Mapping[str, Any]) -> bytes:
    """What ``Standing.snapshot`` gave, and what else belongs to it.

    Examples
    --------
    >>> packed = packed_snapshot({"counts": Counts(), "a": [np.arange(3)]}, {"shard": 1})
    >>> snapshot, meta = unpacked_snapshot(packed)
    >>> snapshot["a"], meta
    ([array([0, 1, 2])], {'shard': 1})
    """
    arrays: list[bytes] = []
    plain = {**snapshot, "counts": asdict(snapshot["counts"])}
    tree = _without_arrays(plain, arrays)
    table = pa.table({"array": pa.array(arrays, pa.large_binary())})
    return pack(table, {"snapshot": tree, "meta": dict(meta)})


def unpacked_snapshot(packed: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """What :func:`packed_snapshot` was given.

    Raises
    ------
    StateError
        If the bytes are not ours, are damaged, or come from another version.
    """
    table, document = unpack(packed)
    if "snapshot" not in document:
        raise StateError(
            "these bytes are not a state of standing queries",
            fix=f"use the checkpoint that these queries wrote, or {AFRESH}",
        )
    snapshot: dict[str, Any] = _with_arrays(document["snapshot"], table.column("array"))
    return {**snapshot, "counts": Counts(**snapshot["counts"])}, document["meta"]


def _without_arrays(tree: Any, arrays: list[bytes]) -> Any:
    """The same with each array's type and shape in its place, and its bytes in the list."""
    if isinstance(tree, Mapping):
        return {str(name): _without_arrays(value, arrays) for name, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_without_arrays(value, arrays) for value in tree]
    if isinstance(tree, np.generic):
        return tree.item()
    if not isinstance(tree, np.ndarray):
        return tree
    plain = _bytes(tree)
    arrays.append(pa.compress(plain, codec=_CODEC, asbytes=True))
    kind = tree.dtype.descr if tree.dtype.names else tree.dtype.str
    return {_ARRAY: [len(arrays) - 1, kind, list(tree.shape), len(plain)]}


def _bytes(array: np.ndarray[Any, Any]) -> bytes:
    if array.dtype.hasobject:
        return pack(pa.table({"key": keys_to_arrow(array)}), {})
    return array.tobytes()


def _with_arrays(tree: Any, arrays: pa.ChunkedArray) -> Any:
    if isinstance(tree, list):
        return [_with_arrays(value, arrays) for value in tree]
    if not isinstance(tree, dict):
        return tree
    if _ARRAY not in tree:
        return {name: _with_arrays(value, arrays) for name, value in tree.items()}
    number, kind, shape, size = tree[_ARRAY]
    dtype = np.dtype([tuple(each) for each in kind] if isinstance(kind, list) else kind)
    plain = pa.decompress(arrays[number].as_buffer(), size, codec=_CODEC)
    if dtype.hasobject:
        table, _ = unpack(plain.to_pybytes())
        return keys_from_arrow(table.column("key"))
    return np.frombuffer(plain, dtype).reshape(shape).copy()
