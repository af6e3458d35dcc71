"""What a restore brings back, what it cannot, and where it lets the source go on."""

from collections.abc import Iterable, Mapping
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
from tests.evidence.histories import write
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


def of_a(checkpoint: int, *owes: int) -> StoredCheckpoint:
    """A stop savepoint of run a, whose committer owes these checkpoints."""
    return stored(job("a"), checkpoint, owes=owes)


AHEAD = stored(job("a"), 5, CheckpointKind.CHECKPOINT, owes=(5,))
UNREAD = stored(job("a"), 9).model_copy(update={"not_understood": "Which operators it holds is not known."})
READING = reading_on(of_a(2), 160)
DROPPED = (
    "It does not list 3 Flink manifests of its run that still lie on storage (checkpoints 5 to 7): left over from a "
    "commit, or lost; ask for the leaked manifests."
)
IN_THE_SOURCE = (
    "Records from orders/0 at offset 160 on come back only if the source still holds them; that cannot be seen from "
    "here."
)
MANY = "orders/0 at offset 0, orders/1 at offset 1, orders/2 at offset 2, orders/3 at offset 3 and 2 more"
CONFIRMED, RULED_OUT, INCONCLUSIVE = Verdict.CONFIRMED, Verdict.RULED_OUT, Verdict.INCONCLUSIVE
REACHES: Mapping[str, tuple[str, StoredCheckpoint, tuple[int, ...] | None, Verdict, dict[str, Any], list[str]]] = {
    "after an earlier replay in the window the newest commit is not the one with the highest position": (
        "a1[0:100] | a2[100:300] a3[100:110] a4[110:120] a5[115:117] a6[116:118] a7[117:119]", of_a(7), (), CONFIRMED,
        {"position_until": 299, "to_read_again": 0}, [],
    ),
    "what another engine deleted above is taken off main by the rewind, and the job knows nothing of it": (
        "a2[0:100] | dropk[0:10]", of_a(2), (), CONFIRMED, {"to_read_again": 0},
        ["what others committed above its snapshot"],
    ),
    "the sink deletes a manifest after its commit: a savepoint still lists it, and nothing is missing": (
        "a4[0:10] |", of_a(4, 4), (), CONFIRMED, {"missing_manifests": ()}, [],
    ),
    "ahead of the table it commits first what it owes": ("a4[0:10]", AHEAD, (5,), CONFIRMED, {"brings_back": True}, []),
    "not where that is gone": ("a4[0:10]", AHEAD, (), RULED_OUT, {"brings_back": False}, []),
    "nor where another run wrote since": ("a4[0:10] b1[10:20]", AHEAD, (5,), RULED_OUT, {"brings_back": False}, []),
    "storage that nobody looked at rules nothing out": (
        "a4[0:10]", AHEAD, None, INCONCLUSIVE, {"brings_back": False}, [],
    ),
    "what the sink dropped stays lost: its state does not list it": (
        "a8[0:10] |", of_a(8), (5, 6, 7, 9), CONFIRMED, {"cannot": (DROPPED,)}, [],
    ),
    "a committer state that could not be read, a layout that was not followed: no size, no claim": (
        "a8[0:10] |", UNREAD, (), INCONCLUSIVE, {"state_bytes": None},
        ["could not be read", "Which operators it holds is not known."],
    ),
    "what the source reads next is told, also where it is said what must still be in the source": (
        "a2[0:160] | a3[160:200]", READING, (), CONFIRMED,
        {"source_positions": READING.source_positions, "cannot": (IN_THE_SOURCE,)},
        ["and lets its source go on with orders/0 at offset 160; at most 40 rows"],
    ),
    "many partitions are compared with nothing: the table's highest position is of all together": (
        "a2[0:160] |", reading_on(of_a(2), *range(6)), (), CONFIRMED, {}, [MANY, "nothing that is known"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("line", "point", "there", "verdict", "reach", "says"), REACHES.values(), ids=REACHES)
def test_what_a_restore_reaches(
    orders: OrdersTable,
    judges: Asks,
    line: str,
    point: StoredCheckpoint,
    there: tuple[int, ...] | None,
    verdict: Verdict,
    reach: dict[str, Any],
    says: list[str],
) -> None:
    """`there`: of which checkpoints of run a a Flink manifest lies on storage; None: nobody looked."""
    ask = orders.ask(write(orders, line).before, checkpoints=[point])

    answer = judges("recovery_extent", asked(ask, *on_storage(job("a"), *there or ()), seen=there is not None))

    [found] = points_of(answer)
    assert answer.verdict is verdict
    assert {name: getattr(found, name) for name in reach} == reach
    words = " ".join((answer.headline, *answer.rows[0], *found.cannot))
    assert [each for each in says if each not in words] == []


def test_offsets_are_hidden_with_the_column_that_holds_them(orders: OrdersTable, judges: Asks) -> None:
    """A contract that hides the position hides where its source goes on, in the sample and in each sentence."""
    good = orders.commits("a", 2, range(160))
    orders.commits("a", 3, range(160, 200))
    point = reading_on(stored(job("a"), 2, owes=()), 157)
    hidden = CONTRACT.model_copy(update={"redacted": ("source_position",)})

    answer = judges("recovery_extent", asked(orders.ask(good, checkpoints=[point]), contract=hidden))

    words = " ".join([answer.headline, *(cell for row in answer.rows for cell in row)])
    assert "orders/0 at offset •••" in words
    assert "157" not in words
    assert "159" not in words


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
