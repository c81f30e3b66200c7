"""Which settings a session gets, of those that were asked for, the user's own and ours."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from topwater.errors import EnvironmentProblem

MASTER, NAME, PACKAGES = "spark.master", "spark.app.name", "spark.jars.packages"
PARTITIONS = "spark.sql.shuffle.partitions"
HERE = "local[*,4]"
"""All cores of this machine, each task being tried four times, as on a cluster. With ``local[*]``
a Python worker that is killed ends the query."""
_LONGEST_SOCKET_FOLDER = 60  # a socket's path has at most 104 to 108 bytes, 43 of them its name


class Asked(NamedTuple):
    """What a call of :func:`topwater.spark.session` asks for; what it leaves open is None.

    Attributes
    ----------
    name, master, shuffle_partitions, packages, conf
        As there.
    """

    name: str | None = None
    master: str | None = None
    shuffle_partitions: int | None = None
    packages: Sequence[str] = ()
    conf: Mapping[str, str] = {}


def chosen_settings(
    asked: Asked, defaults: Mapping[str, str], ours: Mapping[str, str], folder: Path | None
) -> dict[str, str]:
    """The settings of a session: what was asked for, then the user's defaults, then ours.

    Parameters
    ----------
    asked
        By the program; ``conf`` wins over the rest of it.
    defaults
        See :func:`topwater.spark.user_defaults.user_defaults`.
    ours
        What Topwater needs, or is faster with.
    folder
        Where the files of a session go whose Java is started here; None if it runs already.
    """
    given = {MASTER: asked.master, NAME: asked.name}
    if asked.shuffle_partitions is not None:
        given[PARTITIONS] = str(asked.shuffle_partitions)
    told = {**defaults, **{name: value for name, value in given.items() if value is not None}}
    if asked.packages:
        told[PACKAGES] = _packages(asked.packages, defaults.get(PACKAGES, ""), folder)
    told |= asked.conf
    own = {MASTER: HERE, NAME: "topwater", "spark.sql.session.timeZone": "UTC", **ours}
    if folder is not None:
        own |= host_settings(told.get(MASTER, HERE), folder)
    return own | told


def _packages(wanted: Sequence[str], there: str, folder: Path | None) -> str:
    found = [each for each in there.split(",") if each]
    missing = [each for each in wanted if each not in found]
    if missing and folder is None:
        raise EnvironmentProblem(
            f"spark-submit was started without {missing[0]}",
            fix=f"add --packages {','.join([*found, *missing])}",
        )
    return ",".join([*found, *missing])


def host_settings(master: str, folder: Path) -> dict[str, str]:
    """What suits a session that this process owns: one user, one run folder, no web page."""
    found = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    if is_local(master):
        found |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(folder / "local"),
        }
        if len(os.fsencode(folder)) <= _LONGEST_SOCKET_FOLDER:
            found |= {
                "spark.python.unix.domain.socket.enabled": "true",
                "spark.python.unix.domain.socket.dir": str(folder),
            }
    return found


def is_local(master: str | None) -> bool:
    """Whether Spark runs on this machine only."""
    return (master or "").startswith("local")
