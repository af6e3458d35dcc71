"""A restore point that could not be read is never passed over in silence for an older one."""

from datetime import timedelta

import pytest

from bot.actions import forward_job, rewind_table_and_job
from bot.actions._restore_points import newest_pair
from bot.actions._stopped_state import newest_that_pairs
from bot.diagnosis._restoring import can_rewind_to
from bot.domain.action import Plan
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.findings import PairingFinding
from bot.domain.flink import CheckpointKind, StoredCheckpoint
from bot.domain.ids import SnapshotId
from bot.domain.looked import Seen
from bot.domain.pairing import pairings
from tests.actions.scene import Scene
from tests.tables import ORDERS, job

WHY = "Its _metadata is there and could not be opened: OSError: AWS Error ACCESS_DENIED during GetObject operation."


def with_unread(plan: Plan, *, only: bool = False) -> Plan:
    """A savepoint beside the others, or `only` it, that storage does not let be opened."""
    world = plan.case.observation
    unread = StoredCheckpoint(
        path="s3://state/savepoint-aaaaaa-000000000009",
        kind=CheckpointKind.SAVEPOINT,
        checkpoint_id=None,
        job_id=None,
        written_at=world.table.read_at - timedelta(minutes=1),
        problem=WHY,
        is_unread=True,
    )
    values = (unread, *(() if only else world.checkpoints.values))
    stored = Seen[StoredCheckpoint](source="storage", values=values)
    found = PairingFinding(pairings=pairings(values, world.table, world.jobs))
    observation = world.model_copy(update={"checkpoints": stored})
    case = plan.case.model_copy(update={"observation": observation, "pairing": found})
    return plan.model_copy(update={"case": case})


@pytest.mark.parametrize("action", [forward_job, rewind_table_and_job], ids=lambda a: a.ACTION.name)
def test_a_proposal_tells_of_a_point_that_may_be_nearer(scene: Scene, action) -> None:  # type: ignore[no-untyped-def]
    """With its path and the reason, before what will be done; without one it says nothing."""
    scene.flink.retained = scene.flink.savepoint(job("a"))
    plan = scene.plan()
    good = plan.match.model_copy(update={"last_good": plan.case.observation.table.head})
    plan = plan.model_copy(update={"match": good})

    told = action.propose(with_unread(plan)).preview.sentences
    as_before = action.propose(plan).preview.sentences

    [said] = set(told) - set(as_before)
    assert said.startswith("1 restore point could not be read and may be a nearer one than ")
    assert said.endswith(f" s3://state/savepoint-aaaaaa-000000000009: {WHY}")


def test_a_refusal_names_it_first(scene: Scene) -> None:
    """Where nothing pairs, what could not be read is what to look at."""
    plan = with_unread(scene.plan(), only=True)

    with pytest.raises(Refused) as refused:
        newest_pair(plan.case, plan.case.observation.table.head or SnapshotId(0))

    assert f"found s3://state/savepoint-aaaaaa-000000000009: unreadable, {WHY}" in refused.value.found


def test_nobody_says_that_no_point_pairs(scene: Scene) -> None:
    """One that was not read may."""
    plan = with_unread(scene.plan(), only=True)
    head = plan.case.observation.table.head

    assert can_rewind_to(plan.case, head) is None
    nothing = plan.case.observation.model_copy(update={"checkpoints": Seen[StoredCheckpoint](source="", values=())})
    assert can_rewind_to(plan.case.model_copy(update={"observation": nothing}), head) is False


def test_what_a_stop_left_and_cannot_be_opened_could_not_be_looked_at(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not "no state of it pairs": the proposal is not ended by a file that is denied for a moment."""
    plan = with_unread(scene.plan(), only=True)
    [unread] = plan.case.observation.checkpoints.values
    world = scene.observer.hands.world(ORDERS)
    [(name, ports)] = world.jobs.items()
    store = type(ports.checkpoints)
    run = job("a")
    point = unread.model_copy(update={"job_id": run})

    def denied(_self: object, path: str) -> StoredCheckpoint:
        raise CouldNotLook(f"Restore point {path} could not be read.", WHY, "Try again.")

    monkeypatch.setattr(store, "stored", lambda *_: (point,))
    monkeypatch.setattr(store, "read", denied)

    with pytest.raises(CouldNotLook, match="savepoint-aaaaaa-000000000009 could not be read"):
        newest_that_pairs(world, name, run)
