"""Jobs whose query is in RSP-QL: a file of its own, ``[streams]`` and ``[services]`` by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topwater.errors import QueryError
from topwater.jobs.job import Job, job_of, sink_of
from topwater.jobs.job_file import Written, text_of
from topwater.jobs.job_streams import JobStream, stream_of
from topwater.jobs.remote_side import service_of
from topwater.jobs.sinks import Sink
from topwater.validation import text_of as text_in

if TYPE_CHECKING:
    from topwater.rspql import Plan

TABLES = ("query", "streams", "services", "files", "sink", "spark", "live")
_PASS = re.compile(r"pass services=\{'?([^{}]+?)'?: …\}")
_PASS_FILE = re.compile(r"pass files=\{'([^']+)': PATH\}")
_FIX_FILE = r"pass --file '\1=PATH', or write it under [files]"
_FIX = r"pass --service '\1=URL', or write it under [services]"


def rspql_job(written: Written) -> Job:
    """The job of a query in RSP-QL."""
    written.require_known((), written.said, TABLES)
    asks = written.table("query")
    written.require_known(("query",), asks, ["rspql"])
    path = written.base / str(asks["rspql"])
    services = written.table("services")
    files = _files(written)
    plan = _planned(path, services, files)
    _check_files(written, path, plan, files)
    for name, given in services.items():
        with written.blamed("services", name):
            _check_service(plan, name, given, written.base)
    sink = sink_of(written)
    streams = _streams(written, plan, sink)
    return replace(job_of(written, plan.query(), plan, streams, services, sink), files=files)


def _files(written: Written) -> dict[str, Path]:
    """The files of static data, by the names that ``FROM`` has for them."""
    found = {}
    for name, path in written.table("files").items():
        with written.blamed("files", name):
            found[name] = written.base / text_in(path, "", 'write its path, as "rooms.ttl"')
    return found


def _streams(written: Written, plan: Plan, sink: Sink) -> dict[str, JobStream]:
    """All that the file names, among them those that the query reads."""
    from rdflib.term import URIRef

    from topwater.rspql import full_name

    streams = {}
    for name, given in written.table("streams").items():
        table = {"path": given} if isinstance(given, str) else given
        streams[name] = stream_of(written, ("streams", name), table, sink, rdf=True)
    known = {full_name(name, plan.prefixes) for name in streams}
    for window in plan.windows:
        if isinstance(window.stream, URIRef) and str(window.stream) not in known:
            raise written.error(
                f"the stream <{window.stream}> is nowhere",
                ("streams",),
                f"pass --stream '<{window.stream}>=FOLDER', or write it under [streams]",
            )
    return streams


def _check_files(written: Written, path: Path, plan: Plan, files: Mapping[str, Path]) -> None:
    """Read what will be read, to see that it can be."""
    from topwater.rspql.registration import data_of

    try:
        data_of(plan, files)
    except QueryError as error:
        if not error.field:
            fix = _PASS_FILE.sub(_FIX_FILE, error.fix)
            raise QueryError(f"{path}, {error.problem}", fix=fix) from None
        raise written.error(error.problem, ("files",), error.fix) from None


def _planned(path: Path, services: Mapping[str, Any], files: Mapping[str, Path]) -> Plan:
    """What the query says, if Spark can do it."""
    from topwater.rspql import parse

    try:
        plan = parse(text_of(path, "the query"), services=services, files=files)
    except QueryError as error:
        fix = _PASS_FILE.sub(_FIX_FILE, _PASS.sub(_FIX, error.fix))
        raise QueryError(f"{path}, {error.problem}", fix=fix) from None
    if plan.windows[0].by == "count":
        raise QueryError(
            f"{path}: windows by count depend on the order of events, which Spark does not keep",
            fix="write [RANGE PT9M STEP PT3M], or run it in Python: topwater.local.rspql",
        )
    return plan


def _check_service(plan: Plan, name: str, given: Any, base: Path) -> None:
    """Build what will be asked, to see that it can be."""
    from topwater.rspql import full_name
    from topwater.rspql.registration import source_for

    made = service_of(given, base)
    for service in plan.services:
        if full_name(name, plan.prefixes) == str(service.name):
            source_for(service, made, plan.prefixes)
