"""The follower counts as RDF, in a store that answers SPARQL."""

from __future__ import annotations

import threading

import numpy as np
import pyoxigraph as ox

from topwater.errors import QueryError
from topwater.model import FloatArray
from topwater.remote.graph_pattern import tokens
from topwater_lab.services.followers import Followers

USER = "http://example.org/user/"
VOCABULARY = "http://example.org/"
_COUNT = ox.NamedNode(f"{VOCABULARY}followers")


class Graph:
    """Users with ``ex:id``, ``ex:name`` and ``ex:followers``, kept up to date."""

    def __init__(self, followers: Followers) -> None:
        self._keys = followers.keys
        self._shown: FloatArray = np.full(len(self._keys), np.nan)
        self._users = [ox.NamedNode(f"{USER}{key}") for key in self._keys.tolist()]
        self._lock = threading.Lock()
        self.store = ox.Store()
        names = [(ox.NamedNode(f"{VOCABULARY}{each}"), each) for each in ("id", "name")]
        self.store.bulk_extend(
            ox.Quad(user, name, ox.Literal(key) if kind == "id" else _name(key))
            for user, key in zip(self._users, self._keys.tolist(), strict=True)
            for name, kind in names
        )

    def answer(self, query: str, counts: FloatArray) -> bytes:
        """The results as JSON, with the users' counts as they are now.

        Raises
        ------
        QueryError
            If it is not a query that can be answered.
        """
        if any(kind == "word" and text.upper() == "SERVICE" for kind, text in tokens(query)):
            raise QueryError("SERVICE is not offered", field="query", fix="ask for users only")
        with self._lock:
            self._update(counts)
            try:
                found = self.store.query(query)
                if isinstance(found, ox.QueryTriples):
                    raise QueryError("builds a graph", field="query", fix="use SELECT or ASK")
                return found.serialize(format=ox.QueryResultsFormat.JSON) or b""
            except (SyntaxError, ValueError, OSError) as error:
                raise QueryError(str(error), field="query", fix="write SPARQL 1.1") from None

    def _update(self, counts: FloatArray) -> None:
        for row in np.flatnonzero(counts != self._shown).tolist():
            before = self._shown[row]
            if not np.isnan(before):
                self.store.remove(ox.Quad(self._users[row], _COUNT, ox.Literal(int(before))))
            self.store.add(ox.Quad(self._users[row], _COUNT, ox.Literal(int(counts[row]))))
        self._shown = counts


def _name(key: int) -> ox.Literal:
    return ox.Literal(f"user {key}", language="en")
