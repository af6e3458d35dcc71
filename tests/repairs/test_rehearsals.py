"""A repair is made on a branch, proven there, published by a second approval, or given up; killed at each boundary."""

import shutil
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path
from signal import SIGKILL

import pytest
from pyspark.sql import SparkSession

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.store import open_store
from bot.adapters.spark import SparkEvidenceRunner
from bot.incident.execution import ProposalState, ProposalView
from bot.observation.errors import Refused
from bot.observation.evidence import Verdict
from bot.observation.ids import JobId, short
from bot.ports import TableChange
from bot.service.incident_store import IncidentStore
from tests.little_flink import JOB
from tests.power_cut import killed
from tests.repairs.compacting import added_by, compacts
from tests.repairs.conftest import Positions
from tests.repairs.java_expiry import expires_all_but_the_head
from tests.repairs.rehearsed import PROPOSALS, Repaired, carry_out
from tests.repairs.scene import ANA, RUN, RepairScene
from tests.repairs.taken_out import SPARK
from tests.tables import ORDERS

pytestmark = [pytest.mark.slow, pytest.mark.rotating]

PROOF = ("ledger", "duplicate_commits", "duplicate_files", "duplicate_rows")
LEAKS = ("ledger", "leaked_manifests", "missing_positions")


def test_a_duplicated_commit_is_dropped_on_a_branch_and_then_published(
    scene: RepairScene, positions: Positions
) -> None:
    """The job waits at its savepoint; consumers see nothing before the publication, and each row once after it."""
    scene.flink.checkpoints(RUN, 3)
    again = scene.commits_again(3)
    scene.opens(*PROOF)

    rehearsal = scene.carries_out(scene.proposes("drop_duplicated_commit"))
    proof = scene.proves(rehearsal)

    assert proof.passed, proof.checks
    branch = rehearsal.proposal.rehearses_on
    assert (proof.branch, branch) == (branch, f"recovery-{scene.incident}")
    assert scene.table.head == again
    assert scene.alive == []
    assert positions(scene, "main") == sorted([*range(30), *range(20, 30)])
    assert positions(scene, branch) == list(range(30))

    setup = scene.services.observer.setup(scene.table.name)
    of_repairs = setup.policies["default"].model_copy(update={"expires_after": timedelta(minutes=7)})
    policies = {**setup.policies, "drop_duplicated_commit": of_repairs}
    scene.services.observer.tables = {setup.name: setup.model_copy(update={"policies": policies})}
    published = scene.carries_out(scene.proposes("drop_duplicated_commit"))
    proof = scene.proves(published)

    assert published.proposal.action == "publish_repair"
    assert published.proposal.policy.expires_after == timedelta(minutes=7), "who approves repairs approves this, too"
    assert proof.passed, proof.checks
    assert positions(scene, "main") == list(range(50))
    assert [s.checkpoint_id for s in scene.table.chain[:2]] == [5, 4]
    assert scene.table.ref(branch) is None
    assert len(scene.alive) == 1
    assert scene.diagnosed_anew(*PROOF, "missing_positions") == []


def test_leaked_manifests_are_appended_on_a_branch_and_then_published(
    scene: RepairScene, positions: Positions, writer: SparkSession
) -> None:
    """What the sink under its old uid had written, and nothing remembers, comes into the table once; it is not called
    lost either after a compaction has written it into other files."""
    scene.sink_comes_back_under_another_uid(owing=range(30, 40))
    scene.opens(*LEAKS)

    rehearsal = scene.carries_out(scene.proposes("recover_leaked_manifests"))
    proof = scene.proves(rehearsal)

    assert proof.passed, proof.checks
    branch = rehearsal.proposal.rehearses_on
    assert branch is not None
    assert positions(scene, "main") == [*range(30), *range(40, 50)]
    assert positions(scene, branch) == list(range(50))
    published = scene.carries_out(scene.proposes("publish_repair"))
    proof = scene.proves(published)
    assert proof.passed, proof.checks
    assert positions(scene, "main") == list(range(70))
    [repair] = scene.table.recovering
    assert repair.recovered == {RUN: (4, 4)}
    assert repair.written[1] < repair.committed_at
    assert scene.diagnosed_anew(*LEAKS, "duplicate_rows") == []
    scene.flink.stop(JOB, JobId(scene.alive[0]))
    compacts(scene, writer)
    scene.diagnosed_anew(*LEAKS)
    lost = scene.store.get(scene.incident).latest["leaked_manifests"].evidence
    assert lost.verdict is Verdict.RULED_OUT, lost.headline
    assert "no commit took along" not in lost.headline


def test_leaked_files_that_another_branch_names_are_left_to_it(scene: RepairScene) -> None:
    """Somebody has put them on a branch since: once it is published they would be there twice."""
    scene.sink_comes_back_under_another_uid(owing=range(30, 40))
    scene.opens(*LEAKS)
    head = scene.table.head
    assert head is not None
    scene.orders.branches_off("audit", head)
    scene.orders.names_again("c", 1, ["00000-0-leak-00001.parquet"], branch="audit")

    with pytest.raises(
        Refused, match=r"Another branch or tag has.*audit references 1 file, the first .*leak-00001.parquet"
    ):
        scene.proposes("recover_leaked_manifests")


def test_a_repair_is_not_published_over_a_commit_on_main(scene: RepairScene, positions: Positions) -> None:
    """Somebody committed while the repair was rehearsed: main is left as it is, and the branch, too."""
    scene.flink.checkpoints(RUN, 3)
    scene.commits_again(3)
    scene.opens(*PROOF)
    rehearsal = scene.carries_out(scene.proposes("drop_duplicated_commit"))
    scene.proves(rehearsal)
    published = scene.proposes("publish_repair")
    stranger = scene.orders.appends(scene.orders.live().slice(0, 1))

    with pytest.raises(Exception, match="was committed by spark"):
        scene.carries_out(published)

    assert scene.view(published.proposal.id).state is ProposalState.SUPERSEDED
    assert scene.table.head == stranger
    with pytest.raises(Refused, match="main has moved on"):
        scene.proposes("publish_repair")


def test_a_repair_that_nobody_has_verified_is_not_published(scene: RepairScene) -> None:
    """Carried out is not proven: people may ask for the publication by hand, and are told what is missing."""
    scene.flink.checkpoints(RUN, 3)
    scene.commits_again(3)
    scene.opens(*PROOF)
    rehearsal = scene.carries_out(scene.proposes("drop_duplicated_commit"))

    with pytest.raises(Refused, match="is not proven, so it cannot be published") as refused:
        scene.proposes("publish_repair")

    assert "it was not verified" in refused.value.found
    assert "drop_repair_branch" in refused.value.remedy
    scene.proves(rehearsal)
    assert scene.proposes("publish_repair").state is ProposalState.PROPOSED


def test_a_repair_whose_verification_failed_is_not_published_and_can_be_given_up(
    scene: RepairScene, positions: Positions
) -> None:
    """The branch still holds a row twice: what failed is said, main stays, and the way out is open."""
    scene.flink.checkpoints(RUN, 2)
    scene.orders.appends(scene.orders.live().slice(0, 1))
    scene.commits_again(3)
    again = scene.commits_again(3)
    scene.opens(*PROOF, remedy="drop-duplicated-commit")
    rehearsal = scene.carries_out(scene.proposes("drop_duplicated_commit"))
    proof = scene.proves(rehearsal)
    assert not proof.passed

    with pytest.raises(Refused, match="the verification did not pass") as refused:
        scene.proposes("publish_repair")

    assert "No duplicate rows: " in refused.value.found
    assert "Verify again" in refused.value.remedy
    assert scene.table.head == again
    assert scene.carries_out(scene.proposes("drop_repair_branch")).state is ProposalState.APPLIED


def test_an_undone_publication_has_the_job_go_on_from_the_rehearsals_stop(
    scene: RepairScene, positions: Positions
) -> None:
    """Main is where the branch began, fault and all, and what the new run had read is read again."""
    scene.flink.checkpoints(RUN, 3)
    again = scene.commits_again(3)
    scene.opens(*PROOF)
    _published(scene)

    undo = scene.carries_out(scene.view(scene.services.proposals.undo(scene.incident, None, "No.", by=ANA)))

    assert undo.state is ProposalState.APPLIED, undo.result
    assert again in scene.table.chain_ids
    assert len(scene.alive) == 1
    assert [s.checkpoint_id for s in scene.table.chain[:3]] == [5, 4, 3]
    assert positions(scene, "main") == sorted([*range(50), *range(20, 30)])


def test_an_undone_publication_without_that_state_says_what_to_start_by_hand(
    scene: RepairScene, positions: Positions
) -> None:
    """Main goes back nevertheless; nothing is started that would lose or repeat rows."""
    scene.flink.checkpoints(RUN, 3)
    scene.commits_again(3)
    scene.opens(*PROOF)
    _published(scene)
    [taken] = [each for each in scene.flink.savepoints.glob(f"savepoint-{RUN[:6]}-*") if each.is_dir()]
    shutil.rmtree(taken)

    proposed = scene.view(scene.services.proposals.undo(scene.incident, None, "No.", by=ANA))
    undo = scene.carries_out(proposed)

    [said] = [each for each in proposed.proposal.preview.sentences if each.startswith("Start no run")]
    assert taken.name in said
    assert "Start the job by hand after main has moved back" in said
    assert "none was alive" not in said
    assert undo.state is ProposalState.APPLIED, undo.result
    assert scene.alive == []
    assert positions(scene, "main") == sorted([*range(30), *range(20, 30)])


@pytest.mark.long
def test_by_policy_the_branch_of_a_published_repair_stays(
    tmp_path: Path, runner: SparkEvidenceRunner, positions: Positions
) -> None:
    """`keep_repair_branch: true`: what was proven can still be read by its name."""
    scene = RepairScene(tmp_path, runner, keep_repair_branch=True)
    try:
        scene.flink.checkpoints(RUN, 3)
        scene.commits_again(3)
        scene.opens(*PROOF)
        _published(scene)
        branch = f"recovery-{scene.incident}"
        view = list(scene.store.get(scene.incident).proposals.values())[-1]

        assert "The branch stays, by policy." in " ".join(view.proposal.preview.sentences)
        assert positions(scene, branch) == list(range(30))
        assert positions(scene, "main") == list(range(50))
    finally:
        scene.close()


def _published(scene: RepairScene) -> None:
    """The repair is rehearsed, proven, and main."""
    scene.proves(scene.carries_out(scene.proposes("drop_duplicated_commit")))
    done = scene.carries_out(scene.proposes("publish_repair"))
    assert done.state is ProposalState.APPLIED, done.result


def test_a_repair_that_is_given_up_leaves_main_and_the_job_as_they_were(
    scene: RepairScene, positions: Positions
) -> None:
    """The branch goes, and the job starts from the state that its stop has left."""
    scene.flink.checkpoints(RUN, 3)
    again = scene.commits_again(3)
    scene.opens(*PROOF)
    scene.carries_out(scene.proposes("drop_duplicated_commit"))

    given_up = scene.carries_out(scene.proposes("drop_repair_branch"))

    assert given_up.state is ProposalState.APPLIED, given_up.result
    assert scene.table.ref(f"recovery-{scene.incident}") is None
    assert again in scene.table.chain_ids
    assert len(scene.alive) == 1
    assert [s.checkpoint_id for s in scene.table.chain[:3]] == [5, 4, 3]
    proof = scene.proves(given_up)
    assert proof.passed, proof.checks
    assert "10 such rows were counted before the start, 10 now" in " ".join(c.sentence for c in proof.checks)


def test_rows_that_come_twice_after_a_repair_was_given_up_fail_its_proof(scene: RepairScene) -> None:
    """Beside those that were there twice before."""
    scene.flink.checkpoints(RUN, 3)
    scene.commits_again(3)
    scene.opens(*PROOF)
    scene.carries_out(scene.proposes("drop_duplicated_commit"))
    given_up = scene.carries_out(scene.proposes("drop_repair_branch"))
    scene.commits_again(3)

    proof = scene.proves(given_up)

    failed = {check.name: check.sentence for check in proof.checks if not check.passed}
    assert list(failed) == ["The start duplicated no rows"]
    assert "10 such rows were counted before the start, 20 now" in failed["The start duplicated no rows"]


def test_a_repair_is_given_up_without_a_start_that_would_repeat_what_an_undo_had_read(
    scene: RepairScene, positions: Positions
) -> None:
    """The undo of a rehearsal had the job go on, and that run failed later: it committed from after the savepoint."""
    scene.flink.checkpoints(RUN, 3)
    scene.commits_again(3)
    scene.opens(*PROOF)
    scene.carries_out(scene.proposes("drop_duplicated_commit"))
    scene.carries_out(scene.undoes())
    scene.flink.ends(JobId(scene.alive[0]), "FAILED")
    before = positions(scene, "main")

    given_up = scene.carries_out(scene.proposes("drop_repair_branch"))

    assert given_up.state is ProposalState.APPLIED, given_up.result
    assert scene.table.ref(f"recovery-{scene.incident}") is None
    assert scene.alive == []
    assert positions(scene, "main") == before
    assert "the job stays down" in " ".join(given_up.proposal.preview.sentences)


def test_a_repair_that_was_given_up_says_that_it_cannot_be_undone_before_and_after(scene: RepairScene) -> None:
    """Its job goes on, and its branch is gone: taking the job off again would bring nothing back."""
    scene.flink.checkpoints(RUN, 3)
    scene.commits_again(3)
    scene.opens(*PROOF)
    scene.carries_out(scene.proposes("drop_duplicated_commit"))
    given_up = scene.carries_out(scene.proposes("drop_repair_branch"))

    with pytest.raises(Refused, match=r"cannot be undone\. It dropped a repair"):
        scene.services.proposals.undo(scene.incident, given_up.proposal.id, "No.", by=ANA)

    assert given_up.proposal.undo.startswith("It cannot be undone")


def test_a_file_that_two_commits_named_outlives_the_repair(scene: RepairScene, positions: Positions) -> None:
    """The dropped reference is not left as "deleted": Java would delete the file by that, though the other names it."""
    scene.flink.checkpoints(RUN, 2)
    [file] = added_by(scene, scene.orders.head)
    scene.orders.names_again("a", 2, [file.name])
    scene.opens("ledger", "duplicate_commits", "duplicate_files")
    _repairs(scene, "drop_duplicated_commit")

    _expires(scene)

    assert len(scene.table.snapshots) == 1
    assert positions(scene, "main") == list(range(40))


@pytest.mark.long
def test_what_a_compaction_had_replaced_outlives_it(
    scene: RepairScene, writer: SparkSession, positions: Positions
) -> None:
    """The compaction stays below main and says that it deleted what the repair has put back: a tag keeps it.
    With their next compaction nobody needs it any more."""
    scene.flink.checkpoints(RUN, 2)
    compacted = compacts(scene, writer)
    for file in added_by(scene, compacted):
        file.unlink()
    scene.opens("ledger", "unreadable_files")
    published = _repairs(scene, "repair_unreadable_files")
    tag = f"recovery-{scene.incident}-keeps-{compacted}"

    _expires(scene)

    assert positions(scene, "main") == list(range(40))
    assert {s.snapshot_id for s in scene.table.snapshots} == {compacted, scene.table.head}
    said = " ".join(published.proposal.preview.sentences)
    assert f"Tag compaction {short(compacted)} as {tag}: its expiry would delete files" in said
    assert f"The tag {tag} stays until the files" in published.proposal.undo
    compacts(scene, writer)
    _expires(scene, tag)
    assert positions(scene, "main") == list(range(40))


@pytest.mark.long
def test_what_two_compactions_had_replaced_outlives_them(
    scene: RepairScene, writer: SparkSession, positions: Positions
) -> None:
    """With the repeated commit both are undone: each of them is kept."""
    scene.flink.checkpoints(RUN, 3)
    scene.commits_again(3)
    first = compacts(scene, writer)
    scene.flink.checkpoints(RUN, 1)
    second = compacts(scene, writer)
    scene.opens("ledger", "duplicate_commits", "duplicate_files", remedy="drop-duplicated-commit")
    _repairs(scene, "drop_duplicated_commit")

    _expires(scene)

    assert positions(scene, "main") == list(range(60))
    assert {s.snapshot_id for s in scene.table.snapshots} == {first, second, scene.table.head}


@pytest.mark.long
def test_an_undo_leaves_the_tag(scene: RepairScene, writer: SparkSession) -> None:
    """What is undone may be published again; no expiry may have taken its files meanwhile."""
    scene.flink.checkpoints(RUN, 2)
    compacted = compacts(scene, writer)
    for file in added_by(scene, compacted):
        file.unlink()
    scene.opens("ledger", "unreadable_files")
    _repairs(scene, "repair_unreadable_files")

    undone = scene.carries_out(scene.undoes())

    assert undone.state is ProposalState.APPLIED, undone.result
    assert compacted in scene.table.chain_ids
    assert scene.table.ref(f"recovery-{scene.incident}-keeps-{compacted}") == compacted


def _repairs(scene: RepairScene, action: str) -> ProposalView:
    """Rehearsed, proven, published; the job goes on with two more checkpoints. The publication."""
    assert scene.proves(scene.carries_out(scene.proposes(action))).passed
    published = scene.carries_out(scene.proposes("publish_repair"))
    assert scene.proves(published).passed
    return published


def _expires(scene: RepairScene, *tags: str) -> None:
    """The incident is over: maintenance goes on, and nobody needs the tag of the state that was left any more, nor
    these."""
    scene.services.maintenance.unfreeze(scene.incident, by=ANA)
    table = scene.table
    left = [ref.name for ref in table.refs if ref.name.startswith(f"{scene.incident}-left")]
    gone = TableChange(expected_uuid=table.uuid, expected_head=table.head, remove_refs=(*left, *tags))
    scene.catalog.commit(ORDERS, gone)
    expires_all_but_the_head(scene.folder)


ENTRIES = {"rehearse": 8, "deduplicate": 8, "publish": 6, "give-up": 6, "replay": 8}
"""Appends of a whole execution: started, intent and end of each effect, ended."""
AROUND = {
    "rehearse": (4, 5, 6, 7),
    "deduplicate": (6, 7),
    "publish": (2, 3),
    "give-up": (4, 5),
    "replay": (6, 7),
}
"""The intents and ends of the effects that are not cut at in `tests/execution`."""
CUTS = [(name, sign * cut) for name, cuts in AROUND.items() for cut in cuts for sign in (1, -1)]


@pytest.fixture
def spark_for_replays(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' one Spark, for the processes that are killed as well; started only where rows are replayed."""
    if request.getfixturevalue("name") == "replay":
        monkeypatch.setenv(SPARK, request.getfixturevalue("server").url)


@pytest.mark.usefixtures("spark_for_replays")
@pytest.mark.parametrize(("name", "cut_at"), CUTS)
def test_a_repair_that_was_killed_ends_right_and_nothing_is_done_twice(tmp_path: Path, name: str, cut_at: int) -> None:
    """Whatever the boundary: the effect is in the world exactly once, and the record is whole."""
    repaired = Repaired.made_in(tmp_path, name)

    assert _is_killed(tmp_path, name, cut_at)
    carry_out(tmp_path, name, None)
    carry_out(tmp_path, name, None)

    assert repaired.found() == repaired.expected
    record = open_store(f"sqlite:///{tmp_path}/journal.db")
    view = IncidentStore(record.journal, SystemClock()).all()[0].proposals[PROPOSALS[name]]
    faults = record.journal.verify()
    record.close()
    repaired.close()
    assert view.state is ProposalState.APPLIED
    assert faults == ()


@pytest.mark.usefixtures("spark_for_replays")
@pytest.mark.parametrize("name", list(ENTRIES))
def test_the_number_of_boundaries_is_what_the_cuts_cover(tmp_path: Path, name: str) -> None:
    """If an execution journals more than is cut at, the cuts above do not cover it any more."""
    repaired = Repaired.made_in(tmp_path, name)
    record = open_store(f"sqlite:///{tmp_path}/journal.db")
    store = IncidentStore(record.journal, SystemClock())
    seq = store.all()[0].seq

    carry_out(tmp_path, name, None)

    assert store.all()[0].seq - seq == ENTRIES[name]
    assert repaired.found() == repaired.expected
    record.close()
    repaired.close()


def _is_killed(folder: Path, name: str, cut_at: int) -> bool:
    """By SIGKILL. A process that is connected to Spark is not to be forked: gRPC's threads are not in the child."""
    if name != "replay":
        return killed(lambda: carry_out(folder, name, cut_at))
    process = get_context("spawn").Process(target=carry_out, args=(folder, name, cut_at))
    process.start()
    process.join(180)
    return process.exitcode == -SIGKILL
