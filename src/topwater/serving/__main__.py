"""``python -m topwater.serving '{"users": 10}'``: a service with these settings."""

from __future__ import annotations

import json
import sys

from topwater.errors import TopwaterError
from topwater.serving import ServiceSettings, serve


def main() -> None:
    """Run it until it is stopped."""
    try:
        serve(ServiceSettings(**json.loads(sys.argv[1])), lambda line: print(line, flush=True))
    except TopwaterError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
