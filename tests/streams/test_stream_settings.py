"""What the settings of all streams have: a format, and columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from topwater.errors import QueryError
from topwater.streams.stream_settings import RDF, ROWS, StreamSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Own(StreamSettings):
    """A stream that takes every format, and checks a setting of its own."""

    formats: ClassVar[tuple[str, ...]] = (*ROWS, *RDF)
    size: int = 1

    def check(self) -> None:
        if self.size < 1:
            raise QueryError("is too small", field="size", fix="make it larger")


@pytest.mark.parametrize("format_", RDF)
def test_rdf_has_columns_of_its_own(format_: str) -> None:
    assert Own(format=format_).rdf
    with pytest.raises(QueryError) as caught:
        Own(format=format_, schema="a int")
    assert caught.value.field == "schema"


def test_rows_have_the_columns_of_a_schema() -> None:
    assert not Own(schema="a int").rdf
    assert Own(format="parquet").schema == "", "a file of Parquet tells its own"
    assert Own(schema="a int").packages == ()


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({}, "schema"),
        ({"format": "csv"}, "schema"),
        ({"schema": "a"}, "schema"),
        ({"schema": {}}, "schema"),
        ({"schema": 0}, "schema"),
        ({"schema": "a int", "format": "xml"}, "format"),
        ({"schema": "a int", "size": 0}, "size"),
    ],
)
def test_what_can_not_work(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(QueryError) as caught:
        Own(**settings)
    assert caught.value.field == field
    assert caught.value.fix


def test_a_kind_has_its_own_formats() -> None:
    assert "parquet" not in StreamSettings.formats
    with pytest.raises(QueryError) as caught:
        StreamSettings(schema="a int", format="parquet")
    assert caught.value.field == "format"
