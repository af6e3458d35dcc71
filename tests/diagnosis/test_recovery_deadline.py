"""Until when a table can be recovered, and what ends it."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import pytest

from bot.history.case import Case
from bot.history.source_records import records_lost
from bot.incident.recovery_deadline import (
    SOON,
    deadline_in_short,
    deadline_in_words,
    is_no_worse,
    is_soon,
    recovery_deadline,
)
from bot.observation.contract import TableContract
from bot.observation.findings import GapsFinding, PositionGap, RecoveryDeadline
from bot.observation.flink import CheckpointKind, CheckpointSettings, FlinkManifest, SourcePosition, StoredCheckpoint
from bot.observation.ids import CheckpointId, OperatorId
from bot.observation.kafka import KafkaPartition, OffsetTime
from bot.observation.looked import NotSeen, Seen
from bot.observation.table import Ref, Window
from tests import orders_table as orders
from tests.tables import with_fields

NOW = orders.NINE
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SOURCE = OperatorId("cb" * 16)


def held(number: int = 0, earliest: int = 0, latest: int = 1_000, **told: Any) -> KafkaPartition:
    """A partition whose record at 100 came three hours ago, and the one at 500 an hour ago; kept for five hours."""
    ages = {100: 3 * HOUR, 500: HOUR}
    later = (OffsetTime(offset=offset, at=NOW - age) for offset, age in ages.items() if offset > earliest)
    times = (OffsetTime(offset=earliest, at=NOW - 4 * HOUR), *later)
    fields = {"times": times, "retention": 5 * HOUR} | told
    return KafkaPartition(topic="orders", partition=number, earliest=earliest, latest=latest, **fields)


def reading(point: StoredCheckpoint, *offsets: int) -> StoredCheckpoint:
    """Its source goes on at these offsets of partitions 0, 1, …"""
    told = (
        SourcePosition(operator_id=SOURCE, topic="orders", partition=number, following=offset)
        for number, offset in enumerate(offsets)
    )
    return point.model_copy(update={"source_positions": tuple(told)})


def checkpoint(number: int, ago: timedelta) -> StoredCheckpoint:
    """Of run B, which goes on."""
    return StoredCheckpoint(
        path=f"file:///state/{orders.RUN_B}/chk-{number}", kind=CheckpointKind.CHECKPOINT,
        checkpoint_id=CheckpointId(number), job_id=orders.RUN_B, written_at=NOW - ago, is_committer_read=True,
    )  # fmt: skip


def case(
    *points: StoredCheckpoint,
    kafka: Seen[KafkaPartition] | NotSeen | Iterable[KafkaPartition] | None = None,
    gaps: Iterable[PositionGap] = (),
    contract: TableContract | None = None,
    survives_cancel: bool | None = None,
    **of_table: object,
) -> Case:
    """The incident's world, with these restore points and partitions, and these fields of the table."""
    is_told = kafka is None or isinstance(kafka, Seen | NotSeen)
    told = kafka if is_told else Seen[KafkaPartition](source="Kafka", values=tuple(kafka))  # type: ignore[arg-type]
    run = orders.run_b(settings=CheckpointSettings(survives_cancel=survives_cancel))
    world = orders.observation(jobs=Seen(source="Flink", values=(run,))).model_copy(
        update={
            "table": with_fields(orders.table_state(), **{"refs": (), **of_table}),
            "checkpoints": Seen[StoredCheckpoint](source="the folder", values=points),
            "kafka": told,
            "flink_manifests": Seen[FlinkManifest](source="storage", values=()),
        }
    )
    found = tuple(gaps)
    missing = sum(gap.size for gap in found)
    return Case(
        observation=world, window=Window(since=orders.GOOD, until=world.table.head), job_name=orders.JOB,
        contract=contract or orders.contract(),
        gaps=GapsFinding(lowest=0, highest=999, positions=999, missing=missing, gaps=found) if found else None,
    )  # fmt: skip


def told(of: Case) -> RecoveryDeadline:
    found = recovery_deadline(of)
    assert found is not None
    return found


EXPIRING = {"properties": {"history.expire.max-snapshot-age-ms": str(2 * 3_600_000)}}


@pytest.mark.parametrize(
    ("of", "until", "because"),
    [
        (case(reading(orders.savepoint(), 500), kafka=[held()]), NOW + 4 * HOUR, "orders/0 from offset 500 on"),
        (
            case(reading(orders.savepoint(), 500, 100), kafka=[held(), held(1)]),
            NOW + 2 * HOUR, "orders/1 from offset 100 on",
        ),
        (case(reading(orders.savepoint(), 1_000), kafka=[held()]), NOW + 5 * HOUR, "from offset 1,000 on"),
        (case(reading(orders.savepoint(), 500), kafka=[held(), held(1)]), NOW + HOUR, "orders/1 from offset 0 on"),
        (case(reading(orders.savepoint(), -2), kafka=[held()]), NOW + HOUR, "from offset 0 on"),
        (case(reading(orders.savepoint(), 500), kafka=[held(retention=None)]), None, None),
        (case(reading(orders.savepoint(), 500), kafka=[held(times=())]), None, None),
        (case(orders.savepoint()), None, None),
        (case(orders.savepoint(), **EXPIRING), NOW + timedelta(minutes=110), "377421"),
        (case(orders.savepoint(), **EXPIRING | {"refs": (Ref(name="kept", kind="tag", snapshot_id=orders.GOOD),)}),
         None, None),
        (case(orders.savepoint(), properties=EXPIRING["properties"] | {"gc.enabled": "false"}), None, None),
        (case(reading(orders.savepoint(), 500), kafka=[held()], **EXPIRING), NOW + timedelta(minutes=110), "expiry"),
        (case(kafka=[held()], gaps=[PositionGap(first=100, last=200)]), NOW + 2 * HOUR, "from offset 100 on"),
        (case(kafka=[held(), held(1)], gaps=[PositionGap(first=500, last=501, partition="1")]),
         NOW + 4 * HOUR, "orders/1"),
    ],
)  # fmt: skip
def test_the_deadline_is_what_goes_first(of: Case, until: datetime | None, because: str | None) -> None:
    """Retention of the offsets that are needed, and expiry that is known to run; by nothing else is one set."""
    found = told(of)

    assert found.recoverable_until == until
    assert (because or "") in (found.because or "")
    assert (found.because is None) == (until is None)


def test_expiry_counts_once_it_is_known_to_run() -> None:
    """Iceberg's default alone deletes nothing; commits that are gone below main show that somebody does."""
    by_default = told(case(orders.savepoint()))
    runs = told(case(orders.savepoint(), snapshots=orders.snapshots()[1:]))

    at = NOW - timedelta(minutes=10) + 5 * DAY
    assert [(each.at, each.is_conditional) for each in by_default.limits] == [(at, True)]
    assert (by_default.recoverable_until, runs.recoverable_until) == (None, at)


def test_what_has_yet_to_be_committed_is_told_as_an_orphan() -> None:
    """Of a checkpoint above the table, whose files its state alone names; a paired one's are in its snapshot."""
    name = f"{orders.RUN_B}-{orders.OPERATOR}-00000-0-{{}}-00001.avro"
    ahead = checkpoint(10, timedelta(minutes=1)).model_copy(update={"pending_manifests": (name.format(10),)})
    paired = checkpoint(9, timedelta(minutes=1)).model_copy(update={"pending_manifests": (name.format(9),)})
    manifest = FlinkManifest(
        path=f"s3://lake/metadata/{name.format(10)}", job_id=orders.RUN_B, operator_id=orders.OPERATOR, subtask=0,
        attempt=0, checkpoint_id=CheckpointId(10), number=1, bytes=1, written_at=NOW - HOUR,
    )  # fmt: skip

    of = case(ahead)
    there = Seen[FlinkManifest](source="storage", values=(manifest,))
    owing = told(of.model_copy(update={"observation": of.observation.model_copy(update={"flink_manifests": there})}))

    assert [(each.at, each.is_conditional) for each in owing.limits] == [(NOW - HOUR + 3 * DAY, True)]
    limits = found.limits if (found := recovery_deadline(case(paired))) is not None else ()
    assert not any("orphan" in each.what for each in limits)


def test_of_a_topic_the_first_partition_alone_is_listed() -> None:
    """A hundred partitions make one line."""
    found = told(case(reading(orders.savepoint(), 500, 100, 600), kafka=[held(0), held(1), held(2)]))

    assert [each.what for each in found.limits if not each.is_conditional] == [
        "Kafka may delete orders/1 from offset 100 on"
    ]


def test_lost_commits_of_the_window_count() -> None:
    """What main has lost expires by the table's age, whatever main itself keeps; a tag holds it."""
    lost = {"head": orders.GOOD} | EXPIRING
    expires = told(case(**lost))
    branch = Ref(name="kept", kind="branch", snapshot_id=orders.HEAD, min_snapshots=9)
    held_back = recovery_deadline(case(**lost, refs=(branch,)))

    first = min(at for _, _, run, at in orders.COMMITS if run == orders.RUN_B)
    assert expires.recoverable_until == first + 2 * HOUR
    assert "lost commit" in (expires.because or "")
    assert held_back is None


def test_a_restore_point_without_its_records_is_not_the_best() -> None:
    """An older one whose records are all there takes its place; where none has them, that is told as lost for good."""
    kafka = [held(earliest=300)]
    newer, older = reading(orders.savepoint(), 100), reading(orders.savepoint(orders.SAVEPOINT_6, 6), 500)
    of = case(newer, older, kafka=kafka)

    assert records_lost(of, newer) == ("orders/0, offsets 100 to 299",)
    assert (told(of).restore_point, told(of).lost_for_good) == (orders.SAVEPOINT_6, ())
    alone = told(case(newer, kafka=kafka))
    assert (alone.restore_point, alone.lost_for_good) == (orders.SAVEPOINT_10, ("orders/0, offsets 100 to 299",))
    assert alone.recoverable_until == NOW + HOUR
    assert alone.unknown == ()


@pytest.mark.parametrize("kafka", [[held(latest=400)], [held(7)]])
def test_a_topic_that_was_made_anew_holds_nothing_of_what_is_needed(kafka: list[KafkaPartition]) -> None:
    """It ends below the offset, or does not have the partition at all."""
    found = told(case(reading(orders.savepoint(), 500), kafka=kafka))

    assert found.lost_for_good == ("orders/0 from offset 500 on",)


def test_gaps_say_which_part_is_lost() -> None:
    """The part that Kafka has deleted is lost; the rest has a deadline of its own."""
    found = told(case(kafka=[held(earliest=300)], gaps=[PositionGap(first=100, last=399)]))

    assert found.lost_for_good == ("orders/0, offsets 100 to 299",)
    assert "from offset 300 on" in (found.because or "")


def test_a_gap_of_an_unknown_partition_has_no_deadline() -> None:
    """Two topics, and a table that does not say which: neither may be named."""
    other = held().model_copy(update={"topic": "refunds"})

    assert recovery_deadline(case(kafka=[held(), other], gaps=[PositionGap(first=1, last=2)])) is None


def test_a_checkpoint_of_a_living_run_goes_when_newer_ones_complete() -> None:
    """Of three that Flink keeps, the oldest goes with the next one; the newest, or one that a newer one follows that is
    being committed, is replaced by one as good."""
    ago = {7: timedelta(minutes=3), 8: timedelta(minutes=2), 9: timedelta(minutes=1)}
    points = {number: checkpoint(number, since) for number, since in ago.items()}
    behind = points[9].model_copy(update={"problem": "It is cut off."})

    oldest = told(case(points[7], points[8].model_copy(update={"problem": "?"}), behind))
    newest = told(case(*points.values()))
    name = f"{orders.RUN_B}-{orders.OPERATOR}-00000-0-10-00001.avro"
    committing = checkpoint(10, timedelta(seconds=2)).model_copy(update={"pending_manifests": (name,)})
    paired = told(case(*points.values(), committing))

    assert (oldest.recoverable_until, "checkpoint 7" in (oldest.because or "")) == (NOW, True)
    assert newest.recoverable_until is None
    assert newest.restore_point == points[9].path
    assert (paired.restore_point, paired.recoverable_until) == (points[9].path, None)


def test_a_checkpoint_that_is_not_retained_is_told_without_moving_the_deadline() -> None:
    """Nobody knows whether somebody will cancel the run."""
    found = told(case(checkpoint(9, timedelta(minutes=1)), survives_cancel=False))

    assert found.recoverable_until is None
    assert any(each.is_conditional and "cancelled" in each.what for each in found.limits)


def test_hidden_offsets_are_not_told() -> None:
    """The contract redacts the position: then ranges are counted, and no offset is named."""
    hidden = TableContract(key=("order_id",), position="pos", redacted=("pos",))
    found = told(case(reading(orders.savepoint(), 123), kafka=[held(earliest=456)], contract=hidden))

    assert found.lost_for_good == ("orders/0, 333 records",)
    assert not {"123", "456"} & set("".join(deadline_in_words(found, NOW)).replace(",", " ").split())
    assert "orders/0 from where it is needed on" in (found.because or "")


@pytest.mark.parametrize(
    ("kafka", "offsets", "says"),
    [
        (None, (), ()),
        (None, (5,), ("no broker is configured",)),
        (orders.not_seen("Kafka"), (5,), ("refused the connection",)),
        ([held()], (), ("goes on is not known",)),
        ([held(is_retention_known=False, retention=None)], (5,), ("did not tell",)),
        ([held(times=())], (5,), ("How old the records",)),
    ],
)
def test_what_is_not_known_is_said(kafka: Any, offsets: tuple[int, ...], says: tuple[str, ...]) -> None:
    """On the card too, but for a source of which nobody can tell anything; in a terminal always."""
    found = told(case(reading(orders.savepoint(), *offsets), kafka=kafka))

    assert found.recoverable_until is None
    assert len(found.unknown) == 1
    short = deadline_in_short(found, NOW)
    assert [any(each in line for line in short) for each in says] == [True] * len(short)
    assert any(found.unknown[0] in line for line in deadline_in_words(found, NOW))


def test_a_deadline_beside_something_unknown_holds_at_the_latest() -> None:
    """Expiry is known; how long Kafka keeps the records is not."""
    found = told(case(reading(orders.savepoint(), 5), **EXPIRING))

    assert deadline_in_short(found, NOW)[0] == (
        "Recoverable until 10:50 UTC at the latest: then expiry may delete snapshot …377421."
    )


def test_the_card_says_it_in_one_sentence() -> None:
    """With the day where it is another one, and what may make it earlier."""
    found = told(case(reading(orders.savepoint(), 500), kafka=[held(retention=2 * DAY, retention_bytes=10**9)]))

    assert deadline_in_short(found, NOW) == (
        "Recoverable until 5 Nov, 08:00 UTC: then Kafka may delete orders/0 from offset 500 on.",
        "They may go earlier: the topic orders has a size limit.",
    )
    assert deadline_in_short(found, NOW + 3 * DAY)[0] == (
        "Recover now: Kafka may delete orders/0 from offset 500 on at any time."
    )
    until = found.recoverable_until
    assert until is not None
    assert (is_soon(found, NOW), is_soon(found, until - SOON + HOUR)) == (False, True)


def test_a_later_look_is_told_only_if_it_is_worse() -> None:
    """A running job's deadline moves on with its checkpoints: that makes no entry in the record."""
    now = told(case(reading(orders.savepoint(), 500), kafka=[held()]))
    earlier, later = (now.model_copy(update={"recoverable_until": NOW + at}) for at in (HOUR, DAY))
    lost = now.model_copy(update={"lost_for_good": ("orders/0, offsets 1 to 2",)})
    untold = now.model_copy(update={"recoverable_until": None})

    assert all(is_no_worse(each, now) for each in (now, later, untold, None))
    assert not any(is_no_worse(each, now) for each in (earlier, lost))
    assert not is_no_worse(now, untold)
    assert not is_no_worse(now, None)
