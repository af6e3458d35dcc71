"""Commits and copies that came more than once: only what is too many goes."""

from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bot.adapters.spark import SparkEvidenceRunner
from bot.observation.contract import CopyRule
from bot.observation.errors import Refused
from bot.observation.ids import SnapshotId
from tests.little_flink import JOB, open_catalog
from tests.repairs.compacting import added_by, compacts, on_lake
from tests.repairs.conftest import Positions
from tests.repairs.scene import RUN, RepairScene
from tests.tables import ORDERS, job, of_flink, rows

pytestmark = [pytest.mark.slow, pytest.mark.rotating]

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
    assert "Remove 1 file with 10 rows (source_position 30 to 39" in told
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


@pytest.mark.long
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


def commits_the_newest_again(scene: RepairScene) -> SnapshotId:
    """The answer to the newest commit was lost: its run commits the very files once more, under the same checkpoint."""
    with closing(open_catalog(scene.folder)) as catalog:
        table = catalog.load_table(ORDERS)
        newest = table.current_snapshot()
        keys = {key: value for key, value in newest.summary.additional_properties.items() if key.startswith("flink.")}
        own = (m for m in newest.manifests(table.io) if m.added_snapshot_id == newest.snapshot_id)
        files = [entry.data_file for manifest in own for entry in manifest.fetch_manifest_entry(table.io)]
        with table.transaction() as change, change.update_snapshot(snapshot_properties=keys).fast_append() as append:
            for file in files:
                append.append_data_file(file)
    head = scene.table.head
    assert head is not None
    return head


def test_a_second_repeat_is_dropped_after_a_first_one(scene: RepairScene, positions: Positions) -> None:
    """The first repeat's files are gone, and its commit is still on main: it is no part of the second repair."""
    scene.flink.checkpoints(RUN, 3)
    scene.commits_again(3)
    scene.opens(*SEEN)
    scene.proves(scene.carries_out(scene.proposes(ACTION)))
    assert scene.proves(scene.carries_out(scene.proposes("publish_repair"))).passed
    again = commits_the_newest_again(scene)

    assert "F1" in scene.diagnosed_anew(*SEEN)
    made = scene.proposes(ACTION)
    rehearsal = scene.carries_out(made)

    assert made.proposal.title.endswith(f": …{str(again)[-6:]}")
    assert scene.proves(rehearsal).passed
    assert scene.proves(scene.carries_out(scene.proposes("publish_repair"))).passed
    live = positions(scene, "main")
    assert list(range(len(live))) == live


def test_what_the_evidence_has_found_since_is_diagnosed_first(scene: RepairScene) -> None:
    """A repair of the first repeat alone could not be proven, and the job would stand still for it."""
    scene.flink.checkpoints(RUN, 3)
    commits_the_newest_again(scene)
    scene.opens(*SEEN)
    scene.flink.checkpoints(RUN, 1)
    commits_the_newest_again(scene)
    for task in SEEN:
        scene.services.evidence.run_now(scene.incident, task)

    with pytest.raises(Refused, match=r"older than the evidence.*Diagnose again"):
        scene.proposes(ACTION)
    assert "F1" in scene.diagnosed_anew()
    assert 20 == scene.proposes(ACTION).proposal.effects[-1].remove.rows


B = job("b")


@pytest.fixture
def replaying(scene: RepairScene) -> RepairScene:
    """Run a had gone three checkpoints beyond the savepoint from which run b was started; b has repeated one of them,
    and the copies were counted then."""
    scene.flink.checkpoints(RUN, 3)
    older = scene.flink.savepoint(RUN)
    scene.flink.checkpoints(RUN, 3)
    scene.flink.stop(JOB, RUN)
    scene.flink.submit(B, at_checkpoint=3, restored=older)
    scene.flink.checkpoints(B, 1)
    scene.opens("ledger", "duplicate_rows", "missing_positions")
    return scene


def counted(scene: RepairScene) -> int:
    """How often they were."""
    return sum(run.task == "extra_copies" for run in scene.store.get(scene.incident).runs.values())


def test_what_came_after_the_count_is_deleted_too(replaying: RepairScene) -> None:
    """Refused at first; who waited, and diagnosed again, has only the ledger anew."""
    with pytest.raises(Refused, match="still reads rows that main already has"):
        replaying.proposes("deduplicate_rows")
    replaying.flink.checkpoints(B, 3)
    replaying.diagnosed_anew("ledger")

    view = replaying.proposes("deduplicate_rows")

    assert "Deduplicate rows: 30 rows" == view.proposal.title
    assert 2 == counted(replaying)


def test_what_comes_once_the_run_has_passed_costs_no_count(replaying: RepairScene) -> None:
    """A job that runs commits all the time, and its new rows repeat none."""
    replaying.flink.checkpoints(B, 3)
    replaying.diagnosed_anew("ledger", "extra_copies")
    replaying.flink.checkpoints(B, 2)

    view = replaying.proposes("deduplicate_rows")

    assert "Deduplicate rows: 30 rows" == view.proposal.title
    assert 1 == counted(replaying)


@pytest.mark.long
def test_so_is_what_one_start_without_state_brings_under_the_same_id(scene: RepairScene) -> None:
    """Its checkpoint ids only rise (F4); copies were counted after its first commit."""
    scene.flink.checkpoints(RUN, 3)
    scene.flink._commit(RUN, 4, range(10))
    scene.opens("ledger", "duplicate_rows", "missing_positions")
    with pytest.raises(Refused, match="still reads rows that main already has"):
        scene.proposes("deduplicate_rows")
    for place in range(1, 4):
        scene.flink._commit(RUN, 4 + place, range(10 * place, 10 * place + 10))
    scene.diagnosed_anew("ledger")

    view = scene.proposes("deduplicate_rows")

    assert "Deduplicate rows: 30 rows" == view.proposal.title
    assert 2 == counted(scene)


DROPPED_SEEN = ("ledger", "duplicate_commits", "duplicate_files")
ONE = "source_position = 5"


def test_the_compaction_is_undone_with_it(scene: RepairScene, writer: SparkSession, positions: Positions) -> None:
    """What was compacted comes back but for the repeated rows; what was committed since stays."""
    scene.flink.checkpoints(RUN, 3)
    scene.commits_again(3)
    scene.flink.checkpoints(RUN, 1)
    compacts(scene, writer)
    scene.flink.checkpoints(RUN, 1)
    compacts(scene, writer)
    scene.opens(*DROPPED_SEEN, remedy="drop-duplicated-commit")

    proposed = scene.proposes(ACTION)
    rehearsal = scene.carries_out(proposed)

    told = " ".join(proposed.proposal.preview.sentences)
    assert "Add 5 files with 50 rows again" in told
    assert "This removes 10 rows." in told
    assert rehearsal.result.outcome == "applied", rehearsal.result
    assert positions(scene, "main") == sorted([*range(50), *range(20, 30)])
    assert positions(scene, rehearsal.proposal.rehearses_on or "") == list(range(50))


def test_rows_that_were_deleted_since_do_not_come_back(scene: RepairScene, writer: SparkSession) -> None:
    """A delete after the duplicate: the files from before hold what it took away. The refusal names it."""
    scene.flink.checkpoints(RUN, 3)
    scene.commits_again(3)
    compacts(scene, writer)
    scene.orders.deletes(ONE)
    scene.opens(*DROPPED_SEEN, remedy="drop-duplicated-commit")

    with pytest.raises(Refused, match=r"deleted or overwrote rows, which would return.*deduplicate"):
        scene.proposes(ACTION)


def test_a_compaction_that_applied_deletes_is_not_undone(scene: RepairScene, writer: SparkSession) -> None:
    """The rows that a delete had taken away before are in the old files: the counts tell, and say so."""
    scene.flink.checkpoints(RUN, 2)
    merge_on_read = "SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')"
    on_lake(scene, writer, f"ALTER TABLE lake.{ORDERS} {merge_on_read}")
    on_lake(scene, writer, "DELETE FROM lake.sales.orders WHERE source_position = 5")
    scene.flink.checkpoints(RUN, 1)
    scene.commits_again(3)
    compacts(scene, writer)
    scene.opens(*DROPPED_SEEN, remedy="drop-duplicated-commit")

    with pytest.raises(Refused, match="would remove 9 rows instead of the 10 repeated ones"):
        scene.proposes(ACTION)


def test_files_that_expiry_has_removed_are_not_put_back(scene: RepairScene, writer: SparkSession) -> None:
    """The compaction stays, and the rows are deduplicated by key instead."""
    scene.flink.checkpoints(RUN, 3)
    [old] = added_by(scene, scene.orders.head)
    scene.commits_again(3)
    compacts(scene, writer)
    old.unlink()
    scene.opens(*DROPPED_SEEN, remedy="drop-duplicated-commit")

    with pytest.raises(Refused, match="which storage no longer has"):
        scene.proposes(ACTION)


ROWS = ("ledger", "duplicate_rows", "extra_copies")


def test_extra_copies_are_deleted_on_a_branch_and_then_published(scene: RepairScene, positions: Positions) -> None:
    """A commit that repeats rows and brings new ones is not dropped whole: what it repeats goes, the rest stays."""
    scene.flink.checkpoints(RUN, 2)
    scene.orders.commits("a", 2, range(15, 25))
    scene.flink.checkpoints(RUN, 1)
    head = scene.table.head
    scene.opens(*ROWS)

    rehearsal = scene.carries_out(scene.proposes("deduplicate_rows"))
    proof = scene.proves(rehearsal)

    assert proof.passed, proof.checks
    branch = rehearsal.proposal.rehearses_on
    assert branch is not None
    assert scene.table.head == head
    assert positions(scene, "main") == sorted([*range(30), *range(15, 25)])
    assert positions(scene, branch) == list(range(30))
    published = scene.carries_out(scene.proposes("publish_repair"))
    proof = scene.proves(published)
    assert proof.passed, proof.checks
    assert published.proposal.preview.rows == 10
    assert positions(scene, "main") == list(range(50))
    assert len(scene.alive) == 1


def test_the_repair_says_by_which_commits_of_the_job_the_copies_had_come(scene: RepairScene) -> None:
    """As the evidence names them: a later rewind below them does not ask for the repair."""
    scene.flink.checkpoints(RUN, 1)
    older = scene.flink.savepoint(RUN)
    scene.flink.checkpoints(RUN, 1)
    scene.flink.ends(RUN, "FAILED")
    scene.flink.submit(job("b"), at_checkpoint=1, restored=older)
    scene.flink.checkpoints(job("b"), 1)
    again = scene.table.head
    scene.opens(*ROWS)

    rehearsal = scene.carries_out(scene.proposes("deduplicate_rows"))

    branch = rehearsal.proposal.rehearses_on
    assert branch is not None
    repair = scene.table.by_id[scene.table.ref(branch)]
    assert repair.summary["waterline.deleted-from"] == str(again)


def test_copies_that_differ_are_left_to_people(scene: RepairScene) -> None:
    """Which value is right is not the bot's to say; it names the columns in which they differ."""
    scene.flink.checkpoints(RUN, 2)
    scene.orders.appends(rows([99], orders=[5]), of_flink("a", 3))
    scene.opens(*ROWS)

    with pytest.raises(Refused, match=r"they differ in event_time \(1\), source_position \(1\)"):
        scene.proposes("deduplicate_rows")


def test_the_owners_rule_says_which_copy_stays(
    tmp_path: Path, runner: SparkEvidenceRunner, positions: Positions
) -> None:
    """Written again with another time and place in the source: that is no difference, and the newest is right."""
    rule = CopyRule(keep="newest", ignore=("event_time", "source_position"))
    with closing(RepairScene(tmp_path, runner, copies=rule)) as scene:
        scene.flink.checkpoints(RUN, 2)
        scene.orders.appends(rows([99], orders=[5]), of_flink("a", 3))
        scene.opens(*ROWS)

        rehearsal = scene.carries_out(scene.proposes("deduplicate_rows"))

        proposal = rehearsal.proposal
        branch = proposal.rehearses_on
        assert branch is not None
        assert positions(scene, branch) == [*range(5), *range(6, 20), 99]
        told = " ".join(proposal.preview.sentences)
        assert "every copy of 1 key but the newest." in told
        assert "equal in every column but event_time and source_position" in told


def test_a_file_that_is_named_twice_is_another_repair(scene: RepairScene) -> None:
    """A delete by place would take both copies."""
    scene.flink.checkpoints(RUN, 1)
    scene.orders.commits_files("a", 2, {"00000-0-a-00001.parquet": range(10, 20)}, times=2)
    scene.opens(*ROWS)

    with pytest.raises(Refused, match="drop_duplicated_commit"):
        scene.proposes("deduplicate_rows")


def test_without_an_extra_copy_nothing_is_proposed(scene: RepairScene) -> None:
    """Every row is there once."""
    scene.flink.checkpoints(RUN, 2)
    scene.opens(*ROWS)

    with pytest.raises(Refused, match="no extra copy"):
        scene.proposes("deduplicate_rows")
