"""Rows that are missing are made once more from a declared source, on a branch, and published by a second approval."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bot.adapters.spark import SparkEvidenceRunner
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from bot.domain.replay import ReplayRecipe
from bot.domain.table import TableState
from tests.repairs.conftest import Positions
from tests.repairs.recipes import declared
from tests.repairs.scene import RUN, RepairScene
from tests.tables import of_flink, rows

pytestmark = pytest.mark.slow

Declares = Callable[[ReplayRecipe | None], RepairScene]


@pytest.fixture
def declares(tmp_path: Path, runner: SparkEvidenceRunner, request: pytest.FixtureRequest) -> Declares:
    """`declares(recipe)`: run A wrote positions 0 to 29, and somebody took 10 to 19 away; this replay is declared."""

    def declare(recipe: ReplayRecipe | None) -> RepairScene:
        made = RepairScene(tmp_path, runner, replay=recipe)
        request.addfinalizer(made.close)
        made.flink.checkpoints(RUN, 3)
        made.orders.deletes("source_position >= 10 and source_position < 20")
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
    assert ended.result is not None
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
