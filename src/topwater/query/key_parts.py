"""Look-ups by a part of the ranked key: it is then among what the stream contributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from topwater.model import Frozen
from topwater.replica.joins.join_settings import JoinSettings
from topwater.scoring.aggregates import RESERVED

Take = Literal["each"] | Mapping[str, str]


def with_key_parts(
    take: Take, joins: JoinSettings, columns: Sequence[str]
) -> tuple[Take, JoinSettings]:
    """What the stream contributes, and joins, where some look up by one of the key's columns.

    Rows have the column by its own name already, as a part of their key. So the same value has
    another name in ``take``.

    Examples
    --------
    >>> joins = JoinSettings.of([{"remote": "price", "key": "product"}])
    >>> take, joins = with_key_parts({"n": "count"}, joins, ("product", "country"))
    >>> take, joins.keys
    ({'n': 'count', 'product_part': 'last(`product`)'}, ('product_part',))
    """
    if isinstance(take, str) or len(columns) < 2:
        return take, joins
    found, names = dict(take), {}
    for key in joins.keys:
        if key in columns and key not in take:
            names[key] = _free(f"{key}_part", {*found, *joins.names, *columns})
            found[names[key]] = f"last(`{key}`)"
    if not names:
        return take, joins
    renamed = [
        replace(join, key=names[join.key]) if join.key in names else join for join in joins.joins
    ]
    return Frozen(found), replace(joins, joins=tuple(renamed))


def _free(name: str, taken: set[str]) -> str:
    plain = "".join(each if each.isidentifier() or each.isdigit() else "_" for each in name)
    name = plain if plain.isidentifier() else f"_{plain}"
    while name in taken or name in RESERVED:
        name += "_"
    return name
