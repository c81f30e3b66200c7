"""Where remote values come from: sources behind the one protocol.

>>> from topwater import remote
>>> followers = remote.http(
...     "https://api.example/users?ids={keys}", value="users[*].followers", key="users[*].id",
...     headers={"Authorization": "Bearer ${API_TOKEN}"}, rate=5,
... )
>>> followers
Stack(HttpSource('https://api.example', headers: Authorization))

Importing this loads no client of any kind; building a source loads what it needs.
"""

from topwater.remote.factory import http, memory, redis, source, sparql, sql
from topwater.remote.known_changes import Steps
from topwater.remote.look import Look
from topwater.remote.replay import Replay
from topwater.remote.wrappers.circuit_breaker import Breaker
from topwater.remote.wrappers.deadline import Guarded, guarded
from topwater.remote.wrappers.rate_limit import Limit
from topwater.remote.wrappers.record import Recording, recorded
from topwater.remote.wrappers.stack import Stack, stack

__all__ = [
    "Breaker",
    "Guarded",
    "Limit",
    "Look",
    "Recording",
    "Replay",
    "Stack",
    "Steps",
    "guarded",
    "http",
    "memory",
    "recorded",
    "redis",
    "source",
    "sparql",
    "sql",
    "stack",
]
