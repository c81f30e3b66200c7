"""``python -m topwater``, the same as the command ``topwater``."""

import os
import signal
import sys
from typing import Any

_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


def main() -> None:
    """Run the command that the arguments name.

    Commands handle signals themselves. Before, while they are loaded, a signal ends the process
    calmly. Afterwards, while Java is ended and its files are removed, the process is ending
    anyway: the first signal changes nothing, and the second ends it as it is.
    """
    _handle(_raise)
    try:
        from topwater.cli import app

        app(prog_name="topwater")
    except KeyboardInterrupt as interrupt:
        sys.stderr.write("stopped\n")
        sys.exit(_CODES[interrupt.args[0]] if interrupt.args else _CODES[signal.SIGINT])
    finally:
        _handle(_ignore_once)


def _handle(handler: Any) -> None:
    for each in _CODES:
        signal.signal(each, handler)


def _raise(number: int, _: Any) -> None:
    raise KeyboardInterrupt(signal.Signals(number))


def _ignore_once(*_: Any) -> None:
    _handle(_leave)


def _leave(number: int, _: Any) -> None:
    os._exit(_CODES[signal.Signals(number)])


if __name__ == "__main__":
    main()
