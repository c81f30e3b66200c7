"""The command line: the commands are loaded when the first of them is asked for."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from topwater.cli.commands import app

__all__ = ["app"]


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from topwater.cli.commands import app

    return app
