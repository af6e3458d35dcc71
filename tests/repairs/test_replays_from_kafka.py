"""Rows that are missing are read again from a real broker, which asks for all that a broker can ask."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from bot.adapters.clock import SystemClock
from bot.adapters.kafka import Kafka
from bot.adapters.spark import SparkEvidenceRunner
from bot.incident.execution import ProposalState
from bot.observation.errors import CouldNotLook, Refused
from bot.observation.replay import PositionRange, ReplayRange, ReplaySettings
from spark_tasks._support.kafka import rows_of_topic, topic_trouble
from tests.kafka_broker import PASSWORD, Broker, kafka_broker
from tests.repairs.conftest import Positions
from tests.repairs.scene import RUN, RepairScene
from tests.tables import CONTRACT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Declares = Callable[[str], RepairScene]
PLACED = CONTRACT.model_copy(update={"position_partition": "source_partition"})
SELECT = """
SELECT o.id AS order_id, partition AS source_partition, offset AS source_position, o.event_time, o.customer FROM (
  SELECT from_json(text, 'id bigint, event_time timestamp, customer string') AS o, timestamp AS written_at, *
  FROM (SELECT replace(cast(value AS string), 'order_id', 'id') AS text, * FROM records)
) WHERE written_at > TIMESTAMP '2020-01-01' AND text LIKE '{%}'
"""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One for all of these."""
    with kafka_broker(tmp_path_factory.mktemp("broker")) as started:
        yield started


def orders(positions: Iterable[int]) -> list[bytes | None]:
    """Records of the very rows that the tests' table has."""
    return [
        json.dumps(
            {
                "order_id": n,
                "event_time": f"2026-11-03T00:{n // 60:02d}:{n % 60:02d}.000Z",
                "customer": f"customer-{n}",
            }
        ).encode()
        for n in positions
    ]


@pytest.fixture
def declares(tmp_path: Path, runner: SparkEvidenceRunner, broker: Broker, request: pytest.FixtureRequest) -> Declares:
    """`declares("json")`: run A read offsets 0 to 29 and wrote them, and somebody took 10 to 19 away; rows are replayed
    from Kafka so."""
    broker.topic.make_anew(2)
    broker.writes({0: orders(range(30)), 1: orders(range(5))})

    def declare(kafka: str) -> RepairScene:
        seen = Kafka(broker.guarded, SystemClock())
        recipe = ReplaySettings(kafka=kafka).of(broker.guarded)
        made = RepairScene(tmp_path, runner, kafka=seen, replay=recipe, contract=PLACED)
        request.addfinalizer(made.close)
        made.flink.checkpoints(RUN, 3)
        made.orders.deletes("source_position >= 10 and source_position < 20")
        return made

    return declare


@pytest.mark.parametrize("kafka", ["json", pytest.param(SELECT, marks=pytest.mark.long)])
def test_a_gap_is_read_from_the_broker_proven_on_a_branch_and_published(
    declares: Declares, positions: Positions, spark: SparkSession, tmp_path: Path, kafka: str
) -> None:
    """Value for value as the job would have written it; the password is in no record."""
    scene = declares(kafka)
    scene.opens("ledger")

    rehearsal = scene.carries_out(scene.proposes("replay_source_range"))
    proof = scene.proves(rehearsal)

    assert proof.passed, proof.checks
    assert "Kafka topic orders at 127.0.0.1:" in " ".join(rehearsal.proposal.preview.sentences)
    branch = rehearsal.proposal.rehearses_on or ""
    assert positions(scene, "main") == [*range(10), *range(20, 30)]
    assert positions(scene, branch) == list(range(30))
    table = scene.table
    rows = spark.read.format("iceberg").option("versionAsOf", str(table.ref(branch))).load(table.metadata_location)
    of_one = rows.where("source_position = 15").selectExpr("*", "cast(event_time AS string) AS at").first()
    assert (of_one["order_id"], of_one["source_partition"], of_one["customer"]) == (15, 0, "customer-15")
    assert of_one["at"] == "2026-11-03 00:00:15"
    scene.carries_out(scene.proposes("publish_repair"))
    assert positions(scene, "main") == list(range(50))
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("journal.db*"))
    assert b"waterline" in kept
    assert PASSWORD.encode() not in kept
    assert json.dumps(PASSWORD)[1:-1].encode() not in kept


def test_offsets_without_a_row_are_counted_and_do_not_prevent_a_replay(
    declares: Declares, broker: Broker, positions: Positions
) -> None:
    """Aborted records and the marks of transactions have offsets, and nobody can ever read a row there."""
    scene = declares("json")
    broker.topic.make_anew(2)
    broker.writes({0: orders(range(15))})
    broker.aborts(0, [b"{}", b"{}"])
    broker.writes({0: orders(range(18, 30))})
    scene.opens("ledger")

    rehearsal = scene.carries_out(scene.proposes("replay_source_range"))

    found = scene.store.get(scene.incident).latest["replayable_rows"].evidence
    assert (found.finding.empty, found.finding.not_given) == (3, 0)
    told = " ".join(rehearsal.proposal.preview.sentences)
    assert "At 3 missing positions Kafka has no row" in told
    branch = rehearsal.proposal.rehearses_on or ""
    assert positions(scene, branch) == [*range(15), *range(18, 30)]
    assert scene.proves(rehearsal).passed
    scene.carries_out(scene.proposes("publish_repair"))
    scene.diagnosed_anew("replayable_rows")
    with pytest.raises(Refused, match="rows at 3 missing positions of the topic; found none"):
        scene.proposes("replay_source_range")


def test_what_the_broker_has_deleted_is_said_and_nothing_is_written(declares: Declares, broker: Broker) -> None:
    """Of what was deleted before the look the evidence counts; what is deleted after it refuses the replay."""
    scene = declares("json")
    scene.opens("ledger")
    view = scene.proposes("replay_source_range")
    broker.topic.delete_below_the_end()

    ended = scene.carries_out(view)

    assert ended.state is ProposalState.REFUSED
    assert "no longer has all records of orders-0 from offset 10 to 19" in ended.result.sentence
    scene.services.evidence.run_now(scene.incident, "replayable_rows")
    finding = scene.store.get(scene.incident).latest["replayable_rows"].evidence
    assert finding.verdict == "ruled-out"
    with pytest.raises(Refused, match="no longer has 10 of the 10 missing positions") as refused:
        scene.proposes("replay_source_range")
    assert "rewind" not in refused.value.remedy, "a job that goes back finds no record there either"
    with pytest.raises(CouldNotLook, match="no longer has all records of orders-0 from offset 10 to 12"):
        scene.proposes("replay_rows", "positions=10..12 partition=0")
    with pytest.raises(CouldNotLook, match="source positions as bounds"):
        scene.proposes("replay_rows", "from=2026-11-03T00:00Z until=2026-11-03T00:01Z")


def test_only_the_offsets_within_the_bounds_are_read_and_of_them_what_was_committed(
    broker: Broker, spark: SparkSession
) -> None:
    """Each partition by its own bounds. A record that is no JSON, a tombstone and an aborted one do not get in."""
    broker.topic.make_anew(2)
    broker.writes({0: [*orders(range(3)), None, b"no JSON"], 1: orders(range(9))})
    broker.aborts(0, [b"{}", b"{}"])
    broker.writes({0: orders([30])})  # at offset 8, behind the mark of the abort
    schema = StructType([StructField(each, StringType()) for each in ("order_id", "partition", "offset")])

    def read(*positions: tuple[str, int, int]) -> list[tuple[int, ...]]:
        recipe = ReplaySettings(kafka="json").of(broker.guarded)
        bounds = ReplayRange(positions=tuple(PositionRange(partition=p, first=a, last=z) for p, a, z in positions))
        rows = rows_of_topic(spark, recipe, bounds, ("partition", "offset"), schema)
        return sorted((int(row["partition"]), int(row["offset"]), int(row["order_id"])) for row in rows.collect())

    assert read(("0", 1, 3), ("1", 7, 7), ("1", 8, 8)) == [(0, 1, 1), (0, 2, 2), (1, 7, 7), (1, 8, 8)]
    assert read(("0", 5, 8)) == [(0, 8, 30)]
    with pytest.raises(Exception, match="MALFORMED_RECORD") as malformed:
        read(("0", 3, 4))
    assert "no JSON" in getattr(topic_trouble(malformed.value), "happened", "")
    with pytest.raises(Exception, match="kafka") as no_partition:
        read(("7", 0, 1))
    assert "could not read the topic" in getattr(topic_trouble(no_partition.value), "happened", "")
