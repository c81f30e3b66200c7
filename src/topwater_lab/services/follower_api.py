"""The follower service: an HTTP API and a SPARQL endpoint over the same data."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from topwater.errors import QueryError
from topwater.model import Millis
from topwater_lab.experiments.generated_evening import START
from topwater_lab.services.faults import Faults, Faulty, altered
from topwater_lab.services.follower_graph import USER, Graph
from topwater_lab.services.followers import FIRST, Followers
from topwater_lab.services.request_gate import Gate
from topwater_lab.services.service_settings import ServiceSettings

MOST = 100
"""How many users one request may ask for."""

_LARGEST_BODY = 4 * 2**20
_LOGGED = 1_000
_SHOWN = 20_000
_NOBODY = -1
_NO_TIME = JSONResponse({"error": "at must be milliseconds since 1970"}, 400)


class App:
    """What the service does with a request: limit, delay, answer, and perhaps a fault."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.followers = Followers(settings.users, settings.seed)
        self.graph = Graph(self.followers)
        self.gate = Gate(settings.rate, settings.most_at_once)
        self.faults = Faults(settings.faults, settings.fault, settings.seed)
        self.log: deque[dict[str, Any]] = deque(maxlen=_LOGGED)
        self._began = time.monotonic()

    def asgi(self) -> Starlette:
        """The application for a server."""
        return Starlette(
            routes=[
                Route("/", self.index),
                Route("/followers", self._guarded(self.users), methods=["GET", "POST"]),
                Route("/growth", self._guarded(self.users), methods=["GET", "POST"]),
                Route("/users/{key}", self._guarded(self.user)),
                Route("/sparql", self._guarded(self.sparql), methods=["GET", "POST"]),
                Route("/stats", self.stats),
                Route("/log", self.shown_log),
                Route("/elsewhere", self.elsewhere, methods=["GET", "POST"]),
            ]
        )

    def now(self) -> Millis:
        """The time of the evening that is played."""
        passed = time.time() * 1_000 - START
        return START + int(passed * self.settings.speed)

    async def index(self, _: Request) -> Response:
        """What there is."""
        last = FIRST + self.settings.users - 1
        return JSONResponse(
            {
                "users": f"{FIRST} to {last}",
                "followers": f"/followers?ids={FIRST},{last}",
                "growth": f"/growth?ids={FIRST},{last}",
                "as of a time": f"/followers?ids={FIRST},{last}&at={START}",
                "user": f"/users/{FIRST}",
                "sparql": "/sparql",
                "stats": "/stats",
            }
        )

    async def users(self, request: Request, fault: str | None) -> Response:
        """``?ids=1000,1001&at=1767225600000``, or a POST with ``{"ids": [1000, 1001]}``."""
        asked, at = await _asked(request)
        path = request.url.path
        self.log.append({"path": path, "keys": [str(key)[:_SHOWN] for key in asked]})
        moment = self._moment(at)
        if moment is None:
            return _NO_TIME
        if not 0 < len(asked) <= MOST:
            return JSONResponse({"error": f"ask for 1 to {MOST} ids"}, 400)
        self.gate.keys += len(asked)
        name = path.strip("/")
        rows = self._rows(asked, name, moment)
        return _tagged(request, {"users": altered(fault, rows, [{"id": 1, name: 1}])})

    async def user(self, request: Request, _: str | None) -> Response:
        """One user."""
        key = request.path_params["key"]
        self.log.append({"path": "/users", "keys": [key[:_SHOWN]]})
        moment = self._moment(request.query_params.get("at"))
        if moment is None:
            return _NO_TIME
        self.gate.keys += 1
        rows = self._rows([key], "followers", moment)
        return _tagged(request, rows[0]) if rows else JSONResponse({"error": "unknown"}, 404)

    async def sparql(self, request: Request, fault: str | None) -> Response:
        """A query in the address or in the body, as SPARQL 1.1 Protocol says."""
        query = await _query(request)
        if query is None:
            return JSONResponse({"error": "no query"}, 400)
        self.log.append({"path": "/sparql", "query": query[:_SHOWN]})
        moment = self._moment(request.query_params.get("at"))
        if moment is None:
            return _NO_TIME
        counts = self.followers.at(self.followers.keys, moment)
        try:
            body = await run_in_threadpool(self.graph.answer, query, counts)
        except QueryError as error:
            return JSONResponse({"error": str(error)}, 400)
        document = json.loads(body)
        if "results" in document:
            rows = document["results"]["bindings"]
            document["results"]["bindings"] = altered(fault, rows, _more(rows))
        return JSONResponse(document, media_type="application/sparql-results+json")

    async def stats(self, _: Request) -> Response:
        """What happened so far."""
        return JSONResponse(self.gate.figures(time.monotonic() - self._began))

    async def shown_log(self, _: Request) -> Response:
        """What was asked, the last thousand requests."""
        return JSONResponse(list(self.log))

    async def elsewhere(self, _: Request) -> Response:
        """Where a redirect leads that nobody should follow."""
        self.gate.elsewhere += 1
        return JSONResponse({})

    def _guarded(self, answer: Callable[[Request, str | None], Any]) -> Callable[[Request], Any]:
        """The answer, if the rate allows one, after a while, and perhaps gone wrong."""

        async def limited(request: Request) -> Response:
            import asyncio

            wait = self.gate.wait(time.monotonic())
            if wait > 0:
                headers = {"retry-after": str(math.ceil(wait))}
                return JSONResponse({"error": "too many requests"}, 429, headers)
            await asyncio.sleep(self.settings.latency)
            fault = self.faults.next()
            found: Response = await answer(request, fault)
            if fault is None:
                return found
            self.gate.faults[fault] += 1
            wrong = {"users": "many", "followers": ["many"], "results": {"bindings": "many"}}
            return Faulty(fault, found, wrong)

        return limited

    def _moment(self, at: Any) -> Millis | None:
        """The time as of which to answer: now unless given; None if what is given is not a time."""
        return self.now() if at is None else _whole(at)

    def _rows(self, asked: list[Any], name: str, moment: Millis) -> list[dict[str, Any]]:
        keys = [_NOBODY if (key := _whole(each)) is None else key for each in asked]
        read = self.followers.growth_at if name == "growth" else self.followers.at
        values = read(np.array(keys, np.int64), moment).tolist()
        return [
            {"id": key, name: int(value)}
            for key, value in zip(keys, values, strict=True)
            if not math.isnan(value)
        ]


def _whole(text: Any) -> int | None:
    """The number of milliseconds, or of a user, that a text is."""
    text = str(text)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 18 else None


async def _asked(request: Request) -> tuple[list[Any], Any]:
    """The users asked for, and the time as of which, if it is told."""
    if request.method == "GET":
        told = request.query_params
        return [key for key in told.get("ids", "").split(",") if key], told.get("at")
    try:
        found = json.loads(await request.body())
        ids = found["ids"]
    except (ValueError, LookupError, TypeError):
        return [], None
    return ids if isinstance(ids, list) else [], found.get("at")


async def _query(request: Request) -> str | None:
    if request.method == "GET":
        return request.query_params.get("query")
    body = await request.body()
    if len(body) > _LARGEST_BODY:
        return None
    kind = request.headers.get("content-type", "").split(";")[0].strip()
    try:
        text = body.decode()
        if kind == "application/sparql-query":
            return text
        return parse_qs(text, errors="strict").get("query", [None])[0]
    except ValueError:
        return None


def _tagged(request: Request, document: Any) -> Response:
    """With an ETag; and without a body for a client that has this one already."""
    body = json.dumps(document).encode()
    tag = f'"{hashlib.blake2s(body, digest_size=12).hexdigest()}"'
    headers = {"etag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


def _more(rows: list[Any]) -> list[Any]:
    """The first row again, for a user that nobody asked for."""
    user = {"type": "uri", "value": f"{USER}1"}
    return [
        {
            name: user if term["type"] == "uri" else {"type": "literal", "value": "1"}
            for name, term in row.items()
        }
        for row in rows[:1]
    ]
