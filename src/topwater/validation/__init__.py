"""The one place where settings are checked: names, numbers, texts, durations, and calls.

Every function is given a value and the setting that it stands in (``field``), and returns the
value as the rest of the code wants it; or raises :class:`~topwater.errors.QueryError`, which says
what is wrong and how to put it right. A name that is not known is told with the nearest one that
is.

>>> from topwater.validation import choice_of
>>> choice_of("larget", ("largest", "smallest"), "order")
Traceback (most recent call last):
...
topwater.errors.QueryError: order: 'larget' is unknown
  fix: did you mean largest?
"""

from topwater.validation.addresses import (
    Address,
    address_of,
    listening_of,
    path_of,
    secret_of,
)
from topwater.validation.calls import checked_call, made_from, setting_names
from topwater.validation.durations import FARTHEST, millis, span
from topwater.validation.names import (
    choice_of,
    column_of,
    columns_of,
    nearest,
    require_given,
    require_known,
    shown,
    suggestion,
    text_of,
    texts_of,
    unknown,
)
from topwater.validation.sizes import bytes_of, size_text
from topwater.validation.values import (
    Range,
    ends_of,
    flag_of,
    mapping_of,
    number_of,
    numbers_of,
    range_of,
    whole_of,
)

__all__ = [
    "FARTHEST",
    "Address",
    "Range",
    "address_of",
    "bytes_of",
    "checked_call",
    "choice_of",
    "column_of",
    "columns_of",
    "ends_of",
    "flag_of",
    "listening_of",
    "made_from",
    "mapping_of",
    "millis",
    "nearest",
    "number_of",
    "numbers_of",
    "path_of",
    "range_of",
    "require_given",
    "require_known",
    "secret_of",
    "setting_names",
    "shown",
    "size_text",
    "span",
    "suggestion",
    "text_of",
    "texts_of",
    "unknown",
    "whole_of",
]
