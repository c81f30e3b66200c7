"""Where a database is, and its password, in an environment variable instead of the URL."""

from __future__ import annotations

import os
import re

import sqlalchemy as sa
from sqlalchemy import exc

from topwater.errors import QueryError

_REFERENCE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")


class Unset(Exception):
    """An environment variable that is needed and not there."""


def from_environment(name: str) -> str:
    """The value of a variable; the error has its name."""
    try:
        return os.environ[name]
    except KeyError:
        raise Unset(name) from None


def read_url(url: str, password_env: str | None) -> tuple[sa.URL, str | None]:
    """The URL without a password that is in the environment, and the name of that variable."""
    fix = "write it like postgresql://ann:$DB_PASSWORD@db.example/shop or sqlite:///users.db"
    problem, read = "", None
    try:
        read = sa.make_url(url)
        if read.drivername in ("postgresql", "postgres"):
            read = read.set(drivername="postgresql+psycopg")
        dialect = read.get_dialect()
        dialect.import_dbapi()
        if dialect.is_async:
            problem, fix = f"{read.drivername} is asynchronous", "use another driver"
    except exc.NoSuchModuleError:
        problem = f"no database is known as {getattr(read, 'drivername', '')!r}"
    except (exc.ArgumentError, ValueError, TypeError, AttributeError):
        problem = "is not the URL of a database"
    except ImportError as error:
        wanted = "'topwater[postgres]'" if error.name == "psycopg" else error.name
        problem, fix = f"its driver {error.name} is not installed", f"pip install {wanted}"
    # Raised here, so that the error has no context that tells the URL.
    if problem or read is None:
        raise QueryError(problem, field="url", fix=fix)
    if "@" in (read.host or ""):
        raise QueryError(
            "has an @ that does not end its login",
            field="url",
            fix="write %40 for an @ in a password, or name its variable with password_env",
        )
    named = _REFERENCE.fullmatch(str(read.password or ""))
    if named is None:
        return _with_variable(read, password_env)
    if password_env is not None:
        raise QueryError(
            "the URL names another variable", field="password_env", fix="leave one of them out"
        )
    return read._replace(password=None), named[1] or named[2]


def _with_variable(url: sa.URL, password_env: str | None) -> tuple[sa.URL, str | None]:
    if password_env is None:
        return url, None
    if url.password is not None:
        raise QueryError(
            "the URL has a password already", field="password_env", fix="leave one of them out"
        )
    if type(password_env) is not str or not re.fullmatch(r"[A-Za-z_]\w*", password_env):
        # What stands there may be the password itself.
        raise QueryError(
            "is not the name of an environment variable",
            field="password_env",
            fix='write the name of the variable, like "PGPASSWORD"',
        )
    return url, password_env
