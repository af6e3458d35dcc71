"""Which offsets of a topic a replay reads, how it logs in, and what Spark's errors of it mean. No broker, no Spark."""

import json
from pathlib import Path

import pytest

from bot.observation.errors import EvidenceFailed
from bot.observation.kafka import KafkaPartition, KafkaSettings
from bot.observation.replay import PositionRange, ReplaySettings
from spark_tasks._support.kafka import held, login, offsets, topic_trouble

BROKER = KafkaSettings(servers="kafka-1:9092,kafka-2:9092", topics=("orders",))


def ranges(*told: tuple[str | None, int, int]) -> tuple[PositionRange, ...]:
    """Of (partition, first, last)."""
    return tuple(PositionRange(partition=partition, first=first, last=last) for partition, first, last in told)


def test_each_partition_is_read_from_its_first_position_to_its_last() -> None:
    """Kafka's end is exclusive; partitions without a bound are not read at all."""
    read = offsets("orders", ranges(("0", 10, 19), ("10", 7, 7), ("0", 40, 41)))

    assert {name: json.loads(told) for name, told in read.items()} == {
        "assign": {"orders": [0, 10]},
        "startingOffsets": {"orders": {"0": 10, "10": 7}},
        "endingOffsets": {"orders": {"0": 42, "10": 8}},
    }


@pytest.mark.parametrize("positions", [(), ranges((None, 1, 2)), ranges(("orders/0", 1, 2))])
def test_bounds_that_kafka_does_not_know_are_refused(positions: tuple[PositionRange, ...]) -> None:
    """Event times, a hidden partition, and a partition that is no number."""
    with pytest.raises(EvidenceFailed):
        offsets("orders", positions)


def test_only_what_the_broker_still_has_is_asked_for() -> None:
    """A range is cut at both ends, dropped where none of it is there, and kept where nothing is known."""
    seen = [
        KafkaPartition(topic="orders", partition=0, earliest=15, latest=100),
        KafkaPartition(topic="orders", partition=1, earliest=50, latest=60),
    ]

    kept = held(ranges(("0", 10, 19), ("0", 95, 120), ("1", 10, 19), ("2", 1, 2)), seen)

    assert kept == ranges(("0", 15, 19), ("0", 95, 99), ("2", 1, 2))


def test_a_login_is_told_as_the_java_client_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what stands in the password escaped, and certificates as text: files of this machine are on no executor."""
    (tmp_path / "ca.pem").write_text("CA")
    (tmp_path / "client.pem").write_text("CERTIFICATE")
    (tmp_path / "client.key").write_text("KEY")
    monkeypatch.setenv("KAFKA_PASSWORD", 'a"b\\c')
    broker = BROKER.model_copy(
        update={
            "protocol": "SASL_SSL",
            "mechanism": "SCRAM-SHA-512",
            "user": "waterline",
            "secret_variable": "KAFKA_PASSWORD",
            "ca_file": tmp_path / "ca.pem",
            "certificate_file": tmp_path / "client.pem",
            "key_file": tmp_path / "client.key",
        }
    )

    assert login(broker) == {
        "kafka.bootstrap.servers": "kafka-1:9092,kafka-2:9092",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="waterline" password="a\\"b\\\\c";',
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": "CA",
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.certificate.chain": "CERTIFICATE",
        "kafka.ssl.keystore.key": "KEY",
    }
    assert login(BROKER) == {
        "kafka.bootstrap.servers": "kafka-1:9092,kafka-2:9092",
        "kafka.security.protocol": "PLAINTEXT",
    }


@pytest.mark.parametrize("where", [{}, {"secret_variable": "NOT_SET"}, {"secret_file": Path("/not/there")}])
def test_without_a_password_nothing_is_asked(where: dict[str, object]) -> None:
    """A login that asks for one."""
    with pytest.raises(EvidenceFailed):
        login(BROKER.model_copy(update={"protocol": "SASL_PLAINTEXT", "user": "waterline", **where}))


def test_a_recipe_names_where_the_password_is_and_never_holds_it(tmp_path: Path) -> None:
    """It travels in proposals and in the journal."""
    secret = tmp_path / "password"
    secret.write_text("s3cret")
    broker = BROKER.model_copy(update={"protocol": "SASL_SSL", "user": "waterline", "secret_file": secret})

    recipe = ReplaySettings(kafka="json").of(broker)

    assert "s3cret" in login(broker)["kafka.sasl.jaas.config"]
    assert recipe.broker == broker
    assert recipe.source == "Kafka topic orders at kafka-1:9092,kafka-2:9092"
    assert "s3cret" not in recipe.model_dump_json() + repr(recipe)


def test_of_another_recipe_the_broker_is_no_part() -> None:
    """What is declared as a SELECT reads what the SELECT says."""
    assert ReplaySettings(sql="SELECT 1", source="the archive").of(BROKER).broker is None


@pytest.mark.parametrize(
    ("said", "happened"),
    [
        (
            "(org.apache.spark.sql.kafka010.KafkaIllegalStateException) Some data may have been lost because they are "
            "not available in Kafka any more;\nReason: Could not read records in offset [4095, 5106) for topic "
            "partition orders-2\nwith consumer group x",
            "The broker no longer has all records of orders-2 from offset 4,095 to 5,105.",
        ),
        ("[MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] Malformed records are detected", "no JSON"),
        ("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: kafka.", "no Kafka source"),
        (
            "(java.util.concurrent.ExecutionException) org.apache.kafka.common.errors.TimeoutException: x",
            "could not read",
        ),
        ("org.apache.spark.SparkException: Job aborted", None),
    ],
)
def test_what_spark_says_of_a_topic_is_explained(said: str, happened: str | None) -> None:
    """As Spark 4.1 says it. What is of something else is left to others."""
    told = topic_trouble(RuntimeError(said))

    assert (told is None) == (happened is None)
    assert (happened or "") in ("" if told is None else told.happened)
