"""What Spark needs for its formats, and what these are told."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from topwater.errors import QueryError
from topwater.streams.spark_formats import filled_options, how_to_add, option_texts


def test_a_package_of_this_spark_is_named() -> None:
    minor = ".".join(version("pyspark").split(".")[:2])
    assert f"io.delta:delta-spark_{minor}_2.13:VERSION" in how_to_add("delta")
    assert "DeltaCatalog" in how_to_add("delta")
    assert f"spark-avro_2.13:{version('pyspark')}" in how_to_add("avro")
    assert "settings" not in how_to_add("avro")


def test_variables_are_filled_in_for_spark_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(QueryError, match="TW_KEY is not set") as caught:
        option_texts({"password": "${TW_KEY}"})
    assert caught.value.field == "options.password"
    assert option_texts({"password": "${TW_KEY}"}, elsewhere=True)
    monkeypatch.setenv("TW_KEY", "hush")
    told = option_texts({"password": "${TW_KEY}", "n": 3, "on": True})
    assert told == {"password": "${TW_KEY}", "n": "3", "on": "true"}
    assert filled_options(told) == {"password": "hush", "n": "3", "on": "true"}
