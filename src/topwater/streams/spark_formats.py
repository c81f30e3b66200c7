"""What Spark needs for its formats, and the options that they are given."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from topwater.errors import QueryError
from topwater.validation import mapping_of
from topwater.validation.addresses import VARIABLE

_PACKAGES = {
    "avro": "org.apache.spark:spark-avro_2.13:{spark}",
    "delta": "io.delta:delta-spark_{minor}_2.13:VERSION",
    "hudi": "org.apache.hudi:hudi-spark{minor}-bundle_2.13:VERSION",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-{minor}_2.13:VERSION",
    "mongodb": "org.mongodb.spark:mongo-spark-connector_2.13:VERSION",
}
"""Formats that PySpark does not bring along, and the Maven coordinates of what has them."""

_SETTINGS = {
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
    "iceberg": {
        "spark.sql.extensions": (
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        ),
    },
}
"""What else the session has to be told."""


def how_to_add(name: str) -> str:
    """What to write so that the session has a format.

    Examples
    --------
    >>> how_to_add("mine")
    'write packages = ["group:name:version"] in [spark], with the package that has it'
    >>> "io.delta:delta-spark_" in how_to_add("delta")
    True
    """
    if name not in _PACKAGES:
        return 'write packages = ["group:name:version"] in [spark], with the package that has it'
    spark = version("pyspark")
    package = _PACKAGES[name].format(spark=spark, minor=".".join(spark.split(".")[:2]))
    given = ", ".join(f'"{key}" = "{value}"' for key, value in _SETTINGS.get(name, {}).items())
    settings = f", and settings = {{{given}}}" if given else ""
    return f'write packages = ["{package}"] in [spark]{settings}'


def option_texts(given: Any, field: str = "options", *, elsewhere: bool = False) -> dict[str, str]:
    """The options of a format, as text; a ``${NAME}`` in one is an environment variable.

    Parameters
    ----------
    given, field
        The options, and what they are called.
    elsewhere
        Whether somebody else looks the variables up, as Kafka's client does.

    Raises
    ------
    QueryError
        If there is no such variable.

    Examples
    --------
    >>> option_texts({"header": True, "maxFilesPerTrigger": 5, "sep": ";"})
    {'header': 'true', 'maxFilesPerTrigger': '5', 'sep': ';'}
    """
    found = {}
    for name, value in mapping_of(given, field, f"write {field} = {{a = 1}}").items():
        text = value if isinstance(value, str) else json.dumps(value)
        for variable in VARIABLE.findall(text):
            if not elsewhere and variable not in os.environ:
                raise QueryError(
                    f"the environment variable {variable} is not set",
                    field=f"{field}.{name}",
                    fix=f"set {variable}",
                )
        found[str(name)] = text
    return found


def filled_options(options: Mapping[str, str]) -> dict[str, str]:
    """Options with the values of their variables: for Spark only, and never to be shown."""
    return {
        name: VARIABLE.sub(lambda found: os.environ[found[1]], value)
        for name, value in options.items()
    }
