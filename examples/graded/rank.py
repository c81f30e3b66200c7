"""What to put on the front page: reads of a stream, times the quality that a paid model finds."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from topwater import Answer, TopKQuery, remote, run, sliding

MINUTE, MINUTES, READS, ITEMS = 60_000, 30, 400, 200
QUERY: dict[str, Any] = {
    "key": "item",
    "time": "at",
    "window": sliding("5 min", "1 min"),
    "k": 4,
    "take": {"reads": "count", "title": "last(title)"},
    "score": "reads * quality",
}
PRICE = {"cost": 2, "request_cost": 1, "noise": "3 %"}
"""Two cents for each item, one for each call; answers differ by some per cent."""


class Model:
    """Made-up grades that a model gives to items, never quite the same twice."""

    def __init__(self) -> None:
        rng = np.random.default_rng(13)
        self._grades = rng.uniform(0.1, 1, ITEMS)
        self._later = rng.uniform(0.1, 1, ITEMS)
        self._edited = rng.integers(0, 3 * MINUTES, ITEMS) * MINUTE
        share = 1 / np.arange(5, ITEMS + 5)
        order = rng.permutation(ITEMS)
        self._read = order[rng.choice(ITEMS, (MINUTES, READS), p=share / share.sum())]
        self._at = np.sort(rng.integers(1, MINUTE, (MINUTES, READS)), axis=1)

    def grades(self, items: list[int], at: int) -> list[dict[str, Any]]:
        """What the model says of items now."""
        found = []
        for item in items:
            true = (self._later if at >= self._edited[item] else self._grades)[item]
            differs = np.random.default_rng([item, at]).normal(1, 0.02)
            found.append({"id": item, "quality": float(true * differs)})
        return found

    def batches(self) -> Iterator[dict[str, Any]]:
        """What was read in each minute."""
        for minute, (items, at) in enumerate(zip(self._read, self._at, strict=True)):
            titles = [f"Story {each}" for each in items]
            yield {"item": items, "title": titles, "at": minute * MINUTE + at}


@contextlib.contextmanager
def serving(model: Model) -> Iterator[str]:
    """The address at which the model answers, on this machine."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            known = self.headers["Authorization"] == f"Bearer {os.environ['MODEL_KEY']}"
            said = {"grades": model.grades(asked["items"], asked["at"])} if known else {}
            body = json.dumps(said).encode()
            self.send_response(200 if known else 401)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/grade"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def answers(url: str, model: Model, budget: Any) -> list[Answer]:
    """All answers."""
    source = remote.http(
        url,
        body={"items": "{keys}", "at": "{now}"},
        key="grades[*].id",
        value={"quality": "grades[*].quality"},
        headers={"Authorization": "Bearer ${MODEL_KEY}"},
    )
    refresh = [{"remote": "quality", "from": "model", **PRICE}]
    query = TopKQuery(**QUERY, refresh=refresh, budget=budget)
    return list(run(query, model.batches(), sources={"model": source}))


def show(answer: Answer) -> None:
    """One window."""
    left = ", ".join(f"{name} {amount:.0f}" for name, amount in answer.left)
    print(f"minute {answer.window.end // MINUTE}: {answer.spent:.0f} cents; left: {left}")
    for row in answer.rows:
        quality = row.remotes["quality"].value
        about = f"{row.values[0]:.0f} reads, quality {quality:.2f}"
        print(f"  {row.rank}. {row.values[1]:<12}{row.score:>6.1f}  {about}")


def main() -> None:
    """Rank for at most 15 cents a minute and 150 euros a day, and again whatever it costs."""
    os.environ.setdefault("MODEL_KEY", "of the model")
    model = Model()
    with serving(model) as url:
        found = answers(url, model, {"cost": 15, "per": {"1 day": 15_000}})
        truth = answers(url, model, None)
    for answer in found:
        if answer.window.end // MINUTE in (10, 20, 30):
            show(answer)
    shares = [len({*a.keys} & {*b.keys}) / len(b.keys) for a, b in zip(found, truth, strict=True)]
    spent, whole = (sum(each.spent or 0 for each in every) / 100 for every in (found, truth))
    right = f"{np.mean(shares):.0%} of the rows are right"
    print(f"{right}, for {spent:.2f} euros instead of {whole:.2f}")


if __name__ == "__main__":
    main()
