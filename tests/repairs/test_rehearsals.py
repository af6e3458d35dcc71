"""A repair is made on a branch, proven there, and published by a second approval; until then main is untouched."""

import pytest

from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from tests.repairs.conftest import Positions
from tests.repairs.scene import RUN, RepairScene

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

    published = scene.carries_out(scene.proposes("drop_duplicated_commit"))
    proof = scene.proves(published)

    assert published.proposal.action == "publish_repair"
    assert proof.passed, proof.checks
    assert positions(scene, "main") == list(range(50))
    assert [s.checkpoint_id for s in scene.table.chain[:2]] == [5, 4]
    assert scene.table.ref(branch) is None
    assert len(scene.alive) == 1
    assert scene.diagnosed_anew(*PROOF, "missing_positions") == []


def test_leaked_manifests_are_appended_on_a_branch_and_then_published(scene: RepairScene, positions: Positions) -> None:
    """What the sink under its old uid had written, and nothing remembers, comes into the table once."""
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
    assert scene.diagnosed_anew(*LEAKS, "duplicate_rows") == []


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
