"""A repair that is given up: main stays as it is, and the job goes on only from a state that pairs with it."""

import pytest

from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from bot.domain.ids import JobId
from tests.repairs.conftest import Positions
from tests.repairs.scene import ANA, RUN, RepairScene

pytestmark = pytest.mark.slow

PROOF = ("ledger", "duplicate_commits", "duplicate_files", "duplicate_rows")


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
