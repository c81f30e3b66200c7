"""Where remote values come from: sources behind the one protocol.

>>> from topwater import remote
>>> followers = remote.http(
...     "https://api.example/users?ids={keys}", value="users[*].followers", key="users[*].id",
...     headers={"Authorization": "Bearer ${API_TOKEN}"}, rate=5,
... )
>>> followers
Stack(HttpSource('https://api.example/users', headers: Authorization))

Importing this loads no client of any kind; building a source loads what it needs.
"""

from topwater.remote.breaking import Breaker
from topwater.remote.building import http, memory, source, sparql, sql
from topwater.remote.guarding import Guarded, guarded
from topwater.remote.limiting import Limit
from topwater.remote.recording import Recording, recorded
from topwater.remote.replay import Replay
from topwater.remote.stack import Stack, stack
from topwater.remote.steps import Steps

__all__ = [
    "Breaker",
    "Guarded",
    "Limit",
    "Recording",
    "Replay",
    "Stack",
    "Steps",
    "guarded",
    "http",
    "memory",
    "recorded",
    "source",
    "sparql",
    "sql",
    "stack",
]
