"""``python -m topwater_lab.services '{"users": 10}'``: a service for the process that starts it."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

from topwater.errors import TopwaterError
from topwater_lab.services import ServiceSettings, serve


def main() -> None:
    """Run it until it is stopped, or until nobody holds the other end of its input."""
    threading.Thread(target=_watch, daemon=True).start()
    try:
        serve(ServiceSettings(**json.loads(sys.argv[1])), lambda line: print(line, flush=True))
    except TopwaterError as error:
        sys.exit(f"error: {error}")


def _watch() -> None:
    # Not through sys.stdin: a thread that reads from it would hold up the end of the process.
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
