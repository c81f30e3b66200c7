"""What Topwater raises. Every message says what is wrong and what to do, and shows no secret."""

from __future__ import annotations

from topwater.redaction import redacted

LONGEST = 2_000
"""Characters in the longest problem, and in the longest fix, that are shown."""
_READ = 10 * LONGEST


def shortened(text: str, longest: int = LONGEST) -> str:
    """The beginning of a text that is too long: what is told may be from outside.

    Examples
    --------
    >>> shortened("a" * 100, 5)
    'aaaa…'
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


AFRESH = "start from an empty checkpoint and write to an empty sink (the old one keeps its windows)"
"""What to do where a checkpoint can't be used. Both: a new checkpoint numbers micro-batches from 0,
and a folder that has answers already takes these numbers for written."""

_OF_SPARK = (
    ("failed to connect back", "the machine is too busy: let other work end, and start again"),
    (
        "Python worker exited unexpectedly",
        "start again with the same checkpoint: a Python worker was killed, most often for lack of "
        'memory. On one machine, master="local[*,4]" lets Spark try again by itself',
    ),
    (
        "NoSuchMethodError",
        "a package that the session was started with is of another version of Spark: take the one "
        "for this version, or another Spark",
    ),
    (
        "Redefining watermark",
        "leave out your own withWatermark before topk(), which has no effect on it",
    ),
    (
        "changelog does not exist",
        f"restore the checkpoint from a copy, or {AFRESH}",
    ),
)
"""What to do about errors that are not ours, by words in them."""


def known_fix(problem: str) -> str:
    """What to do about an error of Spark's; nothing if that is not known.

    Examples
    --------
    >>> known_fix("SparkException: Python worker failed to connect back.")
    'the machine is too busy: let other work end, and start again'
    """
    return next((fix for words, fix in _OF_SPARK if words in problem), "")


class TopwaterError(Exception):
    """The root of all errors raised on purpose.

    Parameters
    ----------
    problem
        What is wrong, in one sentence.
    fix
        What to do about it, in one sentence.

    Examples
    --------
    >>> print(TopwaterError("the port 8080 is taken", fix="pass --port"))
    the port 8080 is taken
      fix: pass --port
    """

    def __init__(self, problem: str, *, fix: str = "") -> None:
        # Redacted first: half an address does not look like one.
        self.problem = shortened(redacted(problem[:_READ]))
        self.fix = shortened(redacted(fix[:_READ]))
        super().__init__(f"{self.problem}\n  fix: {self.fix}" if fix else self.problem)


class QueryError(TopwaterError, ValueError):
    """A setting that can't work, found when the query is built.

    Examples
    --------
    >>> print(QueryError("must be at least 1, not 0", field="k", fix="ask for one item or more"))
    k: must be at least 1, not 0
      fix: ask for one item or more
    """

    def __init__(self, problem: str, *, field: str = "", fix: str = "") -> None:
        self.field = redacted(field)
        super().__init__(f"{field}: {problem}" if field else problem, fix=fix)


class SourceError(TopwaterError):
    """A remote source that can't be reached or does not answer as its settings say.

    Only ``check()`` raises it, at the start. While a query runs, what fails is marked in the
    answer instead.

    Examples
    --------
    >>> print(SourceError("no connection to 127.0.0.1:9", field="url", fix="start the service"))
    url: no connection to 127.0.0.1:9
      fix: start the service
    """

    def __init__(self, problem: str, *, field: str = "", fix: str = "") -> None:
        self.field = redacted(field)
        super().__init__(f"{field}: {problem}" if field else problem, fix=fix)


class BatchError(TopwaterError):
    """A batch whose columns are not those the query names."""


class StateError(TopwaterError):
    """A snapshot that this query, or this version, can't read."""


class EnvironmentProblem(TopwaterError):
    """The machine lacks something: Java, a port, a package."""


def lab_missing(what: str) -> EnvironmentProblem:
    """The error for what only the laboratory has, where it is not installed.

    Examples
    --------
    >>> print(lab_missing("the command bench"))
    the command bench comes with the laboratory, which is not installed
      fix: pip install "topwater[lab]"
    """
    return EnvironmentProblem(
        f"{what} comes with the laboratory, which is not installed",
        fix='pip install "topwater[lab]"',
    )
