"""Many answers at once: to look at, to plot, and to take elsewhere as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, Literal, overload

import pyarrow as pa

from topwater.errors import QueryError
from topwater.model import FIRST_DATE, Answer, Key, LookUp, Row, look_up_dict
from topwater.show.charts import Series, bump_chart, line_chart
from topwater.show.notebook import answers_html, moment_text
from topwater.views import Chart

if TYPE_CHECKING:
    import pandas as pd

_CELLS = tuple(each.name for each in fields(Row) if each.name != "remotes")
_TYPES = {
    **dict.fromkeys(("rank", "time", "age"), pa.int64()),
    **dict.fromkeys(("score", "remote", "confidence"), pa.float64()),
    "assumed": pa.string(),
}
_PROBLEMS = pa.map_(pa.string(), pa.int64())
_LINES = 8
"""Keys whose ranks are followed in one chart."""


class Answers(Sequence[Answer]):
    """The answers of a query, in order. A notebook shows the last of them.

    Examples
    --------
    >>> from topwater import TopKQuery, run, tumbling
    >>> query = TopKQuery(key="who", time="at", window=tumbling(10), score="value", k=2)
    >>> events = {"who": ["a", "b", "c"], "at": [1, 2, 12], "value": [3.0, 5.0, 4.0]}
    >>> answers = Answers(run(query, [events]))
    >>> answers
    <Answers: 2, the last of (10, 20]: 'c'>
    >>> answers.to_arrow().select(["window_end", "rank", "key"]).to_pylist()[0]
    {'window_end': 10, 'rank': 1, 'key': 'b'}
    """

    def __init__(self, answers: Iterable[Answer] = ()) -> None:
        self._answers = tuple(answers)

    def __len__(self) -> int:
        return len(self._answers)

    def __iter__(self) -> Iterator[Answer]:
        return iter(self._answers)

    @overload
    def __getitem__(self, at: int) -> Answer: ...

    @overload
    def __getitem__(self, at: slice) -> Answers: ...

    def __getitem__(self, at: int | slice) -> Answer | Answers:
        found = self._answers[at]
        return found if isinstance(found, Answer) else Answers(found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answers) and self._answers == other._answers

    def __hash__(self) -> int:
        return hash(self._answers)

    def __repr__(self) -> str:
        if not self._answers:
            return "<Answers: none>"
        last = self._answers[-1]
        keys = ", ".join(repr(key) for key in last.keys[:5])
        number = f"{len(self):,}, the last" if len(self) > 1 else "one"
        return f"<Answers: {number} of {last.window.in_words}: {keys or 'nothing'}>"

    def _repr_html_(self) -> str:
        return answers_html(self._answers)

    def plot(self, what: Literal["ranks", "accuracy"] = "ranks") -> Chart:
        """How ranks changed from window to window, or how right answers probably were.

        Parameters
        ----------
        what
            ``"ranks"`` follows the keys that were shown most often, or ``"accuracy"``, for a
            query with a remote part, the estimated precision and nDCG.

        Raises
        ------
        QueryError
            If there is nothing to plot.
        """
        if what == "accuracy":
            return self._accuracy()
        if what != "ranks":
            raise QueryError(f"{what!r} is unknown", field="what", fix='use "ranks" or "accuracy"')
        shown = Counter(key for answer in self._answers for key in answer.keys)
        if not shown:
            raise QueryError("no answer has a row", field="answers", fix="wait for an event")
        followed = [key for key, _ in shown.most_common(_LINES)]
        ranks = {str(key): [_rank(answer, key) for answer in self._answers] for key in followed}
        k = max(len(answer.rows) for answer in self._answers)
        return Chart(bump_chart("rank by window", self._places(), ranks, k))

    def _accuracy(self) -> Chart:
        fresh = [answer.freshness for answer in self._answers]
        known = [each for each in fresh if each is not None]
        if not known or len(known) < len(fresh):
            raise QueryError(
                "there is no estimate without a remote part", field="what", fix='use "ranks"'
            )
        lines = [
            Series("precision", [each.precision for each in known], "#d6403a"),
            Series("nDCG", [each.ndcg for each in known], "#3f7fbf"),
        ]
        title = "estimated precision (red) and nDCG (blue)"
        return Chart(line_chart(title, "window", self._places(), lines))

    def _places(self) -> list[str]:
        return [moment_text(answer) for answer in self._answers]

    def to_arrow(self) -> pa.Table:
        """One row per window and rank; a window without items has one without rank.

        Times are in milliseconds since 1970, or positions for windows by count. A key of several
        columns, and such a group, has a column for each by the name that it has in the stream. Of
        several remote values each row has a structure, ``remotes``.
        """
        rows = [row for answer in self._answers for row in _rows(answer)]
        problems = pa.array([row.pop("problems") for row in rows], _PROBLEMS)
        table = pa.Table.from_pylist(rows)
        for at, column in enumerate(table.schema):
            # Where all are missing, Arrow can't know what they are.
            if column.name in _TYPES and pa.types.is_null(column.type):
                typed = table.column(at).cast(_TYPES[column.name])
                table = table.set_column(at, column.name, typed)
        return table.append_column("problems", problems) if rows else table

    def to_pandas(self) -> pd.DataFrame:
        """The same for pandas: times are timestamps in UTC, and what is missing is NaN.

        Times before 1973, and positions of windows by count, stay numbers.
        """
        table = self.to_arrow()
        if any(answer.window.end >= FIRST_DATE for answer in self._answers):
            for name in ("window_start", "window_end", "time"):
                at = table.column_names.index(name)
                moments = table.column(at).cast(pa.timestamp("ms", "UTC"))
                table = table.set_column(at, name, moments)
        return table.to_pandas()


def _rank(answer: Answer, key: Key) -> int | None:
    return next((row.rank for row in answer.rows if row.key == key), None)


def _rows(answer: Answer) -> Iterator[dict[str, Any]]:
    whole: dict[str, Any] = {
        "window_start": answer.window.start,
        "window_end": answer.window.end,
        **({} if answer.group is None else _named("group", answer.group, answer.group_columns)),
    }
    names = _cell_names(answer)
    figures: dict[str, Any] = {"exact": answer.exact, "candidates": answer.candidates}
    figures |= {} if answer.freshness is None else asdict(answer.freshness)
    figures |= asdict(answer.counts)
    figures["problems"] = [*answer.problems]
    figures["looked_up"] = [_look_up(answer, each) for each in answer.looked_up]
    figures |= {} if answer.spent is None else {"spent": answer.spent, "left": [*answer.left]}
    if not answer.rows:
        yield {**whole, **dict.fromkeys(names), **figures}
    for row in answer.rows:
        cells = {name: getattr(row, name, None) for name in names} | _contributed(row)
        yield {**whole, **cells, **_named("key", row.key, answer.key_columns), **figures}


def _look_up(answer: Answer, each: LookUp) -> dict[str, Any]:
    """A look-up as a struct, in which a key of several columns is one too."""
    named = _named("key", each.key, answer.key_columns)
    return look_up_dict(each) | {"key": named if answer.key_columns else each.key}


def _cell_names(answer: Answer) -> list[str]:
    """The columns of a row, with those of the key where it stands."""
    own = answer.key_columns or ("key",)
    return [name for cell in _CELLS for name in (own if cell == "key" else (cell,))]


def _named(name: str, key: Key, columns: tuple[str, ...]) -> dict[str, Any]:
    """A key by its name, or its parts by theirs."""
    if not columns or not isinstance(key, tuple):
        return {name: key}
    return dict(zip(columns, key, strict=True))


def _contributed(row: Row) -> dict[str, Any]:
    """What the stream and several sources said: numbers, and texts in a list of their own."""
    found: dict[str, Any] = {"values": list(map(_as_number, row.values))}
    if any(isinstance(value, str) for value in row.values):
        texts = [None if _as_number(value) is not None else value for value in row.values]
        found["texts"] = [None if text is None else str(text) for text in texts]
    if row.remotes:
        found["remotes"] = {name: asdict(each) for name, each in row.remotes.items()}
    return found


def _as_number(value: float | str | None) -> float | None:
    return None if value is None or isinstance(value, str) else float(value)
