"""Whether a retained checkpoint stays is told by the runs as they are now, not as they were when evidence looked."""

from collections.abc import Callable

import pytest

from bot.actions import forward_job, restore_job_only, rewind_table_and_job
from bot.domain.action import Plan
from bot.domain.errors import Refused
from bot.domain.evidence import Observation
from bot.domain.findings import PairingFinding
from bot.domain.flink import CheckpointKind
from bot.domain.looked import NotSeen
from bot.domain.own_points import pairings_of
from bot.domain.pairing import pairings
from bot.domain.proposal import Proposal
from tests.actions.scene import Scene
from tests.tables import job

A = job("a")
SILENT = NotSeen(source="Flink", reason="Connection refused.", remedy="Wait.")
ON_HEAD = [restore_job_only.propose, forward_job.propose]
ALL = [*ON_HEAD, rewind_table_and_job.propose]
AGAIN = "`/waterline run checkpoint_pairing`"


def seen(scene: Scene) -> Observation:
    """The world now; what storage shows are checkpoints that Flink retains."""
    world = scene.plan().case.observation
    kind = {"kind": CheckpointKind.CHECKPOINT}
    stored = tuple(each.model_copy(update=kind) for each in world.checkpoints.values)
    return world.model_copy(update={"checkpoints": world.checkpoints.model_copy(update={"values": stored})})


def looked(world: Observation) -> PairingFinding:
    """The answer of `checkpoint_pairing` of this world."""
    return PairingFinding(pairings=pairings(world.checkpoints.values, world.table, world.jobs))


def planned(scene: Scene, world: Observation, known: PairingFinding) -> Plan:
    """By this world and this evidence; the head is right."""
    plan = scene.plan(last_good=world.table.head)
    return plan.model_copy(update={"case": plan.case.model_copy(update={"observation": world, "pairing": known})})


@pytest.mark.parametrize("propose", ALL)
@pytest.mark.parametrize("was_silent", [False, True])
def test_that_of_a_run_which_has_failed_since_is_started_from(
    scene: Scene, propose: Callable[[Plan], Proposal], was_silent: bool
) -> None:
    """It was RESTARTING then, or Flink did not answer. Without a commit nobody asks the evidence anew."""
    scene.flink.savepoint(A)
    then = seen(scene)
    known = looked(then.model_copy(update={"jobs": SILENT}) if was_silent else then)
    scene.flink.ends(A, "FAILED")

    made = propose(planned(scene, seen(scene), known))

    assert "from checkpoint 3" in made.title or "back to checkpoint 3" in made.title


@pytest.mark.parametrize("propose", ALL)
def test_that_of_a_run_which_is_alive_again_is_not(scene: Scene, propose: Callable[[Plan], Proposal]) -> None:
    """A run of a fixed job id had ended when evidence looked: Flink drops its checkpoint as it goes on."""
    scene.flink.savepoint(A)
    scene.flink.ends(A, "FAILED")
    known = looked(seen(scene))
    assert [each.is_durable for each in known.pairings] == [True]
    scene.flink.submit(A, at_checkpoint=3)
    plan = planned(scene, seen(scene), known)
    jobs = plan.case.observation.jobs
    runs = tuple(run.model_copy(update={"state": "RESTARTING"}) for run in jobs.values)
    restarting = plan.case.observation.model_copy(update={"jobs": jobs.model_copy(update={"values": runs})})

    assert [each.is_durable for each in pairings_of(plan.case)] == [False]
    with pytest.raises(Refused):
        propose(planned(scene, restarting, known))


@pytest.mark.parametrize("propose", ALL)
def test_nor_is_what_flink_has_deleted_as_the_run_ended(scene: Scene, propose: Callable[[Plan], Proposal]) -> None:
    """Storage does not show it any more: no action names it, and none says that its run is alive."""
    scene.flink.savepoint(A)
    known = looked(seen(scene))
    scene.flink.ends(A, "CANCELED")
    world = seen(scene)
    gone = world.model_copy(update={"checkpoints": world.checkpoints.model_copy(update={"values": ()})})

    with pytest.raises(Refused) as refused:
        propose(planned(scene, gone, known))

    assert "alive" not in str(refused.value)
    if propose in ON_HEAD:
        assert "Flink may have deleted it" in refused.value.found
        assert AGAIN in refused.value.remedy


@pytest.mark.parametrize("propose", ON_HEAD)
def test_a_point_that_came_since_the_evidence_is_named(scene: Scene, propose: Callable[[Plan], Proposal]) -> None:
    """The job went on for two checkpoints and died: what pairs is on storage, and nobody searches for it elsewhere."""
    scene.flink.savepoint(A)
    known = looked(seen(scene))
    scene.flink.checkpoints(A, 2)
    newest = scene.flink.savepoint(A)
    scene.flink.ends(A, "FAILED")

    with pytest.raises(Refused, match="cannot be restarted on the table as it is") as refused:
        propose(planned(scene, seen(scene), known))

    assert f"{newest.name}, which pairs" in refused.value.remedy
    assert AGAIN in refused.value.remedy
    assert "from checkpoint 5" in propose(planned(scene, seen(scene), looked(seen(scene)))).title


def test_a_rewind_names_one_that_came_since(scene: Scene) -> None:
    """None was there when evidence looked."""
    known = looked(seen(scene))
    scene.flink.savepoint(A)
    scene.flink.ends(A, "FAILED")

    with pytest.raises(Refused, match="No rewind is possible") as refused:
        rewind_table_and_job.propose(planned(scene, seen(scene), known))

    assert AGAIN in refused.value.remedy
