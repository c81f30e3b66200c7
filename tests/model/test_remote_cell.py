"""A remote value of a row tells what it is, and how old."""

from __future__ import annotations

from topwater.model import Frozen, Remote, Row, row_dict


def test_a_row_as_plain_values_has_them_by_name() -> None:
    row = Row(1, "tea", 3.0, 7, remotes=Frozen(price=Remote(3.0, 0, 1.0), maker=Remote("acme")))
    plain = row_dict(row)["remotes"]
    assert plain["price"] == {"value": 3.0, "age": 0, "confidence": 1.0, "assumed": None}
    assert plain["maker"]["value"] == "acme"
    assert "remotes" not in row_dict(Row(1, "tea", 3.0, 7))
