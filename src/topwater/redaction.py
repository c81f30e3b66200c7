"""What may be shown of an address, or of a text that may hold one: never what may be a secret.

There are two functions, for two cases. :func:`shown_address` is for a setting that is known to be
an address, and keeps next to nothing of it. :func:`redacted` is for any text, such as a message
of a library, in which an IRI that is only a name should stay readable.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import fields

HIDDEN = "…"

_SCHEME = re.compile(r"((?:jdbc:)?[a-z][a-z0-9+.-]{0,30})://(.*)", re.IGNORECASE | re.DOTALL)
_BARE_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{1,30}:", re.IGNORECASE)
_JDBC = re.compile(r"jdbc:[a-z0-9]{1,30}:", re.IGNORECASE)
_AUTHORITY = re.compile(r"[^/?#;\\]*")
_HOST = r"(?:\[[0-9a-z:.%]{2,60}\]|[\w.-]{0,255})(?::\d{1,5})?"
_HOSTS = re.compile(rf"{_HOST}(?:,{_HOST})*", re.IGNORECASE)
_DOTTED = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+")
_MAYBE_HOST = re.compile(r"\[.*|[^:]*(?::(?:\d*|PORT))?", re.DOTALL)
"""What may be a host and a port. Anything else in front of a slash begins a password."""
_PATH = re.compile(r"[\w./~+ -]*")
_FILE_PATH = re.compile(r"[^?#]*")

_DATABASES = frozenset({"mariadb", "mssql", "mysql", "oracle", "postgres", "postgresql"})
_STORES = frozenset(
    {"abfs", "abfss", "adl", "dbfs", "gs", "hdfs", "oss", "s3", "s3a", "s3n", "viewfs", "wasb"}
    | {"wasbs"}
)
_LOCAL = frozenset({"file", "sqlite"})
"""What has a path that says which database, bucket or file is meant; others may have a token."""
_NAMES = frozenset({"http", "https"})
"""What IRIs begin with: in a text, an address may be a name of RDF."""

_IN_TEXT = re.compile(
    r"(?<![a-z0-9+.-])(?:jdbc:)?[a-z][a-z0-9+.-]{0,30}://[^\s\"'<>`|^]*", re.IGNORECASE
)
_JDBC_IN_TEXT = re.compile(r"(?<![a-z0-9])(jdbc:[a-z0-9]{1,30}:)(?!//)[^\s\"'<>]+", re.IGNORECASE)
_ONE_SLASH = re.compile(
    r"(?<![a-z0-9+.-])([a-z][a-z0-9+.-]{1,30}:/)(?!/)[^\s\"'<>]+", re.IGNORECASE
)
"""What becomes of an address that is taken for a path."""
_BARE_LOGIN = re.compile(
    r"(?<![\w.:/@-])(?!(?:mailto|acct|tag|sips?|xmpp):)"
    r"[\w.-]{1,40}:[^\s/:@\"'<>]{1,100}@(?=[\w\[])",
    re.IGNORECASE,
)
"""``user:password@``, where nothing says that this is an address, or a name as ``mailto:`` has."""
_NAMED = re.compile(
    r"(?<![?$\w.-])((?:[\w.-]{0,40}[_.-]|PG)?"
    r"(?:password|passwd|pwd|secret|token|(?:api|access|secret)[._-]?key))"
    r"([\"']?\s{0,3}=\s{0,3}|[\"']\s{0,3}:\s{0,3}|(?<=-key):\s{1,3})(\"[^\"]{0,1000}\"|'[^']{0,1000}'|[^\s\"',;&)}\]]+)",
    re.IGNORECASE,
)
_SENT = re.compile(
    r"(authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
    r"(?:basic |bearer |token |apikey |digest )?+|\bbearer )"
    r"([a-z0-9+/=._~-]{6,})",
    re.IGNORECASE,
)
_VARIABLE = r"\$(?:\w+|\{\w+\})"
_TEMPLATE_LOGIN = re.compile(rf"(?:[\w.-]*:)?{_VARIABLE}")
_SETTING = rf"[\w.-]+=(?:\{{\w+\}}|{_VARIABLE}|\d{{1,4}}|…)?"
_QUERY, _ANY_SETTING = re.compile(r"[?;]"), re.compile(r"[?;#]")
_TEMPLATE_QUERY = re.compile(rf"{_SETTING}(?:&{_SETTING})*")


def shown_address(address: object) -> str:
    """An address without user, password, settings, and without a path that may be a token.

    What can't be told apart from a password, such as an @ that stands behind a slash, hides the
    host as well.

    Examples
    --------
    >>> shown_address("https://me:secret@api.example:81/users/{key}?token=secret")
    'https://api.example:81'
    >>> shown_address("postgresql://me:sec/ret@db.example/shop?password=secret")
    'postgresql://db.example/shop'
    >>> shown_address("http://[::1]:80/secret"), shown_address("jdbc:oracle:thin:me/secret@db")
    ('http://[::1]:80', 'jdbc:oracle:…')
    """
    text = address.strip() if isinstance(address, str) else ""
    found = _SCHEME.fullmatch(text)
    if found is None:
        jdbc = _JDBC.match(text)
        return f"{jdbc[0].lower() if jdbc else ''}{HIDDEN}"
    scheme = found[1].lower()
    host, tail = _host_and_tail(scheme, found[2])
    if host is None or not _HOSTS.fullmatch(host):
        return f"{scheme}://{HIDDEN}"
    return f"{scheme}://{host}{_path(scheme, tail)}"


def shown_path(path: object) -> str:
    """A path on this machine as it is; one elsewhere as an address.

    Examples
    --------
    >>> shown_path("answers/a b"), shown_path("s3a://key:secret@bucket/a")
    ('answers/a b', 's3a://bucket/a')
    """
    text = str(path)
    if "://" in text or ("@" in text and _BARE_SCHEME.match(text)):
        return shown_address(text)
    return redacted(text)


def redacted_addresses(text: str) -> str:
    """A text in which addresses have lost their logins and settings.

    The time that it takes grows with the length of the text only.

    Examples
    --------
    >>> redacted_addresses("<http://example.org/user/1> is at http://me:secret@a.example/b")
    '<http://example.org/user/1> is at http://a.example/b'
    """
    if ":" not in text:
        return text
    text = _IN_TEXT.sub(lambda found: _without_login(found[0]), text)
    text = _JDBC_IN_TEXT.sub(lambda found: f"{found[1]}{HIDDEN}", text)
    text = _ONE_SLASH.sub(_without_path, text)
    return _BARE_LOGIN.sub(f"{HIDDEN}@", text) if "@" in text else text


def redacted(text: str) -> str:
    """A text without secrets in addresses, and with none for what is called a password or so.

    Examples
    --------
    >>> redacted("no answer from s3a://key:secret@bucket/a?sig=secret, password=secret")
    'no answer from s3a://bucket/a, password=***'
    """
    text = redacted_addresses(text)
    if ":" in text or " " in text:
        text = _SENT.sub(lambda found: f"{found[1]}***", text)
    if "=" not in text and ":" not in text:
        return text
    return _NAMED.sub(lambda found: f"{found[1]}{found[2]}{_masked(found[3])}", text)


def _host_and_tail(scheme: str, rest: str) -> tuple[str | None, str]:
    """The host and its port, and what follows; no host if it might be part of a password."""
    first = _AUTHORITY.match(rest)
    authority = first[0] if first else ""
    _, at, host = authority.rpartition("@")
    tail = rest[len(authority) :]
    if "@" not in tail or (not authority and _kind(scheme) in _LOCAL):
        return host, tail
    if at:
        return None, ""
    if _MAYBE_HOST.fullmatch(authority):
        # Not a login so far, and an @ later on: in a path, if this can be nothing but a host.
        return (authority if scheme[:4] == "http" and _DOTTED.fullmatch(authority) else None), tail
    inside, _, behind = rest.rpartition("@")
    if "=" in inside.rpartition("?")[2] and "?" in inside:
        return None, ""
    second = _AUTHORITY.match(behind)
    host = second[0] if second else ""
    return host, behind[len(host) :]


def _kind(scheme: str) -> str:
    """What it speaks, without the driver that speaks it."""
    return scheme.removeprefix("jdbc:").partition("+")[0]


def _path(scheme: str, tail: str) -> str:
    kind = _kind(scheme)
    if kind in _LOCAL:
        kept = _FILE_PATH.match(tail)
    elif kind in _DATABASES or kind in _STORES:
        kept = _PATH.match(tail)
    else:
        return ""
    return kept[0] if kept else ""


def _without_login(text: str) -> str:
    """An address that stands in a text: a path stays, as it may be the name of something."""
    address = text.rstrip(".,:;)?")  # these end the sentence, or a part of it
    scheme, _, rest = address.partition("://")
    first = _AUTHORITY.match(rest)
    authority = first[0] if first else ""
    login, at, host = authority.rpartition("@")
    tail = rest[len(authority) :]
    if "@" in tail or not (at or _MAYBE_HOST.fullmatch(host)):
        return f"{shown_address(address)}{text[len(address) :]}"
    if at and not _TEMPLATE_LOGIN.fullmatch(login):
        authority = host
    kept = tail if scheme.lower() in _NAMES else _path(scheme.lower(), tail)
    return f"{scheme}://{authority}{_without_settings(kept)}{text[len(address) :]}"


def _without_path(found: re.Match[str]) -> str:
    kind = found[1].lower().removesuffix(":/")
    plain = kind == "file" or (kind in _STORES and not re.search(r"[@?#]", found[0]))
    return found[0] if plain else f"{found[1]}{HIDDEN}"


def _without_settings(tail: str) -> str:
    found = (_ANY_SETTING if "=" in tail.partition("#")[2] else _QUERY).search(tail)
    if found is None or (found[0] == "?" and _TEMPLATE_QUERY.fullmatch(tail[found.end() :])):
        return tail
    return f"{tail[: found.start() + 1]}{HIDDEN}"


def _masked(value: str) -> str:
    plain = value.strip("\"'")
    if plain in ("***", HIDDEN) or re.fullmatch(_VARIABLE, plain):
        return value
    return "***"


def shown_settings(settings: object, hidden: Collection[str] = ()) -> str:
    """A dataclass of settings as ``repr`` shows it, without those that are hidden, and no secrets.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Place:
    ...     path: str
    ...     token: str
    >>> shown_settings(Place("s3a://key:secret@bucket/a", "secret"), hidden=("token",))
    "Place(path='s3a://bucket/a')"
    """
    names = [each.name for each in fields(settings) if each.repr and each.name not in hidden]  # type: ignore[arg-type]
    told = ", ".join(f"{name}={_shown_value(getattr(settings, name))}" for name in names)
    return f"{type(settings).__name__}({told})"


def _shown_value(value: object) -> str:
    return repr(shown_path(value) if isinstance(value, str) else value)
