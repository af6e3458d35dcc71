"""A repair is made on a branch, proven there, and published by a second approval; until then main is untouched."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bot.adapters.spark import SparkEvidenceRunner
from bot.domain.errors import Refused
from bot.domain.evidence import Verdict
from bot.domain.execution import ProposalState
from bot.domain.ids import JobId
from tests.little_flink import JOB
from tests.repairs.compacting import compacts
from tests.repairs.conftest import Positions
from tests.repairs.scene import ANA, RUN, RepairScene

pytestmark = pytest.mark.slow

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
    assert repair.written is not None
    assert repair.written[1] < repair.committed_at
    assert scene.diagnosed_anew(*LEAKS, "duplicate_rows") == []
    scene.flink.stop(JOB, JobId(scene.alive[0]))
    compacts(scene, writer)
    scene.diagnosed_anew(*LEAKS)
    lost = scene.store.get(scene.incident).latest["leaked_manifests"].evidence
    assert lost is not None
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
