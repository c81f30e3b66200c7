"""``topwater serve-example``: the commands, one for each service."""

from __future__ import annotations

from typing import Annotated

import typer

from topwater.cli.terminal import Debug, examples_of, plain_errors

app = typer.Typer(no_args_is_help=True)


@app.callback()
def serve_example() -> None:
    """Services on this machine to try sources against."""


@app.command(
    epilog=examples_of(
        "topwater serve-example followers",
        "topwater serve-example followers --port 9000 --rate 10 --faults 0.2",
        'curl "http://127.0.0.1:8765/followers?ids=1000,1001"',
    )
)
def followers(
    port: Annotated[int, typer.Option(help="On 127.0.0.1; 0 for any that is free.")] = 8765,
    users: Annotated[int, typer.Option(help="How many users: their keys start at 1000.")] = 400,
    seed: Annotated[int, typer.Option(help="Another seed, other users.")] = 0,
    latency: Annotated[float, typer.Option(help="Seconds before each answer.")] = 0.0,
    rate: Annotated[float, typer.Option(help="Requests a second; 0 for no limit.")] = 0.0,
    burst: Annotated[int, typer.Option(help="Requests at once; 0 for a tenth of the rate.")] = 0,
    faults: Annotated[float, typer.Option(help="The share of requests that go wrong.")] = 0.0,
    fault: Annotated[str, typer.Option(help="How all requests go wrong, as hangs or 503.")] = "",
    speed: Annotated[float, typer.Option(help="How fast counts change; 0: not at all.")] = 1.0,
    debug: Debug = False,
) -> None:
    """How many followers users have: an HTTP API and a SPARQL endpoint, until Ctrl-C.

    GET /followers?ids=1000,1001 knows up to 100 users a request, /users/1000 one, and /sparql
    answers SPARQL 1.1. GET /stats tells how many requests were answered and refused.
    """
    with plain_errors(debug):
        from topwater_lab.services import ServiceSettings, serve

        settings = ServiceSettings(
            port=port,
            users=users,
            seed=seed,
            latency=latency,
            rate=rate or None,
            burst=burst or None,
            faults=faults,
            fault=fault or None,
            speed=speed,
        )
        serve(settings, typer.echo)
