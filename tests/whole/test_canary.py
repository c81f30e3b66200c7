"""A secret in an address is told nowhere: each form of address, in each place that shows one.

Nothing here is used as it should be. Whatever comes of it, an answer or an error, is looked
through for the secret.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

import topwater.spark.java
from topwater import TopKQuery, explain, remote, tumbling
from topwater.cli import app
from topwater.errors import QueryError, SourceError, StateError
from topwater.jobs.explanation import job_explanation
from topwater.jobs.loader import read_job
from topwater.jobs.sinks import Sink
from topwater.redaction import redacted
from topwater.rspql import parse
from topwater.rspql.explanation import plan_explanation
from topwater.rspql.registration import source_for
from topwater.streams import KafkaStream, stream_settings
from topwater.streams.sockets import SocketFeed
from topwater.streams.spool import Spool
from topwater.validation import address_of

C = "hu5hQu1et"

FORMS = {
    "a login": f"http://me:{C}@127.0.0.1:9/u/{{key}}",
    "a user alone": f"https://{C}@127.0.0.1:9/u/{{key}}",
    "IPv6": f"http://me:{C}@[::1]:9/u/{{key}}",
    "a setting": f"http://127.0.0.1:9/u/{{key}}?token={C}",
    "a setting of any name": f"http://127.0.0.1:9/u/{{key}}?x={C}",
    "a path": f"http://127.0.0.1:9/{C}/{{key}}",
    "a fragment": f"http://127.0.0.1:9/{{key}}#access={C}",
    "an @ in the password": f"http://me:a@{C}@127.0.0.1:9/{{key}}",
    "a slash in the password": f"http://me:a/{C}@127.0.0.1:9/{{key}}",
    "a slash and an @": f"http://me:a@{C}/b@127.0.0.1:9/{{key}}",
    "a mistyped scheme": f"htp://me:{C}@127.0.0.1:9/{C}/{{key}}?token={C}",
    "a scheme with one slash": f"http:/me:{C}@127.0.0.1:9/{{key}}",
    "no scheme": f"me:{C}@127.0.0.1:9/{{key}}",
    "a space": f"http://me:{C}@127.0.0.1:9/a b/{{key}}",
    "a port that is none": f"http://me:{C}@127.0.0.1:port/{{key}}",
    "mqtt, a setting": f"mqtt://127.0.0.1:9?password={C}",
    "mqtt, a login": f"mqtt://me:{C}@127.0.0.1:9",
    "mqtt, a path": f"mqtt://127.0.0.1:9/{C}",
    "tcp, a login": f"tcp://me:a@{C}@127.0.0.1:9",
    "postgresql": f"postgresql://me:{C}@127.0.0.1:9/shop",
    "postgresql, an @": f"postgresql://me:a@{C}@127.0.0.1:9/shop",
    "postgresql, a slash": f"postgresql://me:a/{C}@127.0.0.1:9/shop",
    "postgresql, a setting": f"postgresql://127.0.0.1:9/shop?password={C}",
    "redis": f"redis://me:{C}@127.0.0.1:9/0",
    "redis, a slash": f"redis://me:{C}/a@127.0.0.1:9",
    "redis, a setting": f"redis://127.0.0.1:9?password={C}",
    "redis, a path": f"rediss://127.0.0.1:9/{C}",
    "a database nobody knows": f"nosuch://me:{C}@127.0.0.1:9/shop",
    "sqlite, a key": f"sqlite:///no/such/file.db?key={C}",
    "s3a": f"s3a://key:{C}@bucket/a",
    "s3a, a slash": f"s3a://key:a/{C}@bucket/a",
    "jdbc, settings": f"jdbc:postgresql://127.0.0.1:9/shop?user=me&password={C}",
    "jdbc, semicolons": f"jdbc:sqlserver://127.0.0.1:9;user=me;password={C}",
    "jdbc, oracle": f"jdbc:oracle:thin:me/{C}@127.0.0.1:9:shop",
    "NFKC": f"http://me:{C}@h\u2100st/{{key}}",
}  # fmt: skip

WINDOW = tumbling("1 min")
SPARQL = {"pattern": "?u <x:f> ?f", "key": "u", "value": "f"}


def errors_told(error: BaseException | None) -> Iterator[str]:
    """All that can be seen of an error, and of those that led to it."""
    while error is not None:
        yield "".join(traceback.format_exception(error))
        yield repr(error)
        yield repr(vars(error))
        error = error.__cause__ or error.__context__


def source_told(source: Any) -> Iterator[str]:
    """A source and all that is in it, and what it says if it can't be reached."""
    with contextlib.closing(source):
        with contextlib.suppress(SourceError):
            source.start()
        inner = source
        while inner is not None:
            yield from (repr(inner), str(inner))
            inner = getattr(inner, "source", None)
        try:
            source.check()
        except SourceError as error:
            yield from errors_told(error)


def in_source(url: str, _: Path) -> Iterator[str]:
    yield from source_told(remote.source(url, value="v", retries=0))


def in_http(url: str, _: Path) -> Iterator[str]:
    yield from source_told(remote.http(url, value="v", timeout=1.0))


def in_sparql(url: str, _: Path) -> Iterator[str]:
    yield from source_told(remote.sparql(url, **SPARQL, timeout=1.0))  # type: ignore[arg-type]


def in_sql(url: str, _: Path) -> Iterator[str]:
    yield from source_told(remote.sql(url, table="t", key="k", value="v", timeout=1.0))


def in_redis(url: str, _: Path) -> Iterator[str]:
    yield from source_told(remote.redis(url, timeout=1.0, retries=0))


def in_a_service_of_rspql(url: str, _: Path) -> Iterator[str]:
    plan = parse(QUERY, services={":b": url})
    assert plan.service is not None
    yield repr(plan)
    yield repr(source_for(plan.service, url, plan.prefixes))


def in_a_query_of_rspql(url: str, folder: Path) -> Iterator[str]:
    (folder / "q.rq").write_text(QUERY.replace("SERVICE :b", f"SERVICE <{url}>"))
    for more in ([], ["--json"]):
        yield CliRunner().invoke(app, ["explain", str(folder / "q.rq"), *more]).output
    yield CliRunner().invoke(app, ["run", str(folder / "q.rq"), "--check"]).output


def in_an_address(url: str, _: Path) -> Iterator[str]:
    yield str(address_of(url, {"mqtt": 1883, "tcp": 0}))


def in_mqtt(url: str, folder: Path) -> Iterator[str]:
    settings = {"kind": "mqtt", "url": url, "topics": ["a"], "schema": "a int"}
    yield repr(stream_settings({**settings, "spool": str(folder / "spool")}))


def in_kafka(url: str, _: Path) -> Iterator[str]:
    yield repr(KafkaStream(servers=url, topics=("a",), schema="a int"))
    yield str(Sink.of({"kind": "kafka", "servers": url, "topic": "a"}, Path()))


def in_files(url: str, _: Path) -> Iterator[str]:
    for kind in ("files", "replay"):
        with contextlib.suppress(QueryError):
            made = stream_settings(
                {"kind": kind, "path": url, "schema": "time timestamp", "spool": url}
            )
            yield repr(made)
        made = stream_settings({"kind": kind, "path": url, "schema": "time timestamp"})
        yield from (repr(made), str(made))
    made = stream_settings({"format": "delta", "path": url, "options": {"url": url}})
    yield from (repr(made), str(made))


def in_a_sink(url: str, folder: Path) -> Iterator[str]:
    jdbc = {"format": "jdbc", "checkpoint": url, "options": {"url": url}}
    delta = {"format": "delta", "path": url, "options": {"url": url}}
    for settings in ({"kind": "parquet", "path": url}, {"checkpoint": url}, jdbc, delta):
        made = Sink.of(settings, folder)
        yield from (repr(made), str(made))


def in_the_wrong_setting(url: str, _: Path) -> Iterator[str]:
    for build in (
        lambda: remote.http("http://h/{key}", value="v", headers=url),  # type: ignore[arg-type]
        lambda: remote.http("http://h/{key}", value="v", headers={"A": [url]}),  # type: ignore[dict-item]
        lambda: remote.http("http://h/{key}", value="v", at_start=url),  # type: ignore[arg-type]
        lambda: remote.source({"kind": url}),
        lambda: remote.source({"url": [url]}),
        lambda: TopKQuery(key="k", time="t", window=WINDOW, score="v", k=url),  # type: ignore[arg-type]
    ):
        try:
            yield repr(build())
        except QueryError as error:
            yield from errors_told(error)


def in_an_error(url: str, _: Path) -> Iterator[str]:
    for kind in (QueryError, SourceError):
        yield from errors_told(
            kind(f"can't read {url!r}", field=f"services.{url}", fix=f"see {url}")
        )
    yield from errors_told(StateError(f"no state in {url}", fix=f"see {url}"))


def in_a_job(url: str, folder: Path) -> Iterator[str]:
    """As the address of a source: told by explain, run --check, and the job itself."""
    yield from job_told(folder, source={"url": url, "value": "v", "at_start": "ignore"})


def in_a_job_s_stream(url: str, folder: Path) -> Iterator[str]:
    yield from job_told(folder, stream={**STREAM, "path": url})
    yield from job_told(folder, stream={**STREAM, "kind": "mqtt", "url": url, "topics": ["a"]})


def in_a_job_s_sink(url: str, folder: Path) -> Iterator[str]:
    for sink in ({"kind": "json", "path": url}, {"checkpoint": url}, {"kind": url}):
        yield from job_told(folder, sink=sink)


def in_an_option(url: str, folder: Path) -> Iterator[str]:
    path = job_file(folder)
    for option in (["--set", url], ["--set", f"sink.path={url}"], ["--stream", url]):
        yield CliRunner().invoke(app, ["run", path, "--check", "--debug", *option]).output
    yield CliRunner().invoke(app, ["explain", url, "--debug"]).output


def in_a_spool(url: str, folder: Path) -> Iterator[str]:
    """What is kept in the folder, whatever was given."""
    settings = {"kind": "socket", "url": url, "schema": "a int", "spool": str(folder / "spool")}
    try:
        made = stream_settings(settings)
        with Spool(folder / "spool") as spool:
            SocketFeed(made, spool).check()  # type: ignore[arg-type]
    finally:
        yield from (str(path.read_bytes()) for path in (folder / "spool").glob("*"))


QUERY = """PREFIX : <http://x/>
SELECT ?u (?n + ?f AS ?score)
FROM NAMED WINDOW :w ON :s [RANGE PT1M]
WHERE { WINDOW :w { ?u :p ?n } SERVICE :b { ?u :f ?f } }
ORDER BY DESC(?score) LIMIT 2
"""
STREAM = {"kind": "files", "path": ".", "schema": "who string, at timestamp"}
JOB: dict[str, Any] = {
    "query": {"key": "who", "time": "at", "window": "1 min", "take": {"n": "count"}, "k": 1},
    "stream": STREAM,
}


def job_file(folder: Path, **tables: Any) -> str:
    remote_part = {"score": "n + f", "refresh": "f"} if "source" in tables else {"score": "n"}
    path = folder / "job.yaml"
    path.write_text(json.dumps({**JOB, "query": {**JOB["query"], **remote_part}, **tables}))
    return str(path)


def job_told(folder: Path, **tables: Any) -> Iterator[str]:
    path = job_file(folder, **tables)
    for command in (["explain", path], ["explain", path, "--json"], ["run", path, "--check"]):
        yield CliRunner().invoke(app, [*command, "--debug"]).output
    with contextlib.suppress(QueryError):
        job = read_job(path)
        yield from (repr(job), repr(job.sink), str(job.sink), repr(job.streams))
        kept = Sink.of({"kind": "json", "path": str(folder / "out")}, folder)
        kept.explain(str(job_explanation(job)))
        yield (folder / "out" / "_explained.txt").read_text()


Place = Callable[[str, Path], Iterator[str]]
QUICK: tuple[Place, ...] = (
    in_source, in_http, in_sparql, in_sql, in_redis, in_a_service_of_rspql, in_an_address, in_mqtt,
    in_kafka, in_files, in_a_sink, in_the_wrong_setting, in_an_error, in_a_spool,
)  # fmt: skip
COMMANDS: tuple[Place, ...] = (
    in_a_query_of_rspql, in_a_job, in_a_job_s_stream, in_a_job_s_sink, in_an_option,
)  # fmt: skip
SHORT = ("a slash and an @", "a path", "mqtt, a setting", "s3a, a slash", "jdbc, settings")
"""The forms that commands are tried with each time; a soak tries all."""


@pytest.fixture(autouse=True)
def java(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not looked for: that takes longer than all the rest."""
    monkeypatch.setattr(topwater.spark.java, "find_java", lambda: SimpleNamespace(command="java"))


@pytest.fixture
def heard() -> Iterator[io.StringIO]:
    """All that our loggers say."""
    said = io.StringIO()
    handler, logger = logging.StreamHandler(said), logging.getLogger("topwater")
    logger.addHandler(handler)
    yield said
    logger.removeHandler(handler)


NAMES = ("a path", (in_an_error, in_a_query_of_rspql))
"""In a text, an address of HTTP may be the name of something in RDF: its path stays."""


def require_silence(form: str, place: Place, folder: Path, heard: io.StringIO) -> None:
    if form == NAMES[0] and place in NAMES[1]:
        return
    seen: list[str] = []
    try:
        seen.extend(place(FORMS[form], folder))
    except Exception as error:
        seen += errors_told(error)
    assert seen
    for each in (*seen, heard.getvalue()):
        assert C not in each, each


def name_of(place: Place) -> str:
    return place.__name__


@pytest.mark.parametrize("place", QUICK, ids=name_of)
@pytest.mark.parametrize("form", FORMS)
def test_no_address_tells_its_secret(
    form: str, place: Place, tmp_path: Path, heard: io.StringIO
) -> None:
    require_silence(form, place, tmp_path, heard)


@pytest.mark.parametrize("place", COMMANDS, ids=name_of)
@pytest.mark.parametrize("form", SHORT)
def test_no_command_tells_a_secret(
    form: str, place: Place, tmp_path: Path, heard: io.StringIO
) -> None:
    require_silence(form, place, tmp_path, heard)


@pytest.mark.soak
@pytest.mark.parametrize("place", COMMANDS, ids=name_of)
@pytest.mark.parametrize("form", [each for each in FORMS if each not in SHORT])
def test_no_command_tells_a_secret_in_any_form(
    form: str, place: Place, tmp_path: Path, heard: io.StringIO
) -> None:
    require_silence(form, place, tmp_path, heard)


def test_an_explanation_is_free_of_secrets() -> None:
    query = TopKQuery(key="k", time="t", window=WINDOW, score="v", k=1)
    assert redacted(explain(query)) == explain(query)
    whole = str(plan_explanation(parse(QUERY, services={":b": "http://h"})))
    assert redacted(whole) == whole
