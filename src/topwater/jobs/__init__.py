"""`topwater run`: a whole job in a file, without a program.

>>> from topwater.jobs import read_job

Loaded when first used: the command line imports parts of this package only to print its help.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from topwater.jobs.job import Job
    from topwater.jobs.loader import read_job

__all__ = ["Job", "read_job"]

_HOMES = {"Job": "job", "read_job": "loader"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
