"""What stands between keys as they are inside and a source: it gets them as the stream had them."""

from __future__ import annotations

from topwater.model import Fetched, KeyArray, KeyForm
from topwater.protocols import Source
from topwater.remote.wrappers.wrapper import Around


class TypedKeys(Around):
    r"""A source that is asked by keys as they are inside.

    Parameters
    ----------
    source
        It gets integers and text as they are, and an array of objects for keys of other types:
        tuples for keys of several columns.
    form
        What keys were; None as long as no event came.

    Examples
    --------
    >>> import numpy as np
    >>> from topwater.model import KeyColumn
    >>> from topwater.remote import memory
    >>> form = KeyForm((KeyColumn("product", "text"), KeyColumn("country", "text")))
    >>> source = TypedKeys(memory({("tea", "DE"): 3.0}), form)
    >>> source.fetch(np.array(["tea\x01DE"], object)).values.tolist()
    [3.0]
    """

    def __init__(self, source: Source, form: KeyForm | None = None) -> None:
        super().__init__(source)
        self.form = form

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys``, within ``deadline`` seconds."""
        if self.form is not None:
            keys = self.form.keys(keys)
        return self.source.fetch(keys, deadline)
