"""A starter project: a job that runs as it stands, with a comment on every setting."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from string import Template

import numpy as np

from topwater.errors import QueryError

MINUTES = 20
_START = datetime(2026, 1, 1, 20, 0, tzinfo=UTC)
_USERS = range(1_000, 1_060)  # the example service knows the followers of users 1000 to 1399
_PER_MINUTE = 40
_SEED = 7
_PLACE = "http://example.org/"
_INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


@dataclass(frozen=True, slots=True)
class Project:
    """What was written, and where."""

    folder: Path
    files: tuple[str, ...]

    def lines(self) -> list[str]:
        """What to tell the user."""
        here = self.folder == Path()
        go = "" if here else f"cd {self.folder} && "
        return [
            *(f"wrote {self.folder / name}" for name in self.files),
            f"next: {go}topwater run job.toml",
        ]


def start_project(folder: Path, *, rspql: bool = False) -> Project:
    """Write a starter project.

    Raises
    ------
    QueryError
        If the folder holds files already, as nothing is ever overwritten, or can't be made.
    """
    if re.match(r"[a-z][a-z0-9+.-]+:/", str(folder), re.IGNORECASE):  # a path has lost a slash
        raise QueryError(
            "an address is not a folder of this machine", fix="name a folder that is not there"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise QueryError(
            f"{folder} is there already, and is not empty", fix="name a folder that is not there"
        )
    files = _rspql_files() if rspql else _files()
    try:
        _write(folder, files)
    except OSError as error:
        raise QueryError(
            f"{folder} can't be written: {error.strerror}", fix="name a folder that can be made"
        ) from None
    return Project(folder, tuple(files))


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def mentions() -> Iterator[tuple[datetime, int]]:
    """The recorded stream: who was mentioned when. A few users have most of it."""
    draw = np.random.default_rng(_SEED)
    weights = 1.0 / np.arange(1, len(_USERS) + 1) ** 0.8
    for minute in range(MINUTES):
        # Who is talked about changes in the course of an evening.
        order = np.roll(weights, 2 * (minute // 3))
        users = draw.choice(_USERS, _PER_MINUTE, p=order / order.sum())
        seconds = np.sort(draw.uniform(0, 60, _PER_MINUTE))
        for second, user in zip(seconds.tolist(), users.tolist(), strict=True):
            yield _START + timedelta(minutes=minute, milliseconds=round(second * 1_000)), user


def _files() -> dict[str, str]:
    lines = [json.dumps({"user": user, "at": _iso(when)}) for when, user in mentions()]
    return {
        "job.toml": _JOB,
        "events/mentions.jsonl": "\n".join(lines) + "\n",
        "README.md": _readme("job.toml", "the query, the stream, the source and the sink"),
        ".gitignore": _IGNORED,
    }


def _rspql_files() -> dict[str, str]:
    lines = [
        f'{_iso(when)}\t<{_PLACE}user/{user}> <{_PLACE}mentioned> "1"^^<{_INTEGER}> .'
        for when, user in mentions()
    ]
    return {
        "query.rq": _QUERY,
        "job.toml": _RSPQL_JOB,
        "events/mentions.nt": "\n".join(lines) + "\n",
        "README.md": _readme("query.rq", "the query; job.toml says where its streams are"),
        ".gitignore": _IGNORED,
    }


def _iso(when: datetime) -> str:
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _readme(first: str, what: str) -> str:
    return Template(_README).substitute(first=first, what=what)


_JOB = """\
# Who is worth a message: often mentioned in the last three minutes, and widely followed.
# Run it with `topwater run job.toml`; `topwater run job.toml --check` says what it would do.

[query]
key = "user"                          # the column that names what is ranked
time = "at"                           # the column that says when an event happened
window = "3 min every 1 min"          # the last three minutes, answered every minute
take = { mentions = "count" }         # what the stream says of each user in a window
score = "1000 * mentions + 0.2 * followers"
k = 3                                 # the three best
lateness = "5 s"                      # how far events may come out of order

[query.refresh]                       # the remote part of the score
remote = "followers"                  # its name in the score
policy = "worth"                      # which users to look up: those that matter most
budget = 7                            # look-ups a window

[stream]                              # a recorded evening, played sixty times as fast
kind = "replay"                       # also: files, kafka, mqtt, socket, python; or without kind
                                      # format = "delta", or table = "cat.db.events"
path = "events"
pattern = "*.jsonl"
format = "json"
schema = "user bigint, at timestamp"
time = "at"
speed = 60                            # 1 is its own pace, "max" as fast as it goes

[source]                              # where followers are looked up
url = "example:followers"             # a service that is started for the run; in earnest:
# url = "https://api.example/users?ids={keys}"
# value = "users[*].followers"        # where in the answer the numbers are,
# key = "users[*].id"                 # and the users that they belong to
# headers = { Authorization = "Bearer ${API_TOKEN}" }
# rate = 5                            # requests a second

[sink]                                # where answers go, besides the terminal
kind = "parquet"                      # also: json, csv, orc, kafka, python, console
path = "answers"                      # how far it came is kept in answers/_checkpoint
# format = "delta"                    # in place of kind: anything that Spark writes, or
# table = "cat.db.answers"            # a table; [spark] names the package that has it
# trigger = "5 s"                     # the time between micro-batches
"""

_QUERY = """\
# Who is worth a message: often mentioned in the last three minutes, and widely followed.
PREFIX : <http://example.org/>
PREFIX user: <http://example.org/user/>
REGISTER RSTREAM :UsersToContact AS
SELECT ?user (COUNT(?n) AS ?mentions) ?followers ((1000 * COUNT(?n) + 0.2 * ?followers) AS ?score)
FROM NAMED WINDOW :W ON :Mentions [RANGE PT3M STEP PT1M]
WHERE {
  WINDOW :W         { ?user :mentioned ?n }
  SERVICE :Profiles { ?user :followers ?followers }
}
GROUP BY ?user ?followers
ORDER BY DESC(?score) LIMIT 3
WITH BUDGET 7 FETCHES POLICY worth
"""

_RSPQL_JOB = """\
# Where the stream and the service of query.rq are, and where its answers go.
# Run it with `topwater run job.toml`; `topwater run job.toml --check` says what it would do.

[query]
rspql = "query.rq"

[streams.":Mentions"]                 # a recorded evening, played sixty times as fast
kind = "replay"                       # also: files, kafka, mqtt, socket, python
path = "events"
pattern = "*.nt"
format = "ntriples"                   # lines of "TIME<TAB>TRIPLES"; also nquads, jsonld
speed = 60                            # 1 is its own pace, "max" as fast as it goes

[services.":Profiles"]                # where followers are looked up
url = "example:followers"             # a SPARQL endpoint that is started for the run; in earnest:
# url = "https://data.example/sparql"
# or an HTTP service, asked by what follows the namespace in ?user:
# kind = "http"
# url = "https://api.example/users?ids={keys}"
# value = "users[*].followers"
# key = "users[*].id"
# namespace = "user:"

[sink]                                # where answers go, besides the terminal
kind = "parquet"                      # also: json, csv, orc, kafka, python, console
path = "answers"                      # how far it came is kept in answers/_checkpoint
# format = "delta"                    # in place of kind: anything that Spark writes, or
# table = "cat.db.answers"            # a table; [spark] names the package that has it
"""

_README = """\
# A Topwater job

Who is worth a message: often mentioned in the last three minutes, and widely followed? The
mentions are a recorded evening in `events`, the followers are looked up at an example service
that is started for the run: seven look-ups a window. (`pip install "topwater[lab]"` has it.)

    topwater run job.toml              # until Ctrl-C; a second run goes on where this one stopped
    topwater run job.toml --live       # and watch it in a browser
    topwater run job.toml --check      # is all there that it needs?
    topwater explain job.toml          # what it would do, and what is exact

Start with `$first`: $what. To begin anew, remove `answers`.

The answers are in `answers`, as parquet, one row per window and rank:

    python -c "import pandas; print(pandas.read_parquet('answers'))"
"""

_IGNORED = """\
answers/
"""
