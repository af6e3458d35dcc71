"""The sink gets another uid where its last commit was expired (F8): older metadata files tell of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.actions import change_operator_uid
from bot.domain.action import Plan
from bot.domain.effects import StartJob
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from bot.domain.findings import GapsFinding
from bot.domain.requirements import SnapshotPresent
from tests.actions.scene import Scene
from tests.little_flink import JOB, open_catalog
from tests.tables import OPERATOR, ORDERS, job

WHOLE = GapsFinding(lowest=0, highest=29, positions=30, missing=0, gaps=())


def expire_all_but_the_head(scene: Scene) -> None:
    """As maintenance with `retain_last => 1` does it; data and metadata files stay."""
    catalog = open_catalog(scene.folder)
    table = catalog.load_table(ORDERS)
    older = [each.snapshot_id for each in table.snapshots() if each.snapshot_id != table.metadata.current_snapshot_id]
    table.maintenance.expire_snapshots().by_ids(older).commit()
    catalog.close()


@pytest.fixture
def expired(scene: Scene) -> Scene:
    """Run a was stopped at 3, another engine appended, and nothing below that is listed."""
    scene.flink.stop(JOB, job("a"))
    scene.backfill_commits()
    expire_all_but_the_head(scene)
    assert len(scene.table.snapshots) == 1
    return scene


def planned(scene: Scene) -> Plan:
    """As the service plans it, where the start is declared with a suffix."""
    plan = scene.plan()
    case = plan.case.model_copy(update={"gaps": WHOLE})
    return plan.model_copy(update={"renames_sink": True, "case": case, "expired": scene.catalog.expired})


def test_a_commit_that_was_expired_proves_that_nothing_is_owed(expired: Scene) -> None:
    """The job goes on above the head, and what the old sink had committed is there once."""
    plan = planned(expired)

    proposal = change_operator_uid.propose(plan)
    view = expired.carries_out(proposal, plan)

    [start] = [e for e in view.proposal.effects if isinstance(e, StartJob)]
    assert (start.on_top_of, start.leaves_operator) == (plan.case.observation.table.head, OPERATOR)
    assert [r.snapshot_id for r in proposal.requirements if isinstance(r, SnapshotPresent)] == [start.on_top_of]
    assert "which has expired since. An older metadata file still lists it" in proposal.preview.sentences[0]
    assert view.state is ProposalState.APPLIED
    assert expired.positions() == [*range(50), 900, 901, 902]


def test_a_sink_that_kept_its_uid_does_not_pass_for_another(expired: Scene) -> None:
    """None of the snapshots that main lists names the old operator id; the proposal does."""
    plan = planned(expired)
    view = expired.carries_out(change_operator_uid.propose(plan), plan)
    [start] = [e for e in view.proposal.effects if isinstance(e, StartJob)]
    new = expired.table.chain[0].operator_id
    same = view.proposal.model_copy(
        update={
            "effects": tuple(
                e.model_copy(update={"leaves_operator": new}) if e is start else e for e in view.proposal.effects
            )
        }
    )

    checked = {check.name: check.passed for check in expired.checked(replace(view, proposal=same))}

    assert checked["It commits under another operator id"] is False


def test_state_from_before_the_last_commit_is_not_started_from(scene: Scene) -> None:
    """Its committer has nothing pending; but rows that are on the table already would come a second time."""
    scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 2)
    scene.flink.breaks(job("a"))
    scene.flink.stop(JOB, job("a"))
    scene.backfill_commits()
    expire_all_but_the_head(scene)

    with pytest.raises(Refused, match="not proven that the old state has nothing left to commit"):
        change_operator_uid.propose(planned(scene))


def test_without_the_older_files_nothing_is_proven(expired: Scene) -> None:
    """They were deleted, as `write.metadata.delete-after-commit.enabled` does it."""
    plan = planned(expired)
    current = plan.case.observation.table.metadata_location.removeprefix("file://")
    for file in Path(current).parent.glob("*.metadata.json"):
        if str(file) != current:
            file.unlink()

    with pytest.raises(Refused, match="allowNonRestoredState=true"):
        change_operator_uid.propose(plan)


def test_a_run_that_fails_in_a_loop_is_cancelled_first(expired: Scene) -> None:
    """It was restored from the savepoint and asks for a manifest that is gone; it can take no state with it."""
    savepoint = next(each for each in expired.flink.savepoints.iterdir())
    expired.flink.submit(job("b"), at_checkpoint=3, restored=savepoint)
    expired.flink.breaks(job("b"))
    plan = planned(expired)

    view = expired.carries_out(change_operator_uid.propose(plan), plan)

    assert [effect.kind for effect in view.proposal.effects] == ["freeze-maintenance", "stop-job", "start-job"]
    assert view.state is ProposalState.APPLIED
    assert expired.positions() == [*range(50), 900, 901, 902]


def test_it_collects_by_itself_what_it_needs() -> None:
    """The runbook of a job that will not restore does not count missing positions before the proposal."""
    assert set(change_operator_uid.ACTION.looks) == set(change_operator_uid.ACTION.needs)
