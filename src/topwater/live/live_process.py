"""`topwater live`: the page for a folder of answers, as a process of its own.

So it outlives the stream: what a stream that was stopped and started again writes is shown on.
"""

from __future__ import annotations

import contextlib
import functools
import ipaddress
import signal
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from topwater.errors import QueryError
from topwater.live.folder import EXPLAINED, Folder
from topwater.live.page import Page

EVERY = 0.5
"""Seconds between looks at the folder."""


def watch(
    place: str,
    told: Callable[[str], None],
    *,
    host: str,
    port: int,
    title: str = "",
    explained: str = "",
    known_as: Collection[str] = (),
    opened: Callable[[str], object] | None = None,
) -> None:
    """Show a folder of answers until Ctrl-C or SIGTERM.

    Parameters
    ----------
    place
        The folder; it need not be there yet.
    told
        Gets lines for people: where the page is, and what is wrong.
    host, port, title, explained, known_as
        As for :meth:`topwater.live.Page.started`.
    opened
        Called with the page's address once it is there.

    Raises
    ------
    QueryError
        If the place is not a folder of this machine.
    EnvironmentProblem
        If the port can't be used.
    """
    path = _path(place)
    folder = Folder(path)
    title, explained = title or path.name or str(path), explained or _where(path)
    page_of = functools.partial(Page.started, title, explained, known_as=known_as)
    with _ending() as end, page_of(host=host, port=port) as page:
        if not is_loopback(host):
            told(
                "warning: anybody who can reach this machine can read the page; it has no password"
            )
        told(f"{page.url} shows what is written to {path}; Ctrl-C ends it")
        if opened is not None:
            opened(page.url)
        while not end.is_set():
            _look(folder, page, told)
            end.wait(EVERY)


def _look(folder: Folder, page: Page, told: Callable[[str], None]) -> None:
    empty = True
    for record in folder.news():
        page.put(record)
        empty = False
    if empty:
        page.waits(folder.state())
    if folder.passed_over:
        more = len(folder.passed_over) - 1
        problem = folder.passed_over[0] + (f", and {more} more like it" if more else "")
        folder.passed_over.clear()
        page.note(f"passed over: {problem}")
        told(f"warning: passed over: {problem}")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine only.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _path(place: str) -> Path:
    if "://" in place and not place.startswith("file://"):
        raise QueryError(
            f"{place} is not on this machine",
            field="place",
            fix="give a folder of this machine, or mount it",
        )
    path = Path(place.removeprefix("file://")).absolute()
    if path.exists() and not path.is_dir():
        raise QueryError(
            f"{path} is a file", field="place", fix="give the folder that the stream writes to"
        )
    return path


def _where(path: Path) -> str:
    """What the job left beside its answers, if one wrote them."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return (path / EXPLAINED).read_text(encoding="utf-8")
    return f"Answers that a stream writes to {path}, as they are committed."


@contextlib.contextmanager
def _ending() -> Iterator[threading.Event]:
    """A flag that Ctrl-C and SIGTERM set; only the main thread gets signals."""
    end = threading.Event()
    here = threading.current_thread() is threading.main_thread()
    wanted = [signal.SIGINT, signal.SIGTERM] if here else []
    before = {each: signal.signal(each, lambda *_: end.set()) for each in wanted}
    try:
        yield end
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
