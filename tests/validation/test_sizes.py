"""Sizes in bytes, as people write them."""

from __future__ import annotations

from typing import Any

import pytest

from topwater.errors import QueryError
from topwater.validation.sizes import bytes_of, size_text


@pytest.mark.parametrize(
    ("given", "right"),
    [
        (1, 1),
        ("1 B", 1),
        ("2kb", 2048),
        (" 64 MB ", 64 * 2**20),
        ("3 gb", 3 * 2**30),
        ("1000 B", 1000),
    ],
)
def test_a_size_is_a_number_or_a_text(given: Any, right: int) -> None:
    assert bytes_of(given, "memory") == right
    assert bytes_of(size_text(right).replace(",", ""), "memory") == right


@pytest.mark.parametrize(
    "given",
    [
        "",
        "64",
        "MB",
        "-1 MB",
        "1.5 MB",
        "1e3 B",
        "1 TB",
        "9" * 40 + " B",
        0,
        -1,
        1.0,
        True,
        None,
        [],
    ],
)
def test_what_is_not_a_size_is_refused(given: Any) -> None:
    with pytest.raises(QueryError, match="memory"):
        bytes_of(given, "memory")


def test_too_small() -> None:
    with pytest.raises(QueryError, match="at least 4096"):
        bytes_of("1 KB", "memory", least=4096)
