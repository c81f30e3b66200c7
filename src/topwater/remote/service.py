"""Where a service is and what is sent along: secrets by the name of their variable only.

``${NAME}`` in an address or in a header stands for the environment variable NAME. It is read
when a request is made, in the process that makes it, so a secret is never part of a source: not
when it is printed, pickled, or sent to another machine.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from topwater.errors import QueryError, SourceError
from topwater.redaction import shown_address
from topwater.remote.replies import Reply
from topwater.validation import mapping_of, number_of, whole_of
from topwater.validation.addresses import VARIABLE

MOST = 10_000
"""More keys than this in one request are taken for a mistake."""

REDIRECTED = "give the address that it redirects to: no other host is followed, nor a circle"

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TOKEN = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[^{}$]{8,}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Service:
    """An address and headers, both as templates.

    Examples
    --------
    >>> service = Service.of("https://me:${PASSWORD}@api.example/v1?all=1", {"X-Id": "${ID}"})
    >>> service
    Service('https://api.example', headers: Authorization, X-Id)
    >>> service.variables
    ['ID', 'PASSWORD']
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    login: tuple[str, str] | None = None

    @staticmethod
    def of(url: Any, headers: Any = None, setting: str = "url") -> Service:
        """Checked settings. A name and a password in the address become a header."""
        if not isinstance(url, str) or _CONTROL.search(url) or " " in url:
            raise QueryError(
                "is not an address",
                field=setting,
                fix="write it as https://api.example/users/{key}",
            )
        scheme, mark, rest = url.partition("://")
        if not mark or scheme.lower() not in ("http", "https"):
            raise QueryError(
                f"the scheme of {shown_address(url)} is unknown" if mark else "has no scheme",
                field=setting,
                fix="use http:// or https://",
            )
        authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
        user, at, host = authority.rpartition("@")
        if not re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^\s:\[\]{}$]+)(:\d{1,5})?", host):
            raise QueryError(
                f"the host of {shown_address(url)} can't be read",
                field=setting,
                fix="name the host in the address; keys belong behind it",
            )
        bare = f"{scheme.lower()}://{rest[len(user) + len(at) :]}"
        name, _, password = user.partition(":")
        login = (name, password) if at else None
        return Service(bare, _headers(headers), login)

    def __repr__(self) -> str:
        names = ", ".join(sorted({*self.headers, *(["Authorization"] if self.login else [])}))
        return f"Service({shown_address(self.url)!r}{f', headers: {names}' if names else ''})"

    @property
    def variables(self) -> list[str]:
        """The environment variables that are needed."""
        texts = [self.url, *self.headers.values(), *(self.login or ())]
        return sorted({name for text in texts for name in VARIABLE.findall(text)})

    @property
    def shown(self) -> str:
        """The address without anything that may be secret."""
        return shown_address(self.url)

    def require_variables(self) -> None:
        """Raise ``SourceError`` if an environment variable is not set."""
        for name in self.variables:
            if name not in os.environ:
                raise SourceError(
                    f"the environment variable {name} is not set",
                    field="headers",
                    fix=f"set {name} where the source is used, on every machine",
                )

    def secrets(self) -> list[str]:
        """All that must not be shown if a reply repeats it: variables, and what headers hold."""
        told = [os.environ.get(name, "") for name in self.variables]
        try:
            sent = [*self.sent_headers().values(), *map(filled, self.login or ())]
        except KeyError:
            sent = []
        parts = [part for value in sent for part in (value, *value.split())]
        return [form for each in (*told, *parts, *_tokens(self.url)) for form in _forms(each)]

    def sent_headers(self) -> dict[str, str]:
        """The headers with their secrets. ``KeyError`` if a variable is not set."""
        found = {name: filled(value) for name, value in self.headers.items()}
        if self.login is not None:
            plain = ":".join(unquote(filled(part)) for part in self.login)
            found["Authorization"] = f"Basic {base64.b64encode(plain.encode()).decode()}"
        return found


def _tokens(url: str) -> list[str]:
    """Parts of an address behind its host that may be a token: letters and digits, not a word."""
    parts = re.split(r"[/?&=;]", url.partition("://")[2])[1:]
    return [part for part in parts if _TOKEN.fullmatch(part)]


def _forms(secret: str) -> set[str]:
    """How a reply may write it: as it is, as in an address, or as in JSON."""
    plain = unquote(secret)
    in_json = {json.dumps(plain, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    return {secret, plain, quote(plain, safe=""), *in_json}


def filled(text: str, *, encoded: bool = False) -> str:
    """``text`` with its variables from the environment, percent-encoded for an address."""

    def value(found: re.Match[str]) -> str:
        told = os.environ[found[1]]
        return quote(told, safe="") if encoded else told

    return VARIABLE.sub(value, text)


def _headers(given: Any) -> dict[str, str]:
    if given is None:
        return {}
    for name, value in mapping_of(given, "headers", 'write {"Accept": "text/json"}').items():
        # The value itself is never told: it may be a secret.
        where = f"headers.{name}"
        if not isinstance(name, str) or not _HEADER.fullmatch(name):
            raise QueryError(
                f"{name!r} is not a name", field="headers", fix="use letters and dashes"
            )
        if not isinstance(value, str) or _CONTROL.search(value):
            raise QueryError("must be text on one line", field=where, fix="check what is given")
        if "$" in VARIABLE.sub("", value):
            raise QueryError(
                "has a $ that names no variable",
                field=where,
                fix="write ${NAME} for the environment variable NAME",
            )
    return dict(given)


def require_reached(reply: Reply, shown: str, setting: str) -> None:
    """Raise ``SourceError`` if no service answered."""
    if reply.status or reply.problem is None:
        if reply.status in (401, 403, 407):
            raise SourceError(
                f"{shown} refuses us with status {reply.status}",
                field="headers",
                fix="check the credentials that are sent",
            )
        return
    fixes = {
        "refused": "check the host and port, and that the service runs",
        "tls": "check the certificate, or name the authority with verify=",
        "timeout": "check that the service runs, or allow more time with timeout=",
        "redirect": REDIRECTED,
    }
    raise SourceError(
        f"no answer from {shown} ({reply.problem})",
        field="verify" if reply.problem == "tls" else setting,
        fix=fixes.get(reply.problem, "check that it is an HTTP service"),
    )


def positive(value: Any, field: str) -> float:
    """A number above 0, or an error that names the setting."""
    return number_of(value, field, above=0, fix="leave it out")


def most_of(per_request: Any, default: int, top: int, fix: str = "leave it out") -> int:
    """How many keys a request has at most."""
    most = default if per_request is None else per_request
    return whole_of(most, "per_request", 1, top, fix)
