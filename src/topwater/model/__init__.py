"""The nouns: windows, items, answers, what was fetched. Frozen values, all found here by name."""

from topwater.model.array_types import BoolArray, FloatArray, IntArray, KeyArray
from topwater.model.attempts import Attempts, Repeated
from topwater.model.fetched import Fetched
from topwater.model.frozen import Frozen
from topwater.model.key_form import KeyColumn, KeyForm
from topwater.model.nouns import (
    FIRST_DATE,
    LOOK_UPS,
    Answer,
    Arrivals,
    Counts,
    Freshness,
    Items,
    Key,
    KeyPart,
    LookUp,
    Millis,
    Row,
    Shard,
    Window,
    look_up_dict,
    row_dict,
)
from topwater.model.number_text import number_text
from topwater.model.plain_key import plain_key
from topwater.model.remote_cell import Remote, taken_together
from topwater.problems import Problem

__all__ = [
    "FIRST_DATE",
    "LOOK_UPS",
    "Answer",
    "Arrivals",
    "Attempts",
    "BoolArray",
    "Counts",
    "Fetched",
    "FloatArray",
    "Freshness",
    "Frozen",
    "IntArray",
    "Items",
    "Key",
    "KeyArray",
    "KeyColumn",
    "KeyForm",
    "KeyPart",
    "LookUp",
    "Millis",
    "Problem",
    "Remote",
    "Repeated",
    "Row",
    "Shard",
    "Window",
    "look_up_dict",
    "number_text",
    "plain_key",
    "row_dict",
    "taken_together",
]
