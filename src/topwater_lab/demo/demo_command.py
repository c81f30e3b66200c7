"""``topwater demo``: the command. What it runs is imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from topwater.cli import completion
from topwater.cli.terminal import Debug, Quiet, examples_of, plain_errors
from topwater.errors import TopwaterError

app = typer.Typer()


@app.command(
    epilog=examples_of(
        "topwater demo",
        "topwater demo --stay  # and keep the live page until Ctrl-C",
        "topwater demo --windows 20 --policy lru",
        "topwater demo --json > windows.jsonl",
    )
)
def demo(
    windows: Annotated[int, typer.Option(min=1, max=150, help="How many windows.")] = 40,
    budget: Annotated[int, typer.Option(min=1, max=400, help="Look-ups for each window.")] = 7,
    policy: Annotated[
        str, typer.Option(help="Which users to look up.", autocompletion=completion.policies)
    ] = "worth",
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another evening.")] = 7,
    live: Annotated[bool, typer.Option(help="Serve a live page while it runs.")] = True,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Of the live page; another one if it is taken.")
    ] = 8787,
    stay: Annotated[
        bool, typer.Option("--stay", help="Keep the live page until Ctrl-C when all is done.")
    ] = False,
    out: Annotated[Path, typer.Option(help="The folder for the report.")] = Path("out/demo"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per window, and the report.")
    ] = False,
    log_file: Annotated[str, typer.Option(help="Keep Spark's log in this file.")] = "",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Who is mentioned most while their following grows, on Spark, with a few look-ups a window.

    Shows each window when it closes, as Topwater answers it and as others would with as many
    look-ups: the best published policy, a cache whose entries expire, a table loaded once. Ends
    with a report in HTML.
    """
    with plain_errors(debug):
        from rich.console import Console

        from topwater_lab.demo.demo_run import Wishes, run
        from topwater_lab.demo.display import JsonLines, Lines
        from topwater_lab.demo.scene import Scene

        scene = Scene(windows, budget, policy, seed)
        shown = Console(highlight=False)
        display = JsonLines() if as_json else Lines(shown, scene, quiet=quiet)
        report = run(scene, display, Wishes(out, live, port, stay, log_file or None))
        if report.differing:
            raise TopwaterError(
                f"{report.differing} windows differ from the same query in process",
                fix="this is a bug: please report it with the options you used",
            )
