"""Reads the topic of a declared replay through Spark's Kafka source: of each partition from the first offset that is
meant to the last, and only what transactions committed."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructField, StructType

from bot.observation.errors import EvidenceFailed
from bot.observation.kafka import KafkaPartition, KafkaSettings
from bot.observation.replay import JSON, PositionRange, ReplayRange, ReplayRecipe
from bot.settings.secrets import secret_of

_SOURCE = {
    "includeHeaders": "true",
    "failOnDataLoss": "true",
    "fetchOffset.numRetries": "1",
    "kafkaConsumer.pollTimeoutMs": "20000",
    "kafka.isolation.level": "read_committed",
    "kafka.default.api.timeout.ms": "20000",
    "kafka.request.timeout.ms": "15000",
}
"""By itself Spark asks a silent broker for minutes."""
_LOGIN = "org.apache.kafka.common.security"
_AS_THEY_ARE = (ArrayType, BinaryType, MapType, StructType)
"""What Spark makes of JSON itself. Any other value is cast from its text, and one that does not fit fails."""


def rows_of_topic(
    spark: SparkSession, recipe: ReplayRecipe, bounds: ReplayRange, place: tuple[str | None, str | None], of: StructType
) -> DataFrame:
    """Shape: as the recipe says; at least the records within the bounds. `place`: the columns of `of`, the table's,
    for a record's partition and offset. Raises EvidenceFailed for bounds that Kafka does not know, and without a
    password."""
    if recipe.broker is None or recipe.kafka is None:
        raise _cannot("a broker", "the table's job has no `kafka` in the configuration file")
    (topic,) = recipe.broker.topics
    read = spark.read.format("kafka").options(**_SOURCE, **login(recipe.broker), **offsets(topic, bounds.positions))
    records = read.load()
    if recipe.kafka != JSON:
        select = recipe.kafka.strip().rstrip(";").replace("{", "{{").replace("}", "}}")
        text = f"WITH records AS (SELECT * FROM {{records}}) SELECT * FROM (\n{select}\n)"  # noqa: S608 - the operators' own
        return spark.sql(text, records=records)
    given = dict(zip(place, ("partition", "offset"), strict=True))
    inside = [field for field in of.fields if field.name not in given]
    told = StructType([StructField(field.name, _read_as(field.dataType)) for field in inside])
    value = F.from_json(F.col("value").cast("string"), told, {"mode": "FAILFAST"})
    return (
        records.where("value IS NOT NULL")
        .select(value.alias("value"), "partition", "offset")
        .select(
            *(F.col("value").getField(field.name).alias(field.name) for field in inside),
            *(F.col(ours).alias(name) for name, ours in given.items() if name is not None),
        )
    )


def _read_as(kind: DataType) -> DataType:
    return kind if isinstance(kind, _AS_THEY_ARE) else StringType()


def offsets(topic: str, positions: tuple[PositionRange, ...]) -> dict[str, str]:
    """Which offsets Spark reads: of each partition from the first position to the last. Raises EvidenceFailed."""
    if not positions:
        raise _cannot("source positions as bounds", "other ones: event times or a partition of the table")
    first: dict[str, int] = {}
    until: dict[str, int] = {}
    for each in positions:
        if each.partition is None or not each.partition.isdigit():
            raise _cannot(
                "the number of a partition in `position_partition`", each.partition or "none, or a hidden one"
            )
        first[each.partition] = min(each.first, first.get(each.partition, each.first))
        until[each.partition] = max(each.last + 1, until.get(each.partition, 0))
    return {
        "assign": json.dumps({topic: sorted(map(int, first))}),
        "startingOffsets": json.dumps({topic: first}),
        "endingOffsets": json.dumps({topic: until}),
    }


def held(positions: tuple[PositionRange, ...], seen: Sequence[KafkaPartition]) -> tuple[PositionRange, ...]:
    """What of these the broker still has, by what it was seen to have."""
    each_seen = {str(each.partition): each for each in seen}
    kept = []
    for each in positions:
        there = each_seen.get(each.partition or "")
        first, last = (each.first, each.last) if there is None else (
            max(each.first, there.earliest), min(each.last, there.latest - 1),
        )  # fmt: skip
        if first <= last:
            kept.append(each.model_copy(update={"first": first, "last": last}))
    return tuple(kept)


def login(broker: KafkaSettings) -> dict[str, str]:
    """How Kafka's Java client connects, as options of Spark's source. Reads password and certificates now, so that
    they are in no record. Raises EvidenceFailed."""
    told = {"bootstrap.servers": broker.servers, "security.protocol": broker.protocol}
    if broker.protocol.startswith("SASL"):
        module = "plain.PlainLoginModule" if broker.mechanism == "PLAIN" else "scram.ScramLoginModule"
        user, password = _quoted(broker.user or ""), _quoted(_password(broker))
        told["sasl.mechanism"] = broker.mechanism
        told["sasl.jaas.config"] = f"{_LOGIN}.{module} required username={user} password={password};"
    if broker.protocol.endswith("SSL"):
        if broker.ca_file is not None:
            told |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": _content(broker.ca_file)}
        if broker.certificate_file is not None and broker.key_file is not None:
            told["ssl.keystore.type"] = "PEM"
            told["ssl.keystore.certificate.chain"] = _content(broker.certificate_file)
            told["ssl.keystore.key"] = _content(broker.key_file)
    return {f"kafka.{name}": value for name, value in told.items()}


def _password(broker: KafkaSettings) -> str:
    try:
        return secret_of(broker)
    except (OSError, ValueError) as error:
        raise _cannot("a password in `secret_file` or `secret_variable` of the job's `kafka`", str(error)) from error


def _content(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _cannot(f"to read {file}", type(error).__name__) from error


def _quoted(text: str) -> str:
    """As Java's configuration of logins has it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _cannot(expected: str, found: str) -> EvidenceFailed:
    return EvidenceFailed(
        "Kafka cannot be read for this replay.",
        f"Expected {expected}; found {found}.",
        "Name positions and their partition as bounds; else correct the job's `kafka` or the table's `replay`.",
    )


_LACKING = re.compile(r"Could not read records in offset \[(\d+), (\d+)\) for topic partition (\S+)")
_TROUBLES = (
    (
        "MALFORMED_RECORD_IN_PARSING",
        "A record of the topic is no JSON, so nothing was read.",
        "Declare the replay as a SELECT that parses the records as the job does, and leaves out what the job skips.",
    ),
    (
        r"ailed to find (?:the )?data source: `?kafka",
        "Spark cannot read Kafka: it has no Kafka source.",
        "Add spark-sql-kafka-0-10 of its version to the Spark Connect server, as docs/spark.md says.",
    ),
    (
        r"spark\.sql\.kafka010|org\.apache\.kafka\.",
        "Spark could not read the topic.",
        "Compare `jobs.<name>.kafka` and `replay` with the broker: address, login, rights, partitions.",
    ),
)
"""What Spark's error says -> what happened, and what to do."""


def topic_trouble(error: Exception) -> EvidenceFailed | None:
    """Why a topic could not be read; None where Spark's error is of something else."""
    told = str(error)
    if (lacking := _LACKING.search(told)) is not None:
        first, until, partition = lacking.groups()
        return EvidenceFailed(
            f"The broker no longer has all records of {partition} from offset {int(first):,} to {int(until) - 1:,}.",
            "Expected to read each of them; it has deleted some, or none were written there yet.",
            "Ask the topic's owners for an archive, and declare it as the replay. Or name bounds that the broker has.",
        )
    first_line = told.strip().splitlines()[0][:300] if told.strip() else type(error).__name__
    for pattern, happened, remedy in _TROUBLES:
        if re.search(pattern, told):
            return EvidenceFailed(happened, f"Expected the declared offsets; found: {first_line}", remedy)
    return None
