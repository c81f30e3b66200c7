"""A source is asked by keys as the stream had them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from tests.support.typed_keys import DAY
from topwater.model import KeyColumn, KeyForm
from topwater.remote import memory
from topwater.remote.wrappers.typed_keys import TypedKeys

FORM = KeyForm((KeyColumn("product", "text"), KeyColumn("day", "date")))


def asked(keys: list[Any]) -> Any:
    found = np.empty(len(keys), object)
    found[:] = keys
    return found


def test_keys_of_several_columns_are_tuples() -> None:
    source = pickle.loads(pickle.dumps(TypedKeys(memory({("tea", DAY): 3.0}), FORM)))  # noqa: S301
    got = source.fetch(asked([FORM.inside(("tea", DAY)), FORM.inside(("tea\0", DAY))]))
    assert got.values[0] == 3.0
    assert got.lacks() == {"not_found": 1}


def test_before_the_first_event_keys_are_what_they_are() -> None:
    assert TypedKeys(memory({7: 1.0})).fetch(np.array([7])).values.tolist() == [1.0]
