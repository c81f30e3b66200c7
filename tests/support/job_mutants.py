"""Jobs as files, mutated: what a typing error, a bad merge or malice may make of them."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.support.timing import effort
from topwater.errors import LONGEST, QueryError, TopwaterError
from topwater.jobs import read_job
from topwater.jobs.explanation import as_dict, job_explanation

SECOND = 1.0

_PLAIN: dict[str, Any] = {
    "query": {
        "key": "user",
        "time": "at",
        "window": "9 min every 3 min",
        "take": {"n": "count", "spent": "sum(amount)"},
        "score": "0.5 * n + spent * followers",
        "refresh": {"remote": "followers", "policy": "ttl", "budget": {"fetches": 7}},
        "k": 3,
        "lateness": "PT5S",
    },
    "stream": {
        "kind": "files",
        "path": "in",
        "schema": "user string, at timestamp, amount double",
        "max_files_per_trigger": 2,
    },
    "source": {
        "kind": "http",
        "url": "http://127.0.0.1:9/users/{key}?all=1",
        "value": "data.items[0].followers",
        "headers": {"Accept": "application/json"},
        "timeout": 2.5,
        "rate": 10,
        "retries": 2,
    },
    "sink": {"kind": "parquet", "path": "out", "options": {"compression": "zstd"}},
    "spark": {"shards": 2, "settings": {"spark.ui.enabled": False}},
    "live": {"port": 8080, "title": "Now"},
}
_MQTT: dict[str, Any] = {
    "query": {
        "key": "user",
        "time": "at",
        "window": {"width": "1 min", "step": 30_000},
        "score": "points",
        "take": {"points": "max(points)"},
        "group_by": "topic",
        "k": 5,
    },
    "stream": {
        "kind": "mqtt",
        "url": "mqtt://localhost:1883",
        "topics": ["games/+/points", "more/#"],
        "schema": "user string, points double",
        "arrived_column": "at",
        "topic_column": "topic",
        "qos": 1,
        "retained": True,
    },
    "sink": {"format": "delta", "path": "out", "checkpoint": "state", "trigger": "5 seconds"},
}
_RSPQL: dict[str, Any] = {
    "query": {"rspql": "query.rq"},
    "streams": {":S": {"path": "rdf", "kind": "files", "format": "ntriples"}},
    "services": {
        ":users": {"url": "http://127.0.0.1:9/sparql", "timeout": 1},
        ":more": {"kind": "sql", "url": "sqlite:///x.db", "table": "a.b", "key": "c", "value": "d"},
    },
    "sink": {"kind": "console"},
}
QUERY = """\
PREFIX : <http://example.org/>
SELECT ?user (COUNT(*) AS ?n)
FROM NAMED WINDOW :w ON :S [RANGE PT1M STEP PT1M]
WHERE { WINDOW :w { ?user :says ?what } }
GROUP BY ?user ORDER BY DESC(?n) LIMIT 3
"""

_ODD = [
    *("{", "}", "[", "]", "[[", "]]", "(", ")", '"', "'", "#", ",", ".", ":", "=", "\n", "\t"),
    *('"""', "'''", "\\", "\\u0000", "\\ud800", "\\U00110000", "\0", "\x7f", "\ufeff", "\x85"),
    *("é", "\u2028", "\U0001f600", "- ", "? ", ": ", "|\n", ">\n", "---\n", "...\n", "%YAML 9.9\n"),
]
_VALUES = [
    *("0", "-1", "1", "true", "false", "null", "~", "nan", "inf", "-inf", "1e400", "1.5", '""'),
    *("9" * 20, "9" * 5_000, "0x" + "f" * 5_000, "1_0", "0o7", "2001-99-99", "2001-01-01"),
    *("2001-01-01T00:00:00Z", "12:34:56", "190:20:30", "!!int abc", "!!float x", "!!bool x"),
    *("!!timestamp x", "!!binary x", "!!set {a, b}", "!!omap [a: 1]", "!!pairs [a: 1]", "!x y"),
    *("!!python/name:os.system", "!!null x", "!!str 5", "!!map []", "!!seq {}", "<<", "*a", "&a b"),
    *("[" * 2_000, "[" * 40 + "]" * 40, "{a: " * 40 + "}" * 40, "[1, 2]", "{a = 1}", "{a: 1}"),
    *("'a'", '"a b"', "[[]]", "{}", "[]", "${HOME}", "$x", "a" * 3_000, '"' + "a" * 3_000 + '"'),
    *('"\\u0000"', '"\\ud800"', '"/"', '"../.."', '"/dev/null"', '"a:b"', '"python"', '"sql"'),
    *('"kafka"', '"socket"', '"replay"', '"spark"', '"sparql"', '"memory"', '"json"', '"jsonld"'),
    *('"1 min"', '"unlimited"', '"each"', '"-5 s"', '"{key}"', '"{keys}"', '"sum(`a`)"'),
]
_NAMES = ["query", "stream", "source", "sink", "spark", "live", "k", "key", "kind", "url", "path"]


class Mutant(NamedTuple):
    """A file's ending and text, and what the command line says."""

    ending: str
    text: str
    settings: tuple[str, ...] = ()


def corpus() -> list[Mutant]:
    """The jobs from which mutants are made, in TOML and in YAML."""
    jobs = (_PLAIN, _MQTT, _RSPQL)
    texts = [Mutant("toml", "\n".join(_toml(each))) for each in jobs]
    texts += [Mutant("yaml", yaml.safe_dump(each, sort_keys=False)) for each in jobs]
    texts += [Mutant("yaml", yaml.safe_dump(each, default_flow_style=True)) for each in jobs]
    return texts


def _toml(tables: dict[str, Any], place: str = "") -> list[str]:
    lines = [
        f"{_quoted(name)} = {_value(each)}"
        for name, each in tables.items()
        if not isinstance(each, dict)
    ]
    for name, each in tables.items():
        if isinstance(each, dict):
            inner = f"{place}.{_quoted(name)}" if place else _quoted(name)
            lines += ["", f"[{inner}]", *_toml(each, inner)]
    return lines


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f'"{name}"'


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def prepare(folder: Path) -> None:
    """Make what the jobs of the corpus name."""
    for name in ("in", "rdf"):
        (folder / name).mkdir()
    (folder / "query.rq").write_text(QUERY)


def mutated(chance: random.Random, jobs: Sequence[Mutant]) -> Mutant:
    """A job after one to three mutations of its text, of the command line, or of both."""
    ending, text, _ = chance.choice(jobs)
    for _ in range(chance.choice([0, 1, 1, 1, 2, 3])):
        mutate: Callable[[str, random.Random], str]
        mutate = chance.choice([_characters, _lines, _values, _values, _names])
        text = mutate(text, chance)
    count = chance.choice([0, 0, 1, 2])
    return Mutant(ending, text, tuple(_setting(chance) for _ in range(count)))


def _characters(text: str, chance: random.Random) -> str:
    at, width = chance.randint(0, len(text)), chance.choice([0, 1, 1, 2, 8])
    odd = chance.choice(_ODD)
    put = chance.choice(["", odd, odd * 20, text[at : at + width] * 2])
    return text[:at] + put + text[at + width :]


def _lines(text: str, chance: random.Random) -> str:
    lines = text.splitlines()
    if not lines:
        return chance.choice(_ODD)
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    how = chance.choice(["twice", "away", "swap", "indent", "cut"])
    if how == "twice":
        lines.insert(other, lines[one])
    elif how == "away":
        del lines[one]
    elif how == "swap":
        lines[one], lines[other] = lines[other], lines[one]
    elif how == "indent":
        lines[one] = " " * chance.randint(1, 8) + lines[one].strip()
    else:
        del lines[one:]
    return "\n".join(lines)


def _values(text: str, chance: random.Random) -> str:
    """Another value behind a name."""
    lines = text.splitlines()
    places = [n for n, line in enumerate(lines) if "=" in line or ":" in line]
    if not places:
        return chance.choice(_VALUES)
    at = chance.choice(places)
    sign = "=" if "=" in lines[at] else ":"
    name, _, value = lines[at].partition(sign)
    odd = chance.choice(_VALUES)
    lines[at] = f"{name}{sign} {chance.choice([odd, odd, f'[{odd}]', f'{value.strip()} {odd}'])}"
    return "\n".join(lines)


def _names(text: str, chance: random.Random) -> str:
    one = chance.choice(_NAMES)
    return text.replace(one, chance.choice([*_NAMES, "kk", "a.b", '"a"', "<<", "5", ""]), 1)


def _setting(chance: random.Random) -> str:
    table, name = chance.choice(_NAMES[:6]), chance.choice([*_NAMES, "window", "score", "a"])
    place = chance.choice([f"{table}.{name}", table, f"{table}.{name}.{name}", f'{table}."{name}"'])
    text = f"{place}={chance.choice(_VALUES)}"
    return _characters(text, chance) if chance.random() < 0.3 else text


def tried(folder: Path, seed: int, count: int) -> tuple[Counter[str], float, list[str]]:
    """What became of so many mutants; the longest time; and what went wrong."""
    chance, jobs = random.Random(seed), corpus()
    outcome: Counter[str] = Counter()
    longest, wrong = 0.0, []
    for _ in range(count):
        mutant = mutated(chance, jobs)
        began = time.thread_time()
        told, fault = _outcome(folder, mutant)
        spent = time.thread_time() - began
        if spent > SECOND:
            spent = effort(partial(_outcome, folder, mutant), SECOND)
        outcome[told] += 1
        longest = max(longest, spent)
        if fault or spent > SECOND:
            wrong.append(f"{mutant!r}: {fault or f'{spent:.2f} s'}"[:4_000])
    return outcome, longest, wrong


def _outcome(folder: Path, mutant: Mutant) -> tuple[str, str]:
    path = folder / f"job.{mutant.ending}"
    path.write_text(mutant.text, encoding="utf-8", errors="surrogatepass")
    try:
        job = read_job(path, settings=mutant.settings)
        told = [str(job_explanation(job)), json.dumps(as_dict(job)), repr(job)]
        "".join(told).encode()
    except TopwaterError as error:
        if not error.fix or len(str(error)) > 3 * LONGEST:
            return "refused", f"told badly: {error}"
        kind = "refused" if isinstance(error, QueryError) else type(error).__name__
        return kind, ""
    except Exception as error:
        return "failed", f"{type(error).__name__}: {str(error)[:300]}"
    return "read", ""
