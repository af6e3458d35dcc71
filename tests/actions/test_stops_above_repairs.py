"""Rows that were put on main beside Flink's commits are brought a second time by no start: a lost commit that somebody
has cherry-picked by hand counts as a repair does, and so does a look at what a stop, or an undo, finds on storage."""

from datetime import UTC, datetime
from types import ModuleType

import pytest

from bot.actions import forward_job, restart_from_stop_savepoint, restore_job_only, rewind_table_and_job, undo_proposal
from bot.domain.errors import Refused
from bot.domain.ids import SnapshotId
from tests.actions.scene import ProposalState, Scene
from tests.actions.test_rows_of_repairs import AGAIN, is_recovered, known
from tests.tables import job, rows


def picks(scene: Scene, source: SnapshotId, positions: range) -> None:
    """As Spark's `cherrypick_snapshot` commits it: the files of the source, and none of its keys."""
    scene.commits(rows(positions), {"engine-name": "spark", "source-snapshot-id": str(source)})


def loses_and_picks(scene: Scene) -> None:
    """Savepoint 2; commit 3 is rolled back and picked by hand."""
    lost = scene.snapshot("a", 3)
    scene.flink.stands_at(job("a"), 2)
    scene.flink.savepoint(job("a"))
    scene.flink.stands_at(job("a"), 3)
    scene.rolls_back(to=scene.snapshot("a", 2))
    picks(scene, lost, range(20, 30))


@pytest.mark.parametrize("action", [forward_job, restore_job_only], ids=["forward_job", "restore_job_only"])
def test_no_start_from_below_a_commit_that_was_picked_by_hand(scene: Scene, action: ModuleType) -> None:
    """Savepoint 2 pairs with what lies below the pick, and is followed by its rows."""
    loses_and_picks(scene)
    scene.flink.ends(job("a"), "FAILED")

    with pytest.raises(Refused) as refused:
        action.propose(known(scene))

    assert AGAIN in refused.value.found


def test_a_stop_starts_nothing_that_brings_a_pick_again(scene: Scene) -> None:
    """What the run leaves pairs with the commit that was lost; its older savepoint would bring the pick again."""
    loses_and_picks(scene)
    plan = scene.plan()

    view = scene.carries_out(restart_from_stop_savepoint.propose(plan), plan)

    assert view.state is ProposalState.REFUSED
    assert list(range(30)) == scene.positions()


def test_a_pick_of_another_engines_commit_stands_in_no_way(scene: Scene) -> None:
    """The job never brings its rows."""
    two = scene.snapshot("a", 3)
    scene.flink.savepoint(job("a"))
    scene.backfill_commits()
    lost = scene.table.head
    assert lost is not None
    scene.rolls_back(to=two)
    picks(scene, lost, range(900, 903))
    scene.flink.ends(job("a"), "FAILED")
    plan = known(scene)

    view = scene.carries_out(restore_job_only.propose(plan), plan)

    assert view.state is ProposalState.APPLIED


def test_what_a_writer_has_published_stands_in_no_way(scene: Scene) -> None:
    """Write-audit-publish by a cherry-pick whose staged commit has expired: it was never the job's."""
    scene.flink.savepoint(job("a"))
    told = {"engine-name": "spark", "source-snapshot-id": "4242", "published-wap-id": "audit-7"}
    scene.commits(rows(range(900, 903)), told)
    scene.flink.ends(job("a"), "FAILED")
    plan = known(scene)

    view = scene.carries_out(restore_job_only.propose(plan), plan)

    assert view.state is ProposalState.APPLIED


def test_a_rewind_takes_a_pick_off_whose_rows_the_job_reads_again(scene: Scene) -> None:
    """As the refused start advises: nothing of another writer goes."""
    loses_and_picks(scene)
    scene.flink.ends(job("a"), "FAILED")
    plan = scene.plan(last_good=scene.table.head)

    view = scene.carries_out(rewind_table_and_job.propose(plan), plan)

    assert view.proposal.preview.others == ()
    assert view.state is ProposalState.APPLIED
    assert sorted(set(scene.positions())) == scene.positions()


def test_an_undo_starts_nothing_that_brings_the_rows_of_a_repair_again(scene: Scene) -> None:
    """The rewind took the repair off, and the undo puts it back: savepoint 3 does not hold its rows."""
    scene.flink.savepoint(job("a"))
    scene.flink.breaks(job("a"))
    is_recovered(scene, written=datetime.now(UTC), of=[(job("a"), 4)], positions=range(30, 40))
    plan = scene.plan(last_good=scene.table.head)
    done = scene.carries_out(rewind_table_and_job.propose(plan), plan)

    with pytest.raises(Refused, match="cannot be undone") as refused:
        undo_proposal.propose(scene.plan(undoes=done.proposal.id, number=2))

    assert "second time" in refused.value.found
