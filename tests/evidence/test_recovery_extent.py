"""What a restore brings back, what it cannot, and where it lets the source go on."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.observation.contract import TableContract
from bot.observation.evidence import Answer, Ask, Verdict
from bot.observation.findings import RestoreReach
from bot.observation.flink import CheckpointKind, FlinkManifest, SourcePosition, StoredCheckpoint
from bot.observation.ids import CheckpointId, JobId, OperatorId
from bot.observation.kafka import KafkaPartition, OffsetTime
from bot.observation.looked import NotSeen, Seen
from bot.observation.replay import PositionRange, ReplayRecipe
from tests.evidence.conftest import Asks
from tests.evidence.restore_points import NOON, stored
from tests.evidence.test_ledger import run_of
from tests.repairs.recipes import declared
from tests.tables import CONTRACT, OPERATOR, OrdersTable, job, observing, rows, unseen
from tests.upserts import upserts

SOURCE = OperatorId("cb" * 16)


def asked(ask: Ask, *manifests: FlinkManifest, contract: TableContract = CONTRACT, seen: bool = True) -> Ask:
    """The same with Flink manifests on storage, or without anybody having looked."""
    listed: Seen[FlinkManifest] | NotSeen = Seen[FlinkManifest](source="the metadata folder", values=manifests)
    looked = observing(ask, flink_manifests=listed if seen else unseen("the metadata folder"))
    return looked.model_copy(update={"contract": contract})


def on_storage(run: JobId, *checkpoints: int) -> Iterable[FlinkManifest]:
    """Flink manifests as `stored(…, owes=…)` names them."""
    for checkpoint in checkpoints:
        yield FlinkManifest(
            path=f"file:/lake/metadata/{run}-{OPERATOR}-00000-0-{checkpoint}-00001.avro",
            job_id=run, operator_id=OPERATOR, subtask=0, attempt=0, checkpoint_id=CheckpointId(checkpoint), number=1,
            bytes=3000, written_at=NOON,
        )  # fmt: skip


def with_state(point: StoredCheckpoint, **told: Any) -> StoredCheckpoint:
    """A committer and a source with state."""
    sizes = {OPERATOR: 3_400, SOURCE: 400_000}
    plain = {"state_bytes": sizes, "operator_ids": tuple(sizes), "operator_names": {SOURCE: "Source: order_events[4]"}}
    return point.model_copy(update=plain | told)


def points_of(answer: Answer) -> tuple[RestoreReach, ...]:
    return answer.finding.points


def test_a_stop_savepoint_below_the_head_tells_all_that_comes_back(orders: OrdersTable, judges: Asks) -> None:
    """The size of its state, the position of its table state, and the rows above it that the job reads again."""
    orders.commits("a", 1, range(100))
    good = orders.commits("a", 2, range(100, 160))
    orders.commits("b", 3, range(160, 200))
    orders.commits("b", 4, range(200, 230))
    point = with_state(stored(job("a"), 2, owes=(2,)))

    answer = judges("recovery_extent", asked(orders.ask(good, checkpoints=[point])))

    assert answer.verdict is Verdict.CONFIRMED
    [reach] = points_of(answer)
    assert (reach.snapshot_id, reach.position_until, reach.to_read_again) == (good, 159, 70)
    assert (reach.state_bytes, reach.missing_manifests, reach.brings_back) == (403_400, (), True)
    assert reach.cannot == (
        "Records above position 159 come back only if the source still holds them; that cannot be seen from here.",
    )
    assert "stop savepoint 2, brings back 403 kB of state" in answer.headline
    assert "at most 70 rows above position 159 would be read and written again" in answer.headline


def test_a_state_that_was_read_again_keeps_its_highest_position(orders: OrdersTable, judges: Asks) -> None:
    """After an earlier replay within the window the newest commit is not the one with the highest position."""
    base = orders.commits("a", 1, range(100))
    for checkpoint, positions in ((2, range(100, 300)), (3, range(100, 110)), (4, range(110, 120))):
        orders.commits("a", checkpoint, positions)
    for checkpoint in (5, 6, 7):
        orders.commits("a", checkpoint, range(110 + checkpoint, 112 + checkpoint))

    answer = judges("recovery_extent", asked(orders.ask(base, checkpoints=[stored(job("a"), 7, owes=())])))

    assert points_of(answer)[0].position_until == 299
    assert points_of(answer)[0].to_read_again == 0


def test_what_others_committed_above_does_not_come_back(orders: OrdersTable, judges: Asks) -> None:
    """A backfill or a delete by another engine is taken off main by the rewind, and the job knows nothing of it."""
    good = orders.commits("a", 2, range(100))
    orders.deletes("order_id < 10")

    answer = judges("recovery_extent", asked(orders.ask(good, checkpoints=[stored(job("a"), 2, owes=())])))

    [reach] = points_of(answer)
    assert reach.to_read_again == 0
    assert "what others committed above its snapshot" in reach.cannot[0]


def test_the_best_comes_first(orders: OrdersTable, judges: Asks) -> None:
    """Paired before all else; what lasts before what Flink will drop; the newer before the older."""
    for checkpoint in (2, 3, 4):
        orders.commits("a", checkpoint, range(10 * checkpoint, 10 * checkpoint + 10))
    points = [
        stored(job("b"), 9, owes=(9,)),
        stored(job("a"), 4, CheckpointKind.CHECKPOINT, owes=(), age=timedelta(minutes=1)),
        stored(job("a"), 2, owes=(), age=timedelta(minutes=3)),
        stored(job("a"), 3, owes=(), age=timedelta(minutes=2)),
        stored(None, None, problem="Its _metadata is cut off."),
    ]

    answer = judges("recovery_extent", asked(orders.ask(None, checkpoints=points, jobs=[run_of("a")])))

    assert [(p.checkpoint_id, p.brings_back) for p in points_of(answer)] == [
        (3, True),
        (2, True),
        (4, True),
        (9, False),
    ]
    assert "Flink drops this checkpoint" in points_of(answer)[2].cannot[0]


def test_a_point_whose_records_kafka_has_deleted_comes_last(orders: OrdersTable, judges: Asks) -> None:
    """It says which are lost for good; the deadline is that of the best one."""
    for checkpoint in (2, 3):
        orders.commits("a", checkpoint, range(10 * checkpoint, 10 * checkpoint + 10))
    going_on = {2: 60, 3: 40}
    points = [
        reading_on(stored(job("a"), number, owes=(), age=timedelta(minutes=10 - number)), going_on[number])
        for number in (2, 3)
    ]
    held = KafkaPartition(
        topic="orders", partition=0, earliest=50, latest=90, retention=timedelta(days=365),
        times=(OffsetTime(offset=50, at=datetime.now(UTC)),),
    )  # fmt: skip
    ask = asked(orders.ask(None, checkpoints=points, jobs=[run_of("a")]))

    answer = judges("recovery_extent", observing(ask, kafka=Seen[KafkaPartition](source="Kafka", values=(held,))))

    assert [(p.checkpoint_id, p.lost_for_good) for p in points_of(answer)] == [
        (2, ()),
        (3, ("orders/0, offsets 40 to 49",)),
    ]
    deadline = answer.finding.deadline
    assert (deadline.restore_point, deadline.recoverable_until) == (
        points[0].path,
        held.times[0].at + timedelta(days=365),
    )
    assert deadline.because in answer.headline


def test_a_restore_that_would_loop_is_told(orders: OrdersTable, judges: Asks) -> None:
    """F7: main was rolled back below checkpoint 4, and the manifests that a failover would commit were deleted."""
    good = orders.commits("a", 3, range(10))
    lost = orders.commits("a", 4, range(10, 20))
    orders.rolls_back_to(good)
    point = stored(job("a"), 4, owes=(4,))

    gone = judges("recovery_extent", asked(orders.ask(good, checkpoints=[point])))
    there = judges("recovery_extent", asked(orders.ask(good, checkpoints=[point]), *on_storage(job("a"), 4)))

    assert points_of(gone)[0].missing_manifests == point.pending_manifests
    assert "the job would fail: 1 Flink manifest is gone" in points_of(gone)[0].cannot[0]
    assert f"Move main to …{str(lost)[-6:]} before" in points_of(gone)[0].cannot[0]
    assert points_of(there)[0].missing_manifests == ()


def test_a_committed_manifest_is_rightly_gone(orders: OrdersTable, judges: Asks) -> None:
    """The sink deletes a manifest after its commit: a savepoint still lists it, and nothing is missing."""
    head = orders.commits("a", 4, range(10))

    answer = judges("recovery_extent", asked(orders.ask(head, checkpoints=[stored(job("a"), 4, owes=(4,))])))

    assert points_of(answer)[0].missing_manifests == ()


@pytest.mark.parametrize(
    ("there", "seen", "writer", "expected"),
    [
        ((5,), True, "a", Verdict.CONFIRMED),
        ((), True, "a", Verdict.RULED_OUT),
        ((5,), True, "b", Verdict.RULED_OUT),
        ((5,), False, "a", Verdict.INCONCLUSIVE),
    ],
    ids=["all there", "gone", "another run wrote since", "nobody looked"],
)
def test_a_checkpoint_ahead_of_the_table_commits_first_what_it_owes(
    orders: OrdersTable, judges: Asks, there: tuple[int, ...], seen: bool, writer: str, expected: Verdict
) -> None:
    """Only if its manifests are there and nobody else wrote meanwhile; unlooked-at storage rules nothing out."""
    orders.commits("a", 4, range(10))
    if writer != "a":
        orders.commits(writer, 1, range(10, 20))
    ask = orders.ask(None, checkpoints=[stored(job("a"), 5, CheckpointKind.CHECKPOINT, owes=(5,))])

    answer = judges("recovery_extent", asked(ask, *on_storage(job("a"), *there), seen=seen))

    assert answer.verdict is expected
    assert points_of(answer)[0].brings_back is (expected is Verdict.CONFIRMED)


def test_what_the_sink_dropped_stays_lost(orders: OrdersTable, judges: Asks) -> None:
    """Manifests of the same run below the checkpoint that its state does not list: no restore commits them."""
    head = orders.commits("a", 8, range(10))
    ask = orders.ask(head, checkpoints=[stored(job("a"), 8, owes=())])

    answer = judges("recovery_extent", asked(ask, *on_storage(job("a"), 5, 6, 7), *on_storage(job("a"), 9)))

    assert points_of(answer)[0].cannot == (
        "It does not list 3 Flink manifests of its run that still lie on storage (checkpoints 5 to 7): "
        "left over from a commit, or lost; ask for the leaked manifests.",
    )


def test_what_is_not_known_is_said(orders: OrdersTable, judges: Asks) -> None:
    """A committer state that could not be read, a layout that was not followed: no size, no claim."""
    head = orders.commits("a", 8, range(10))
    point = stored(job("a"), 9, owes=None).model_copy(
        update={"not_understood": "Which operators it holds is not known."}
    )

    answer = judges("recovery_extent", asked(orders.ask(head, checkpoints=[point])))

    assert answer.verdict is Verdict.INCONCLUSIVE
    [reach] = points_of(answer)
    assert reach.state_bytes is None
    assert reach.cannot[-1] == "Which operators it holds is not known."
    assert "could not be read" in reach.cannot[-2]


def test_a_redacted_position_is_not_shown(orders: OrdersTable, judges: Asks) -> None:
    """Neither in the sample, nor in a sentence."""
    good = orders.commits("a", 2, range(1000, 1777))
    orders.commits("a", 3, range(1777, 1800))
    hidden = CONTRACT.model_copy(update={"redacted": ("source_position",)})

    answer = judges(
        "recovery_extent", asked(orders.ask(good, checkpoints=[stored(job("a"), 2, owes=())]), contract=hidden)
    )

    words = " ".join([answer.headline, *(cell for row in answer.rows for cell in row)])
    assert "1776" not in words
    assert "1,776" not in words


def test_storage_that_is_down_and_storage_that_is_empty(orders: OrdersTable, judges: Asks) -> None:
    """The one says nothing, the other that only a start without state is left."""
    head = orders.commits("a", 8, range(10))

    down = judges("recovery_extent", asked(orders.ask(head, checkpoints=unseen("the savepoint folder"))))
    empty = judges("recovery_extent", asked(orders.ask(head)))

    assert (down.verdict, down.finding) == (Verdict.INCONCLUSIVE, None)
    assert empty.verdict is Verdict.RULED_OUT
    assert "only a start without state" in empty.headline


def reading_on(point: StoredCheckpoint, *following: int) -> StoredCheckpoint:
    """The same with a topic of so many partitions, which goes on there."""
    told = tuple(
        SourcePosition(operator_id=SOURCE, topic="orders", partition=number, following=offset)
        for number, offset in enumerate(following)
    )
    return point.model_copy(update={"source_positions": told})


def test_what_the_source_reads_next_is_told(orders: OrdersTable, judges: Asks) -> None:
    """In the headline, in the row, and where it is said what must still be in the source."""
    good = orders.commits("a", 2, range(160))
    orders.commits("a", 3, range(160, 200))
    point = reading_on(stored(job("a"), 2, owes=()), 160)

    answer = judges("recovery_extent", asked(orders.ask(good, checkpoints=[point])))

    [reach] = points_of(answer)
    assert reach.source_positions == point.source_positions
    assert "and lets its source go on with orders/0 at offset 160; at most 40 rows" in answer.headline
    assert "orders/0 at offset 160" in answer.rows[0]
    assert reach.cannot == (
        "Records from orders/0 at offset 160 on come back only if the source still holds them; that cannot be seen "
        "from here.",
    )


@pytest.mark.parametrize(
    ("following", "said"),
    [
        (150, "but its table state already holds position 159"),
        (165, "5 records between them made no row"),
        (160, ""),
        (-2, ""),
    ],
    ids=["behind", "ahead", "next", "not-begun"],
)
def test_an_offset_that_does_not_follow_on_the_table_is_said(
    orders: OrdersTable, judges: Asks, following: int, said: str
) -> None:
    """Behind the table: the same rows twice. Ahead: filtered, or lost."""
    good = orders.commits("a", 2, range(160))
    point = reading_on(stored(job("a"), 2, owes=()), following)

    [reach] = points_of(judges("recovery_extent", asked(orders.ask(good, checkpoints=[point]))))

    assert [each for each in reach.cannot if "Its source goes on" in each] == [
        each for each in reach.cannot if said and said in each
    ]
    assert any(said in each for each in reach.cannot) is bool(said)


def test_of_many_partitions_the_first_are_named(orders: OrdersTable, judges: Asks) -> None:
    """They are compared with nothing: the table's highest position is of all partitions together."""
    good = orders.commits("a", 2, range(160))
    point = reading_on(stored(job("a"), 2, owes=()), *range(6))

    [row] = judges("recovery_extent", asked(orders.ask(good, checkpoints=[point]))).rows

    assert "orders/0 at offset 0, orders/1 at offset 1, orders/2 at offset 2, orders/3 at offset 3 and 2 more" in row
    assert "nothing that is known" in row


def test_offsets_are_hidden_with_the_column_that_holds_them(orders: OrdersTable, judges: Asks) -> None:
    """A contract that hides the position hides where its source goes on."""
    good = orders.commits("a", 2, range(160))
    orders.commits("a", 3, range(160, 200))
    point = reading_on(stored(job("a"), 2, owes=()), 157)
    hidden = CONTRACT.model_copy(update={"redacted": ("source_position",)})

    answer = judges("recovery_extent", asked(orders.ask(good, checkpoints=[point]), contract=hidden))

    words = " ".join([answer.headline, *(cell for row in answer.rows for cell in row)])
    assert "orders/0 at offset •••" in words
    assert "157" not in words


BY_PARTITION = CONTRACT.model_copy(update={"position_partition": "source_partition"})
BY_TIME = TableContract(key=("order_id",), event_time="event_time")


def asking(orders: OrdersTable, recipe: ReplayRecipe | None, contract: TableContract = CONTRACT) -> Ask:
    """About the whole table."""
    return orders.ask(None, contract=contract).model_copy(update={"replay": recipe})


def test_the_source_is_asked_for_the_missing_positions_and_no_more(orders: OrdersTable, asks: Asks) -> None:
    """Two gaps; the source gives the first whole and half of the second."""
    for checkpoint, positions in enumerate((range(10), range(15, 20), range(30, 40))):
        orders.commits("a", checkpoint, positions)

    answer = asks("replayable_rows", asking(orders, declared("range(0, 25)"), BY_PARTITION))

    found = answer.finding
    assert found.bounds.positions == (
        PositionRange(first=10, last=14, partition="0"),
        PositionRange(first=20, last=29, partition="0"),
    )
    assert (found.missing, found.given, found.absent, found.not_given, found.elsewhere) == (15, 10, 10, 5, 0)
    assert found.event_from == datetime(2026, 11, 3, 0, 0, 10, tzinfo=UTC)
    assert answer.verdict is Verdict.CONFIRMED
    assert "a replay would write 10 rows; 5 positions it no longer gives" in answer.headline


def test_without_a_hole_the_source_is_not_asked(orders: OrdersTable, asks: Asks) -> None:
    """A source that cannot be read does no harm where nothing is missing."""
    orders.commits("a", 1, range(10))

    answer = asks("replayable_rows", asking(orders, declared("nowhere")))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.finding.missing == 0


def test_nothing_declared_is_could_not_look(orders: OrdersTable, judges: Asks) -> None:
    """Never “nothing to replay”: nobody asked the source."""
    orders.commits("a", 1, range(10))

    answer = judges("replayable_rows", asking(orders, None))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "Declare `replay`" in answer.could_not_look[0].remedy


def test_without_positions_the_settled_event_times_are_the_bounds(orders: OrdersTable, asks: Asks) -> None:
    """What the job may still bring is never counted as missing."""
    orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(20, 60))
    recipe = declared("range(0, 100)").model_copy(update={"settled_after": timedelta(seconds=30)})

    answer = asks("replayable_rows", asking(orders, recipe, BY_TIME))

    found = answer.finding
    assert found.bounds.event_until == datetime(2026, 11, 3, 0, 0, 29, tzinfo=UTC)
    assert (found.absent, found.missing) == (10, None)


def test_the_bounds_are_the_windows_own_event_times(orders: OrdersTable, asks: Asks) -> None:
    """An event below the window that lies in the future does not tell how far the job has read."""
    before = orders.commits("a", 1, [*range(20), 5_000])
    orders.commits("a", 2, range(20, 60))
    recipe = declared("range(0, 100)").model_copy(update={"settled_after": timedelta(seconds=30)})

    answer = asks("replayable_rows", orders.ask(before, contract=BY_TIME).model_copy(update={"replay": recipe}))

    found = answer.finding
    assert found.bounds.event_from == datetime(2026, 11, 3, 0, 0, 20, tzinfo=UTC)
    assert found.bounds.event_until == datetime(2026, 11, 3, 0, 0, 29, tzinfo=UTC)


def test_of_a_table_written_by_key_deleted_rows_are_not_brought_back(by_key: OrdersTable, asks: Asks) -> None:
    """Their positions are accounted for: what is replayed is what nobody brought."""
    before = by_key.appends(rows(range(10)))
    upserts(by_key, "a", 2, range(10, 15), keys=range(20, 25))
    upserts(by_key, "a", 3, range(20, 25), keys=[30, 31, 32, 33, 20])
    upserts(by_key, "a", 4, [], keys=[], deletes=[21, 22])

    answer = asks("replayable_rows", by_key.ask(before).model_copy(update={"replay": declared("range(0, 100)")}))

    found = answer.finding
    assert found.bounds.positions == (PositionRange(first=15, last=19),)
    assert (found.missing, found.absent) == (5, 5)


def test_what_deletes_may_account_for_is_not_replayed(by_key: OrdersTable, asks: Asks) -> None:
    """Nor is it said that nothing is missing."""
    before = by_key.appends(rows(range(10)))
    upserts(by_key, "a", 2, [10, 11, 14], keys=range(20, 23))

    answer = asks("replayable_rows", by_key.ask(before).model_copy(update={"replay": declared("range(0, 100)")}))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "2 positions (12 to 13) have no row that lives or was replaced" in answer.headline
