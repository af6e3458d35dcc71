"""A commit that names files once more and brings rows of its own: only the references that are too many go."""

import pytest
from pyspark.sql import SparkSession

from bot.domain.errors import Refused
from bot.domain.ids import SnapshotId
from tests.repairs.compacting import compacts, on_lake
from tests.repairs.conftest import Positions
from tests.repairs.scene import RUN, RepairScene

pytestmark = pytest.mark.slow

SEEN = ("ledger", "duplicate_commits", "duplicate_files", "duplicate_rows")
ACTION = "drop_duplicated_commit"
FOUR, FIVE = "00000-0-four-00001.parquet", "00000-0-five-00001.parquet"
SIX, SEVEN = "00000-0-six-00001.parquet", "00000-0-seven-00001.parquet"


def appended_by_hand(scene: RepairScene) -> SnapshotId:
    """Positions 30 to 39, which the sink had not committed, are on main by somebody's hand."""
    scene.flink.checkpoints(RUN, 3)
    return scene.orders.commits_files("a", 4, {FOUR: range(30, 40)})


def merged_by_the_sink(scene: RepairScene) -> SnapshotId:
    """The sink held checkpoint 4 still, and commits it with 5 in one snapshot, as a V1 sink does."""
    again = scene.orders.commits_files("a", 5, {FOUR: range(30, 40), FIVE: range(40, 50)})
    scene.flink.stands_at(RUN, 5)
    return again


def test_its_own_rows_stay_through_rehearsal_and_publication(scene: RepairScene, positions: Positions) -> None:
    """The diagnosis counts ten rows too many of the twenty, the preview names ten, and main has each row once."""
    appended_by_hand(scene)
    merged_by_the_sink(scene)
    scene.opens(*SEEN)

    made = scene.proposes(ACTION)
    rehearsal = scene.carries_out(made)
    proof = scene.proves(rehearsal)

    [(mode, match)] = scene.store.get(scene.incident).diagnosis.to_act_on
    assert "F1" == mode.code
    assert match.headline.endswith("10 rows too many.")
    assert match.reasons[0].endswith("20 rows, 10 of them its own.")
    told = " ".join(made.proposal.preview.sentences)
    assert "Take 1 file with 10 rows (source_position 30 to 39" in told
    assert "10 rows that" in told
    assert "added besides stay" in told
    assert proof.passed, proof.checks
    assert list(range(50)) == positions(scene, rehearsal.proposal.rehearses_on or "")
    published = scene.carries_out(scene.proposes("publish_repair"))
    assert scene.proves(published).passed
    assert list(range(70)) == positions(scene, "main")
    assert "F1" not in scene.diagnosed_anew("duplicate_commits", "duplicate_files")


@pytest.mark.long
def test_a_file_that_one_commit_names_twice_goes_without_its_other_files(
    scene: RepairScene, positions: Positions
) -> None:
    """As when files were added by hand from a list that held one of them twice."""
    scene.flink.checkpoints(RUN, 3)
    scene.orders.commits_files("a", 4, {FOUR: range(30, 40), FIVE: range(40, 50)})
    scene.orders.names_again("a", 5, [FIVE])
    scene.flink.stands_at(RUN, 5)
    scene.orders.leaves_manifest("a", 6, {SIX: range(50, 60), SEVEN: range(60, 70)})
    scene.orders.names_again("a", 6, [SIX, SIX, SEVEN])
    scene.flink.stands_at(RUN, 6)
    scene.opens(*SEEN)

    rehearsal = scene.carries_out(scene.proposes(ACTION))

    assert scene.proves(rehearsal).passed
    assert list(range(70)) == positions(scene, rehearsal.proposal.rehearses_on or "")


@pytest.mark.long
def test_its_own_rows_come_back_where_a_compaction_is_undone(
    scene: RepairScene, writer: SparkSession, positions: Positions
) -> None:
    """The compaction had replaced them with the rest; the repeated file comes back once.

    Each of the two manifests that name it holds another file as well: of those that do not, Iceberg passes over one,
    and refuses its own compaction because it counts more rows than it has replaced.
    """
    scene.flink.checkpoints(RUN, 3)
    scene.orders.commits_files("a", 4, {FOUR: range(30, 40), SIX: range(50, 60)})
    merged_by_the_sink(scene)
    compacts(scene, writer)
    scene.opens(*SEEN, remedy="drop-duplicated-commit")

    made = scene.proposes(ACTION)
    rehearsal = scene.carries_out(made)

    assert "This removes 10 rows." in " ".join(made.proposal.preview.sentences)
    assert list(range(60)) == positions(scene, rehearsal.proposal.rehearses_on or "")


def test_what_was_compacted_before_it_came_again_goes(
    scene: RepairScene, writer: SparkSession, positions: Positions
) -> None:
    """The file is live once, but its rows are the table's in another file already."""
    appended_by_hand(scene)
    compacts(scene, writer)
    merged_by_the_sink(scene)
    scene.opens(*SEEN)

    rehearsal = scene.carries_out(scene.proposes(ACTION))

    assert scene.proves(rehearsal).passed
    assert list(range(50)) == positions(scene, rehearsal.proposal.rehearses_on or "")


def test_what_may_be_the_only_copy_by_now_is_deduplicated_by_key(scene: RepairScene, writer: SparkSession) -> None:
    """Somebody had deleted rows of the first copy: the file came again, and nothing tells whether it was wanted."""
    appended_by_hand(scene)
    on_lake(scene, writer, "DELETE FROM lake.sales.orders WHERE source_position >= 30")
    merged_by_the_sink(scene)
    scene.opens(*SEEN, remedy="drop-duplicated-commit")

    with pytest.raises(Refused, match=r"none that the table references twice, and no compaction.*deduplicate the rows"):
        scene.proposes(ACTION)


def test_a_checkpoint_that_came_again_with_other_rows_is_deduplicated(scene: RepairScene) -> None:
    """As many rows in a file of its own, but over another part of the source: half of them are its own."""
    scene.flink.checkpoints(RUN, 2)
    scene.orders.commits("a", 2, range(15, 25))
    scene.opens(*SEEN)

    [(mode, match)] = scene.store.get(scene.incident).diagnosis.to_act_on

    assert ("F1", "deduplicate-rows") == (mode.code, match.remedy.value)
    assert match.headline.endswith("up to 5 rows too many.")


def test_a_checkpoint_that_came_again_with_other_rows_is_not_dropped(scene: RepairScene) -> None:
    """Also where another diagnosis asks for it."""
    scene.flink.checkpoints(RUN, 2)
    scene.orders.commits("a", 2, range(15, 25))
    scene.opens(*SEEN, remedy="drop-duplicated-commit")

    with pytest.raises(Refused, match=r"not proven that the table already had all rows of .*deduplicate the rows"):
        scene.proposes(ACTION)
