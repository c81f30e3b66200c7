"""How much of a source Spark wants at once: it asks sources in Python from 4.2 on.

Before, our own sources of files, recordings and messages are not there, and say so; these names
stand in for those of Spark, so that their modules can be loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topwater.errors import EnvironmentProblem

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxFiles,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )

    ASKED = True
else:
    try:
        from pyspark.sql.streaming.datasource import (
            ReadAllAvailable,
            ReadLimit,
            ReadMaxFiles,
            ReadMaxRows,
            SupportsTriggerAvailableNow,
        )

        ASKED = True
    except ImportError:
        ASKED = False

        class ReadLimit:
            """How much a micro-batch takes."""

        class ReadAllAvailable(ReadLimit):
            """All that is there."""

        class ReadMaxFiles(ReadLimit):
            """So many files."""

        class ReadMaxRows(ReadLimit):
            """So many rows."""

        class SupportsTriggerAvailableNow:
            """A source that can stop at what is there when it starts."""


__all__ = [
    "ASKED",
    "ReadAllAvailable",
    "ReadLimit",
    "ReadMaxFiles",
    "ReadMaxRows",
    "SupportsTriggerAvailableNow",
    "require_limits",
]


def require_limits(what: str, fix: str) -> None:
    """Raise where Spark does not say how much it wants.

    Parameters
    ----------
    what
        The source, in the plural.
    fix
        What else can be done than to install a later Spark.

    Raises
    ------
    EnvironmentProblem
        If Spark is older than 4.2.
    """
    if not ASKED:
        raise EnvironmentProblem(
            f"{what} need Spark 4.2 or newer, which tells a source in Python how much to read",
            fix=f'pip install "pyspark>=4.2", or {fix}',
        )
