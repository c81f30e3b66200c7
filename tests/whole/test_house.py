"""The size and the names of things: what a reader may expect of every module."""

from __future__ import annotations

import ast
import tomllib
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
    "explanation": "what a job, and what a query in RSP-QL, adds to the one explanation",
    "display": "what is shown on a terminal while something runs: a job, and the demonstration",
}

NOUNS_IN_ED = {
    "core_speed": "how fast something is",
    "spark_speed": "the same",
    "standing_speed": "the same",
    "block_feed": "what brings objects to queries, block by block",
    "feed": "a list of what is new, to follow",
    "fetched": "what comes of a look-up: the name of the class in it",
    "frozen": "mappings that can't be changed, as a frozen set",
    "grouped": "the monitor of rankings by group: the class is called so",
    "spool_feed": "what fills a spool",
}

NOUNS_IN_ING = {
    "joint_ranking": "an order of items",
    "evening": "a time of day",
    "generated_evening": "a time of day",
    "standing": "the name of the queries, and what users call the set of them",
    "rescoring": "what is done to a list, named as a thing",
    "shipping": "how rows travel between processes",
}

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
    allowed = KERNELS.keys() | COMMANDS.keys()
    many = {name for name, each in functions() if parameters(each) > PARAMETERS}
    assert many <= allowed


def code_lines(function: Function) -> int:
    """The lines of a function without its docstring, which says more the more public it is."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    words = function.body[0]
    return lines - ((words.end_lineno or words.lineno) - words.lineno + 1)


def test_functions_can_be_read_at_a_glance() -> None:
    assert {name for name, each in functions() if code_lines(each) > FUNCTION_LINES} == set()


def test_modules_can_be_read_at_a_sitting() -> None:
    long = {
        name_of(path)
        for path in modules()
        if len(path.read_text("utf-8").splitlines()) > MODULE_LINES
    }
    assert long == set()


def test_a_name_is_one_module_or_the_same_concept_in_two_packages() -> None:
    twice = {name for name, paths in basenames().items() if len(paths) > 1}
    assert twice <= SAME_CONCEPT.keys()


def test_modules_are_named_by_nouns() -> None:
    participles = {name for name in basenames() if name.split("_")[-1].endswith("ing")}
    assert participles <= NOUNS_IN_ING.keys()
    past = {name for name in basenames() if name.split("_")[-1].endswith(("ed", "en", "told"))}
    assert past <= NOUNS_IN_ED.keys()


def test_what_is_told_is_said_by_its_name() -> None:
    """A definition says what it gives."""
    told = {name for name, _ in functions() if name.split(".")[-1].strip("_") in ("told", "tell")}
    assert not told


def test_the_contract_of_pyspark_names_every_other_room() -> None:
    """Of the product: only the commands and jobs, which start Spark, may reach it."""
    settings = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (named,) = (each["source_modules"] for each in contracts if "pyspark" in each["name"])
    places = [path for path in (SOURCE / "topwater").iterdir() if not path.stem.startswith("_")]
    rooms = {path.stem for path in places if path.is_dir() or path.suffix == ".py"}
    assert {name.split(".")[1] for name in named} == rooms - {"spark", "jobs", "cli"}


@pytest.mark.parametrize("listed", [KERNELS, COMMANDS, SAME_CONCEPT, NOUNS_IN_ED, NOUNS_IN_ING])
def test_what_is_excepted_is_there_and_says_why(listed: dict[str, str]) -> None:
    names = {name for name, _ in functions()} | basenames().keys()
    for name, reason in listed.items():
        assert name in names
        assert reason
