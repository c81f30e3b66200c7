"""Tables ↔ bytes: the one format in which state and partial results are kept and sent.

An Arrow stream whose schema carries a version and a small JSON document, and after it four bytes
of checksum, which other readers of Arrow pass over. Nothing in it is code, so reading foreign
bytes can fail but never run anything.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from topwater.errors import AFRESH, StateError
from topwater.model import Items, KeyArray

VERSION = 3
_MARK = b"topwater"
_CODEC = pa.Codec("zstd", compression_level=1)
_COMPRESSED = pa.ipc.IpcWriteOptions(compression=_CODEC)
_SMALL = 2**20
# Other threads take longer to wake up than a small table takes.
_ALONE = pa.ipc.IpcWriteOptions(compression=_CODEC, use_threads=False)
_READ_ALONE = pa.ipc.IpcReadOptions(use_threads=False)


def pack(table: pa.Table, meta: dict[str, Any], *, compressed: bool = False) -> bytes:
    """A table and what belongs to it, as bytes.

    Examples
    --------
    >>> packed = pack(pa.table({"a": [1, 2]}), {"current": 7})
    >>> table, meta = unpack(packed)
    >>> table.num_rows, meta
    (2, {'current': 7})
    """
    document = json.dumps({"version": VERSION, "meta": meta}, sort_keys=True)
    table = table.replace_schema_metadata({_MARK: document.encode()})
    sink = pa.BufferOutputStream()
    options = (_ALONE if table.nbytes < _SMALL else _COMPRESSED) if compressed else None
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    stream = bytes(sink.getvalue())
    return stream + _checksum(stream)


def unpack(packed: bytes) -> tuple[pa.Table, dict[str, Any]]:
    """What :func:`pack` was given.

    Raises
    ------
    StateError
        If the bytes are not ours, are damaged, or come from another version.
    """
    try:
        if _checksum(packed[:-4]) != packed[-4:]:
            raise ValueError("checksum")
        options = _READ_ALONE if len(packed) < _SMALL else None
        with pa.ipc.open_stream(pa.py_buffer(packed), options=options) as reader:
            table = reader.read_all()
        document = json.loads((table.schema.metadata or {})[_MARK])
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        raise StateError(
            "these bytes are not Topwater state, or they are damaged",
            fix=f"use the checkpoint that this query wrote, or {AFRESH}",
        ) from error
    if document.get("version") != VERSION:
        raise StateError(
            f"the state has version {document.get('version')}, this program reads {VERSION}",
            fix=f"run the version that wrote it, or {AFRESH}",
        )
    return table.replace_schema_metadata(None), document["meta"]


@contextlib.contextmanager
def known_form(what: str) -> Iterator[None]:
    """Tell what is read here and lacks something, or has it otherwise, by its name.

    Its checksum may be right: then another program wrote it.

    Examples
    --------
    >>> with known_form("panes 7"):  # doctest: +ELLIPSIS
    ...     {"rows": 3}["keys"]
    Traceback (most recent call last):
    topwater.errors.StateError: panes 7: ... that this program does not know: KeyError('keys')
      fix: ...
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OSError) as error:
        raise StateError(
            f"{what}: the state has a form that this program does not know: {error!r}",
            fix=f"run the version that wrote it, or {AFRESH}",
        ) from error


def pack_arrays(arrays: Mapping[str, np.ndarray[Any, np.dtype[Any]]]) -> bytes:
    """Flat arrays of any lengths as bytes: where there are many small ones, far fewer than Arrow's.

    Empty ones are left out.

    Examples
    --------
    >>> packed = pack_arrays({"a": np.arange(3), "b": np.empty(0)})
    >>> {name: array.tolist() for name, array in unpack_arrays(packed).items()}
    {'a': [0, 1, 2]}
    """
    full = {name: np.ascontiguousarray(array) for name, array in arrays.items() if len(array)}
    names = [[name, array.dtype.str, len(array)] for name, array in full.items()]
    header = json.dumps(names).encode()
    numbers = [array.tobytes() for array in full.values()]
    plain = b"".join([len(header).to_bytes(4, "big"), header, *numbers])
    return len(plain).to_bytes(8, "big") + bytes(_CODEC.compress(plain, asbytes=True))


def unpack_arrays(packed: bytes) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
    """What :func:`pack_arrays` was given. The bytes have to be whole: see who keeps them."""
    size = int.from_bytes(packed[:8], "big")
    plain = _CODEC.decompress(packed[8:], size, asbytes=True)
    start = 4 + int.from_bytes(plain[:4], "big")
    found = {}
    for name, kind, length in json.loads(plain[4:start]):
        found[name] = np.frombuffer(plain, kind, length, start)
        start += found[name].nbytes
    return found


def _checksum(stream: bytes) -> bytes:
    # Arrow has none, and may crash the process on offsets that were damaged.
    return zlib.crc32(stream).to_bytes(4, "big")


def items_to_table(items: Items) -> pa.Table:
    """Items as a table with the columns score, time and key."""
    return pa.table({"score": items.score, "time": items.time, "key": keys_to_arrow(items.key)})


def items_from_table(table: pa.Table) -> Items:
    """The items of such a table."""
    return Items(
        column(table, "score"), column(table, "time"), keys_from_arrow(table.column("key"))
    )


def column(table: pa.Table, name: str) -> np.ndarray[Any, np.dtype[Any]]:
    """A column without nulls, as an array."""
    return np.asarray(table.column(name).to_numpy())


def keys_to_arrow(keys: KeyArray) -> pa.Array:
    """Keys as Arrow data: int64 or string."""
    return pa.array(keys, pa.int64() if keys.dtype == np.int64 else pa.string())


def keys_from_arrow(keys: pa.ChunkedArray | pa.Array) -> KeyArray:
    """Keys as an array: int64, or Python strings."""
    if pa.types.is_integer(keys.type):
        return np.asarray(keys.cast(pa.int64()))
    plain = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
    return np.asarray(plain.to_numpy(zero_copy_only=False), dtype=object)
