"""What a shard offers to the ranking that all shards have in common: the rows that may matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from topwater.model import BoolArray, FloatArray, IntArray, Window
from topwater.replica.window_view import WindowView
from topwater.tables import column, keys_from_arrow, pack, unpack

_VALUE = "of "


@dataclass(frozen=True, slots=True)
class Offer:
    """Some keys of one window in one shard, and what the stream says of each. A row a key.

    Attributes
    ----------
    keys, values, last_event
        As in a :class:`~topwater.replica.window_view.WindowView`.
    nominated
        Which keys may be looked up: the shard offers them in every window from now on.
    left_out, unscored
        How many keys of the window are not offered; and of how many of them no score can be made.

    Examples
    --------
    >>> offer = Offer(pa.array([7, 9]), {"n": np.array([3.0, 1.0])}, np.array([5, 8]),
    ...               np.array([True, False]), left_out=4)
    >>> again = Offer.unpack(offer.pack())
    >>> again.keys.to_pylist(), again.values["n"].tolist(), again.nominated.tolist(), again.left_out
    ([7, 9], [3.0, 1.0], [True, False], 4)
    """

    keys: pa.Array
    values: Mapping[str, FloatArray]
    last_event: IntArray
    nominated: BoolArray
    left_out: int = 0
    unscored: int = 0

    def pack(self) -> bytes:
        """As bytes."""
        named = {_VALUE + name: each for name, each in self.values.items()}
        columns = {"key": self.keys, "time": self.last_event, "nominated": self.nominated}
        meta = {"left_out": self.left_out, "unscored": self.unscored}
        return pack(pa.table(columns | named), meta, compressed=True)

    @staticmethod
    def unpack(packed: bytes) -> Offer:
        """What :meth:`pack` gave."""
        table, meta = unpack(packed)
        names = [name for name in table.column_names if name.startswith(_VALUE)]
        return Offer(
            table.column("key").combine_chunks(),
            {name.removeprefix(_VALUE): column(table, name) for name in names},
            column(table, "time"),
            column(table, "nominated"),
            **meta,
        )


def joined(window: Window, offers: Sequence[Offer]) -> WindowView:
    """A window as its shards offer it, one or more of them."""
    return WindowView(
        index=window.index,
        end=window.end,
        names=keys_from_arrow(pa.chunked_array([offer.keys for offer in offers])),
        values={
            name: np.concatenate([offer.values[name] for offer in offers])
            for name in offers[0].values
        },
        last_event=np.concatenate([offer.last_event for offer in offers]),
        nominated=np.concatenate([offer.nominated for offer in offers]),
        left_out=sum(offer.left_out for offer in offers),
    )
