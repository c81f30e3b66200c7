"""The size and the names of things: what a reader may expect of every module."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"

PARAMETERS, FUNCTION_LINES, MODULE_LINES = 8, 60, 450

KERNELS: dict[str, str] = {}
"""Compiled functions with more parameters than that, each with what was measured."""

COMMANDS = {
    "topwater.cli.commands.run": "the options of a command of the terminal are its parameters",
    "topwater_lab.bench.bench_commands.standing": "the same",
    "topwater_lab.demo.demo_command.demo": "the same",
    "topwater_lab.services.serve_command.followers": "the same",
}

SAME_CONCEPT = {
    "standing": "standing queries, in process and on Spark",
    "display": "what is shown on a terminal while something runs: a job, and the demonstration",
}

NOUNS_IN_ING = {
    "evening": "a time of day",
    "generated_evening": "a time of day",
    "standing": "the name of the queries, and what users call the set of them",
    "rescoring": "what is done to a list, named as a thing",
    "shipping": "how rows travel between processes",
}

TO_BE_MENDED = {
    "topwater.cli.commands.run",
    "topwater.jobs.runner.run",
    "topwater.spark.launch.start",
    "topwater.spark.standing.standing",
    "durations",
    "explanation",
}
"""TEMPORARY: offenders that are being mended. Take out what is done; nothing may be added."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


@cache
def functions() -> list[tuple[str, Function]]:
    """All functions and methods, those inside others too, by the module and their own name."""
    return [
        (f"{name_of(path)}.{node.name}", node)
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, Function)
    ]


def parameters(function: Function) -> int:
    """How many parameters can be given by place; settings given by name only are not counted."""
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    return len(names) - int(names[:1] in (["self"], ["cls"]))


def basenames() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        if path.stem not in ("__init__", "__main__"):
            found[path.stem].append(name_of(path))
    return found


def test_arguments_travel_in_records() -> None:
    allowed = KERNELS.keys() | COMMANDS.keys() | TO_BE_MENDED
    many = {name for name, each in functions() if parameters(each) > PARAMETERS}
    assert many <= allowed


def test_functions_can_be_read_at_a_glance() -> None:
    long = {
        name
        for name, each in functions()
        if (each.end_lineno or each.lineno) - each.lineno >= FUNCTION_LINES
    }
    assert long <= TO_BE_MENDED


def test_modules_can_be_read_at_a_sitting() -> None:
    long = {
        name_of(path)
        for path in modules()
        if len(path.read_text("utf-8").splitlines()) > MODULE_LINES
    }
    assert long <= TO_BE_MENDED


def test_a_name_is_one_module_or_the_same_concept_in_two_packages() -> None:
    twice = {name for name, paths in basenames().items() if len(paths) > 1}
    assert twice <= SAME_CONCEPT.keys() | TO_BE_MENDED


def test_modules_are_named_by_nouns() -> None:
    participles = {name for name in basenames() if name.split("_")[-1].endswith("ing")}
    assert participles <= NOUNS_IN_ING.keys()


@pytest.mark.parametrize("listed", [KERNELS, COMMANDS, SAME_CONCEPT, NOUNS_IN_ING])
def test_what_is_excepted_is_there_and_says_why(listed: dict[str, str]) -> None:
    names = {name for name, _ in functions()} | basenames().keys()
    for name, reason in listed.items():
        assert name in names
        assert reason
