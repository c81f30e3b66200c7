"""Topics of Kafka, by Spark's own connector."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException

from topwater.errors import EnvironmentProblem
from topwater.validation.addresses import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from topwater.streams import KafkaStream

_PROVIDER = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"


def kafka(spark: SparkSession, settings: KafkaStream, once: bool) -> DataFrame:
    """What the connector gives: ``value``, ``topic``, ``timestamp`` and more.

    Raises
    ------
    EnvironmentProblem
        If the session was started without the connector.
    """
    reader: Any = spark.read if once else spark.readStream
    try:
        found: DataFrame = reader.format("kafka").options(**options(settings, once)).load()
    except AnalysisException as error:
        if "kafka" not in str(error).lower() or "find" not in str(error).lower():
            raise
        raise EnvironmentProblem(
            "the Spark session has no connector for Kafka",
            fix=f'start it with topwater.spark.session(packages=["{settings.packages[0]}"])',
        ) from None
    return found


def options(settings: KafkaStream, once: bool) -> dict[str, str]:
    """What the connector is given. Secrets stay names: Kafka's client looks them up itself."""
    told = {
        "kafka.bootstrap.servers": settings.servers,
        **(
            {"subscribePattern": settings.pattern}
            if settings.pattern
            else {"subscribe": ",".join(settings.topics)}
        ),
        "startingOffsets": "earliest" if once else settings.start,
    }
    if settings.max_per_trigger is not None and not once:
        told["maxOffsetsPerTrigger"] = str(settings.max_per_trigger)
    return {**told, **with_variables(settings.options)}


def with_variables(options: Mapping[str, str]) -> dict[str, str]:
    """Options of the connector in which ``${NAME}`` is for Kafka's client to look up.

    Examples
    --------
    >>> with_variables({"kafka.sasl.jaas.config": "password=${KEY}"})["kafka.sasl.jaas.config"]
    'password=${env:KEY}'
    """
    told = {name: re.sub(VARIABLE, r"${env:\1}", value) for name, value in options.items()}
    if told == dict(options):
        return told
    return {"kafka.config.providers": "env", "kafka.config.providers.env.class": _PROVIDER} | told
