"""Sources that know nothing of RDF, asked for its terms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from topwater.model import Fetched, Key, KeyArray
from topwater.protocols import Source
from topwater.remote.look import Look, no_value
from topwater.remote.wrappers.wrapper import Around
from topwater.rspql.rdf.triples import unquoted


class KeySource(Around):
    """Asks by what follows a namespace in an IRI, and by the text of a literal.

    A term that is in no such namespace, or is a blank node, has no value.

    Parameters
    ----------
    source
        What is asked.
    namespace
        What stands before every key; nothing for IRIs as they are.

    Examples
    --------
    >>> from topwater.remote import memory
    >>> source = KeySource(memory({"7": 1.5}), "http://example.org/user/")
    >>> keys = np.array(["http://example.org/user/7", "http://example.org/7", '"7"'], object)
    >>> source.fetch(keys).values.tolist()
    [1.5, nan, 1.5]
    """

    def __init__(self, source: Source, namespace: str = "") -> None:
        super().__init__(source)
        self.namespace = namespace

    def fetch(self, keys: KeyArray, deadline: float | None = None) -> Fetched:
        """The values of ``keys``, within ``deadline`` seconds."""
        names = [self._name(text) for text in keys.tolist()]
        known = np.array([name is not None for name in names], np.bool_)
        asked = np.array([name for name in names if name is not None], object)
        if known.all():
            return self.source.fetch(asked, deadline)
        nothing = Fetched.nothing(len(keys))
        if not len(asked):
            return nothing
        got = self.source.fetch(asked, deadline)
        return replace(nothing.put(np.flatnonzero(known), got), seconds=got.seconds, wait=got.wait)

    def check(self, key: Key | None = None) -> Look | None:
        """Raise ``SourceError`` if the source can't be reached, or has no value for a key."""
        name = None if key is None else self._name(str(key))
        if key is not None and name is None:
            fix = f"it must begin with the namespace {self.namespace}"
            raise no_value(key, "not_found", field="namespace", fix=fix)
        return super().check(name)

    def _name(self, text: str) -> str | None:
        if text.startswith('"'):
            return unquoted([text])[0]
        if text.startswith("_:") or not text.startswith(self.namespace):
            return None
        return text[len(self.namespace) :] or None
