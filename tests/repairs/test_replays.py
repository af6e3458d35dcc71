"""Rows that are missing are made once more from a declared source, within bounds, on a branch."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bot.adapters.spark import SparkEvidenceRunner
from bot.incident.execution import ProposalState, ProposalView
from bot.observation.contract import HIDDEN, CopyRule, TableContract
from bot.observation.errors import CouldNotLook, Refused
from bot.observation.kafka import KafkaPartition, OffsetTime
from bot.observation.replay import PositionRange, ReplayRange, ReplayRecipe, SourceSurvey
from bot.observation.table import TableState
from spark_tasks._support.replay import survey
from tests.repairs.conftest import Positions
from tests.repairs.recipes import declared
from tests.repairs.scene import RUN, RepairScene
from tests.tables import CONTRACT, OrdersTable, of_flink, rows

pytestmark = [pytest.mark.slow, pytest.mark.rotating]

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
Declares = Callable[[ReplayRecipe | None], RepairScene]


@pytest.fixture
def declares(tmp_path: Path, runner: SparkEvidenceRunner, request: pytest.FixtureRequest) -> Declares:
    """`declares(recipe)`: run A wrote positions 0 to 29, and somebody took 10 to 19 away; this replay is declared."""

    def declare(recipe: ReplayRecipe | None, first: int = 10) -> RepairScene:
        made = RepairScene(tmp_path, runner, replay=recipe)
        request.addfinalizer(made.close)
        made.flink.checkpoints(RUN, 3)
        made.orders.deletes(f"source_position >= {first} and source_position < 20")
        return made

    return declare


def test_a_gap_is_replayed_on_a_branch_and_then_published(
    declares: Declares, positions: Positions, spark: SparkSession
) -> None:
    """Value for value as the job would have written them; main is untouched until the second approval; the evidence
    that the action needs is collected by the proposal itself."""
    scene = declares(declared())
    scene.opens("ledger")

    rehearsal = scene.carries_out(scene.proposes("replay_source_range"))
    proof = scene.proves(rehearsal)

    assert proof.passed, proof.checks
    branch = rehearsal.proposal.rehearses_on
    assert branch is not None
    assert positions(scene, "main") == [*range(10), *range(20, 30)]
    assert positions(scene, branch) == list(range(30))
    assert _cells(spark, scene.table, branch, 15) == [(15, 0, 15, "2026-11-03 00:00:15", "customer-15")]
    told = " ".join(rehearsal.proposal.preview.sentences)
    assert "Replay positions 10 to 19 from the source (topic orders, kept for 7 days), and write 10 rows" in told
    published = scene.carries_out(scene.proposes("publish_repair"))
    assert "10 rows more" in published.proposal.preview.sure
    assert positions(scene, "main") == list(range(50))


class Broker:
    """One partition of one topic, whose log begins there; each record was written when the look began."""

    def __init__(self, earliest: int) -> None:
        at = (OffsetTime(offset=earliest, at=NOON),)
        kept = {"earliest": earliest, "latest": 30, "times": at, "retention": timedelta(hours=1)}
        self._partition = KafkaPartition.model_validate({"topic": "orders", "partition": 0, **kept})

    def partitions(self) -> tuple[KafkaPartition, ...]:
        return (self._partition,)


def asked_of(scene: RepairScene, earliest: int) -> None:
    """Its job reads from a broker whose log begins there, and the missing positions were looked for."""
    jobs = scene.observer.jobs
    scene.observer.jobs = {name: replace(each, kafka=Broker(earliest)) for name, each in jobs.items()}
    scene.opens("missing_positions")


def test_approvers_read_until_when_the_broker_can_give_a_gap(declares: Declares) -> None:
    """It may be gone before the second person has decided."""
    scene = declares(declared())
    asked_of(scene, 5)

    told = " ".join(scene.proposes("replay_source_range").proposal.preview.sentences)

    assert "Kafka still holds the offsets of 10 of them until at least 2026-11-02 13:00 UTC" in told
    answer = scene.store.get(scene.incident).latest["replayable_rows"].evidence
    assert "Kafka still holds the offsets of 10 of them" in answer.headline


def test_what_the_broker_has_lost_is_said_where_a_replay_is_refused(declares: Declares) -> None:
    """The source gives as little as the broker has."""
    scene = declares(declared("range(15, 30)"))
    asked_of(scene, 15)

    with pytest.raises(Refused) as refused:
        scene.proposes("replay_source_range")

    assert "Kafka no longer has 5 of them" in refused.value.found


@pytest.mark.long
def test_a_replay_may_be_a_function(declares: Declares, positions: Positions) -> None:
    """It is given the bounds, and what it returns is bounded all the same."""
    scene = declares(ReplayRecipe(source="topic orders", function="tests.repairs.recipes:again"))
    scene.opens("ledger")

    rehearsal = scene.carries_out(scene.proposes("replay_source_range"))

    assert rehearsal.state is ProposalState.APPLIED, rehearsal.result
    assert positions(scene, rehearsal.proposal.rehearses_on or "") == list(range(30))


def test_other_rows_than_were_approved_are_never_written(
    declares: Declares, positions: Positions, spark: SparkSession, tmp_path: Path
) -> None:
    """The source changed between the approval and the replay: nothing is written, and that is said."""
    source = f"parquet.`{tmp_path}/landed`"
    spark.range(0, 100).write.parquet(f"{tmp_path}/landed")
    scene = declares(declared(source))
    scene.opens("ledger")
    view = scene.proposes("replay_source_range")
    spark.range(15, 100).write.mode("overwrite").parquet(f"{tmp_path}/landed")

    ended = scene.carries_out(view)

    assert ended.state is ProposalState.REFUSED
    assert "the source returns other rows than when the replay was approved" in ended.result.sentence
    assert positions(scene, view.proposal.rehearses_on or "") == [*range(10), *range(20, 30)]


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        (None, "no replay is declared for it. Expected `replay` under `tables.sales.orders`"),
        (declared("range(0, 15)"), "no longer has 5 of the 10 missing positions"),
        pytest.param(
            declared("(SELECT id FROM range(0, 30) UNION ALL SELECT 12 AS id)"),
            "1 row too many: keys occur twice",
            marks=pytest.mark.long,
        ),
        pytest.param(declared(order_id="IF(id = 12, 25, id)"), "already has the keys of 1 row", marks=pytest.mark.long),
        pytest.param(declared(most_rows=9), "too many rows for a replay by Waterline: 10 rows", marks=pytest.mark.long),
        pytest.param(
            ReplayRecipe(source="topic", sql="SELECT id AS order_id FROM range(9)"),
            "no source_partition, source_pos",
            marks=pytest.mark.long,
        ),
        pytest.param(
            ReplayRecipe(source="topic", function="tests.repairs.recipes:gone"),
            "a function that returns a DataFrame",
            marks=pytest.mark.long,
        ),
    ],
)
def test_what_needs_a_decision_is_left_to_people(declares: Declares, recipe: ReplayRecipe | None, says: str) -> None:
    """Each refusal says what is wrong with the source or with its declaration."""
    scene = declares(recipe)
    scene.opens("ledger")

    with pytest.raises(Refused) as refused:
        scene.proposes("replay_source_range")

    assert says in str(refused.value)


@pytest.mark.long
def test_a_table_whose_rows_replace_each_other_is_not_replayed_by_rows(declares: Declares) -> None:
    """A key that does not live may have been deleted on purpose."""
    scene = declares(declared())
    scene.orders.sets({"write.upsert.enabled": "true"})
    scene.opens("ledger")

    with pytest.raises(Refused, match="newer rows replace older ones"):
        scene.proposes("replay_source_range")


def test_extra_copies_are_looked_for_by_the_proposal_itself(scene: RepairScene) -> None:
    """Nobody has to know by heart which evidence an action needs."""
    scene.flink.checkpoints(RUN, 1)
    scene.orders.appends(rows(range(5, 15)), of_flink("a", 2))
    scene.opens("ledger", "duplicate_rows")

    view = scene.proposes("deduplicate_rows")

    assert "5 rows" in view.proposal.title


def _cells(spark: SparkSession, table: TableState, ref: str, position: int) -> list[tuple[object, ...]]:
    read = spark.read.format("iceberg").option("versionAsOf", str(table.ref(ref))).load(table.metadata_location)
    shown = ["order_id", "source_partition", "source_position", "CAST(event_time AS STRING) AS at", "customer"]
    return [tuple(row) for row in read.where(f"source_position = {position}").selectExpr(*shown).collect()]


Made = Callable[[TableContract], RepairScene]
BY_TIMES = CONTRACT.model_copy(update={"position": None})


@pytest.fixture
def made(tmp_path: Path, runner: SparkEvidenceRunner, request: pytest.FixtureRequest) -> Made:
    """`made(contract)`: run A wrote one event a second for 30 seconds, and somebody took ten of them away."""

    def make(contract: TableContract) -> RepairScene:
        recipe = declared().model_copy(update={"settled_after": timedelta(seconds=5)})
        scene = RepairScene(tmp_path, runner, replay=recipe, contract=contract)
        request.addfinalizer(scene.close)
        scene.flink.checkpoints(RUN, 3)
        scene.orders.deletes("source_position >= 10 and source_position < 20")
        return scene

    return make


def test_a_gap_is_replayed_by_event_times_and_can_be_published(made: Made, positions: Positions) -> None:
    """Nothing is missing that the source has, by the evidence that found it."""
    scene = made(BY_TIMES)
    scene.opens("ledger")

    rehearsal = scene.carries_out(scene.proposes("replay_source_range"))
    proof = scene.proves(rehearsal)
    scene.carries_out(scene.proposes("publish_repair"))

    assert proof.passed, proof.checks
    assert positions(scene, "main")[:30] == list(range(30))


def test_a_repair_that_could_never_be_proven_is_not_rehearsed(made: Made) -> None:
    """The job would stand still for a branch that nobody may publish."""
    scene = made(BY_TIMES)
    scene.orders.appends(rows(range(5, 10)), of_flink("a", 2))
    scene.opens("ledger", "duplicate_rows")

    with pytest.raises(Refused, match=r"Expected `position` in the table's contract, to check “No missing rows”"):
        scene.proposes("deduplicate_rows")


BY_PARTITION = CONTRACT.model_copy(update={"position_partition": "source_partition"})
BY_TIME = TableContract(key=("order_id",), event_time="event_time")
MIDNIGHT = datetime(2026, 11, 3, tzinfo=UTC)
FIRST_MINUTE = ReplayRange(event_from=MIDNIGHT, event_until=MIDNIGHT + timedelta(minutes=1))


def surveyed(
    spark: SparkSession,
    orders: OrdersTable,
    bounds: ReplayRange,
    contract: TableContract = CONTRACT,
    *,
    recipe: ReplayRecipe | None = None,
    copies: CopyRule | None = None,
) -> SourceSurvey:
    return survey(spark, orders.state(), orders.head, recipe or declared(), bounds, contract, copies or CopyRule())


def test_without_positions_young_events_are_left_to_the_job(spark: SparkSession, orders: OrdersTable) -> None:
    """Newest event at second 59, settled after 30 s: of the missing seconds 20 to 39, those from 29 on are not."""
    orders.commits("a", 1, [*range(20), *range(40, 60)])
    recipe = declared().model_copy(update={"settled_after": timedelta(seconds=30)})

    found = surveyed(spark, orders, FIRST_MINUTE, BY_TIME, recipe=recipe)

    assert (found.given, found.absent, found.unsettled, found.places) == (60, 20, 11, 0)
    assert (found.event_from, found.event_until) == (
        MIDNIGHT + timedelta(seconds=20), MIDNIGHT + timedelta(seconds=39),
    )  # fmt: skip


def test_each_source_partition_has_a_newest_position_of_its_own(spark: SparkSession, orders: OrdersTable) -> None:
    """Partition 1 is far ahead; what partition 0 lacks above its own newest may still come."""
    orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(500, 600), partition=1)
    bounds = ReplayRange(positions=(PositionRange(first=5, last=14, partition="0"),))

    found = surveyed(spark, orders, bounds, BY_PARTITION)

    assert (found.given, found.places, found.absent, found.unsettled) == (10, 10, 5, 5)


def test_columns_that_each_writing_sets_anew_make_no_difference(spark: SparkSession, orders: OrdersTable) -> None:
    """As the owners have declared; and a hidden key is not named."""
    orders.commits("a", 1, range(10))
    orders.appends(rows([10, 11]).set_column(4, "customer", [["x", None]]))
    bounds = ReplayRange(positions=(PositionRange(first=8, last=11),))
    hiding = CONTRACT.model_copy(update={"redacted": ("order_id",)})

    as_it_is = surveyed(spark, orders, bounds, hiding)
    ignoring = surveyed(spark, orders, bounds, copies=CopyRule(ignore=("customer",)))

    assert (as_it_is.absent, as_it_is.differing, as_it_is.differing_keys) == (0, 2, ((HIDDEN,), (HIDDEN,)))
    assert (ignoring.absent, ignoring.differing, ignoring.differing_keys) == (0, 0, ())


@pytest.fixture
def bounded_replays_declares(declares: Declares) -> Declares:
    """The same, and 8 and 9 are away, too; the ledger was looked at."""

    def declare(recipe: ReplayRecipe | None) -> RepairScene:
        made = declares(recipe, 8)  # type: ignore[call-arg]
        made.opens("ledger")
        return made

    return declare


def told(view: ProposalView) -> str:
    """What the approver reads."""
    return " ".join(view.proposal.preview.sentences)


def test_a_replay_of_typed_positions_is_rehearsed_proven_published_and_undone(
    bounded_replays_declares: Declares, positions: Positions
) -> None:
    """Only what is missing within the bounds is written; the rest of the hole stays, and the preview says so."""
    scene = bounded_replays_declares(declared())

    rehearsal = scene.carries_out(scene.proposes("replay_rows", "positions=5..14"))
    proof = scene.proves(rehearsal)

    assert proof.passed, proof.checks
    assert positions(scene, "main") == [*range(8), *range(20, 30)]
    assert positions(scene, rehearsal.proposal.rehearses_on or "") == [*range(15), *range(20, 30)]
    assert "Replay positions 5 to 14 from the source (topic orders, kept for 7 days)" in told(rehearsal)
    assert "has 10 rows: 3 already there and equal, 0 already there and different, 7 to write." in told(rehearsal)
    assert "Rows missing outside the bounds stay missing" in told(rehearsal)
    published = scene.carries_out(scene.proposes("publish_repair"))
    proof = scene.proves(published)
    assert (proof.passed, proof.moves_waterline) == (True, "no")
    assert positions(scene, "main") == [*range(15), *range(20, 50)]
    scene.carries_out(scene.undoes())
    assert positions(scene, "main")[:18] == [*range(8), *range(20, 30)]


def test_what_is_there_and_differs_is_named_and_not_overwritten(
    bounded_replays_declares: Declares, positions: Positions
) -> None:
    """Also where its key lives outside the bounds: a row is never there twice."""
    scene = bounded_replays_declares(declared(order_id="IF(id = 12, 25, id)"))
    scene.orders.overwrites(rows([6], orders=[6]).set_column(4, "customer", [["somebody else"]]), "order_id = 6")

    rehearsal = scene.carries_out(scene.proposes("replay_rows", "positions=5..14"))

    assert rehearsal.state is ProposalState.APPLIED, rehearsal.result
    assert "has 10 rows: 2 already there and equal, 2 already there and different, 6 to write." in told(rehearsal)
    assert "Not overwritten, although the table has other values than the source: order_id 6; order_id 25." in told(
        rehearsal
    )
    assert positions(scene, rehearsal.proposal.rehearses_on or "") == [*range(12), 13, 14, *range(20, 30)]


def test_a_replay_of_a_range_of_event_times_is_half_open(
    bounded_replays_declares: Declares, positions: Positions
) -> None:
    """From its first second to before its last; the source still gives a row fewer than the table has."""
    scene = bounded_replays_declares(declared("range(6, 1000)"))

    rehearsal = scene.carries_out(scene.proposes("replay_rows", "from=2026-11-03T00:00:05Z until=2026-11-03T00:00:12Z"))

    assert rehearsal.state is ProposalState.APPLIED, rehearsal.result
    assert "events from 2026-11-03 00:00:05 until before 2026-11-03 00:00:12 UTC" in told(rehearsal)
    assert "has 6 rows: 2 already there and equal, 0 already there and different, 4 to write." in told(rehearsal)
    assert "Within the bounds the table has 1 row that the source does not return; it stays." in told(rehearsal)
    assert positions(scene, rehearsal.proposal.rehearses_on or "") == [*range(12), *range(20, 30)]


@pytest.mark.parametrize(
    ("recipe", "typed", "says"),
    [
        (declared(most_rows=9), "positions=5..14", "too many rows for a replay by Waterline: 10 positions"),
        (
            declared(most_rows=9),
            "from=2026-11-03T00:00Z until=2026-11-03T00:01Z",
            "the source has more than 9 within these bounds",
        ),
        (declared("range(9, 100)"), "positions=5..14", "it returns 6 positions of 10, the lowest 9, the highest 14."),
        (declared(), "from=2025-11-03T00:00Z until=2025-11-03T00:01Z", "it returns no row."),
        pytest.param(
            declared("(SELECT id FROM range(0, 30) UNION ALL SELECT 12 AS id)"),
            "positions=5..14",
            "keys occur twice",
            marks=pytest.mark.long,
        ),
        (declared(), "positions=25..34", "The job may still write 5 rows of these by itself"),
        (
            declared(),
            "positions=20..24",
            "There is nothing to write: the table has every row that the source has in positions 20",
        ),
        (None, "positions=5..14", "no replay is declared for it"),
    ],
)
def test_what_cannot_be_replayed_within_bounds_is_refused(
    bounded_replays_declares: Declares, recipe: ReplayRecipe | None, typed: str, says: str
) -> None:
    """Each refusal says what was expected and what the source has."""
    scene = bounded_replays_declares(recipe)

    with pytest.raises(Refused) as refused:
        scene.proposes("replay_rows", typed)

    assert says in str(refused.value)


def test_a_function_that_does_not_know_this_kind_of_bounds_is_told_of(bounded_replays_declares: Declares) -> None:
    """It was written for positions; nothing was read, so nothing is known."""
    scene = bounded_replays_declares(ReplayRecipe(source="topic orders", function="tests.repairs.recipes:again"))

    with pytest.raises(CouldNotLook, match=r"a function that takes these bounds of tests\.repairs\.recipes:again"):
        scene.proposes("replay_rows", "from=2026-11-03T00:00Z until=2026-11-03T00:01Z")


def test_bounds_are_for_the_replay_alone(bounded_replays_declares: Declares) -> None:
    """An action that has none does not pass them over in silence."""
    scene = bounded_replays_declares(declared())

    with pytest.raises(Refused, match="“Replay a source range” takes no bounds"):
        scene.proposes("replay_source_range", "positions=5..14")
