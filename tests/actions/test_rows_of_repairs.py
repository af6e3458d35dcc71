"""After leaked manifests were recovered the job is started from no state that brings their rows a second time.

The repair's commit carries no keys of Flink, so a savepoint from before the leak pairs with the head right through it.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import pytest

from bot.actions import forward_job, restore_job_only, rewind_table_and_job
from bot.actions._restore_points import goes_on_from
from bot.diagnosis._restoring import pair_with_head
from bot.domain.action import Plan
from bot.domain.effects import StartJob
from bot.domain.errors import Refused
from bot.domain.ids import CheckpointId, JobId
from bot.domain.own_points import said_of_rows
from bot.domain.proposal import Proposal
from bot.domain.snapshot import REPAIR
from tests.actions.owing import extent, owes_the_next_checkpoint, with_extent
from tests.actions.scene import ProposalState, Scene
from tests.tables import job, rows

AGAIN = "added rows that this state does not know"


def is_recovered(
    scene: Scene,
    *,
    written: datetime,
    of: Sequence[tuple[JobId, int]] = (),
    positions: Sequence[int] = range(30, 40),
) -> None:
    """A published repair has appended these positions, which Flink had written by then."""
    told = said_of_rows(((run, CheckpointId(checkpoint)) for run, checkpoint in of), [written])
    scene.commits(rows(positions), {"engine-name": "waterline", REPAIR: "01X/3", **told})


def known(scene: Scene) -> Plan:
    """A plan with the recovery extent as it is now."""
    plan = scene.plan()
    return with_extent(plan, extent(plan))


def starts_from(proposal: Proposal) -> str:
    """The restore point of the one start."""
    return next(e.path for e in proposal.effects if isinstance(e, StartJob)).removeprefix("file:")


@pytest.mark.parametrize("action", [forward_job, restore_job_only], ids=["forward_job", "restore_job_only"])
@pytest.mark.parametrize("of", [[(job("a"), 4)], []], ids=["of the run", "put back"])
def test_no_start_from_below_the_rows_of_a_repair(
    scene: Scene, action: ModuleType, of: list[tuple[JobId, int]]
) -> None:
    """Savepoint 3 is followed by positions 30 to 39, which the repair has brought: the job reads them again."""
    three = scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    is_recovered(scene, written=datetime.now(UTC), of=of)
    plan = known(scene)

    with pytest.raises(Refused) as refused:
        action.propose(plan)

    assert AGAIN in refused.value.found
    assert str(three) in refused.value.found
    assert pair_with_head(plan.case) is None
    assert goes_on_from(plan.case) is None
    [reach] = plan.case.recovery_extent.points if plan.case.recovery_extent else ()
    assert any("a second time" in each for each in reach.cannot)


def test_the_way_out_is_to_rewind_both(scene: Scene) -> None:
    """The repair is taken off, and the job reads its rows again: each position once."""
    three = scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    is_recovered(scene, written=datetime.now(UTC), of=[(job("a"), 4)])
    plan = scene.plan(last_good=scene.table.head)

    view = scene.carries_out(rewind_table_and_job.propose(plan), plan)

    assert starts_from(view.proposal) == str(three)
    assert view.state is ProposalState.APPLIED
    positions = scene.positions()
    assert positions == list(range(len(positions)))


def test_a_state_that_holds_the_rows_is_started_from(scene: Scene) -> None:
    """A later savepoint of the run had checkpoint 4 behind it, when its manifest was never committed."""
    scene.flink.stands_at(job("a"), 4)
    is_recovered(scene, written=datetime.now(UTC), of=[(job("a"), 4)])
    four = scene.flink.savepoint(job("a"))
    scene.flink.stop("orders-to-iceberg", job("a"))

    assert starts_from(forward_job.propose(known(scene))) == str(four)


def test_a_state_of_another_run_that_was_written_later_is_started_from(scene: Scene) -> None:
    """What Flink had written before its run began is no part of what it would read."""
    scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    is_recovered(scene, written=datetime.now(UTC), of=[(job("a"), 4)])
    scene.flink.submit(job("b"), at_checkpoint=4)
    scene.flink.checkpoints(job("b"))
    five = scene.flink.savepoint(job("b"))
    scene.flink.ends(job("b"), "FAILED")
    plan = known(scene)

    view = scene.carries_out(forward_job.propose(plan), plan)

    assert starts_from(view.proposal) == str(five)
    positions = scene.positions()
    assert positions == list(range(len(positions)))


@pytest.mark.parametrize("also", [[], [(job("b"), 2)]], ids=["of one run", "of two"])
def test_what_a_repair_has_brought_is_not_owed_any_more(scene: Scene, also: list[tuple[JobId, int]]) -> None:
    """A run was started in vain from the point that owes checkpoint 4, whose files were recovered then."""
    scene.flink.savepoint(job("a"))
    four = owes_the_next_checkpoint(scene, "a", 4)
    before = extent(scene.plan())
    is_recovered(scene, written=datetime(2026, 11, 21, 8, tzinfo=UTC), of=[(job("a"), 4), *also])

    with pytest.raises(Refused) as refused:
        restore_job_only.propose(with_extent(scene.plan(), before))

    assert AGAIN in refused.value.found
    now = {reach.path.removeprefix("file:"): reach for reach in extent(scene.plan()).points}
    assert not now[str(four)].brings_back


def test_a_repair_that_brought_nothing_of_flinks_stands_in_no_ones_way(scene: Scene) -> None:
    """Rows that were replayed lie below what the table had: no state reads them again."""
    three = scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    scene.commits(rows(range(900, 903)), {"engine-name": "waterline", REPAIR: "01X/3"})

    assert starts_from(forward_job.propose(known(scene))) == str(three)


BEFORE = datetime(2026, 11, 21, 8, tzinfo=UTC)


@pytest.mark.parametrize("of", [[(job("a"), 2)], []], ids=["of the run", "put back"])
def test_a_rewind_does_not_lose_silently_what_its_state_has_behind_it(
    scene: Scene, of: list[tuple[JobId, int]]
) -> None:
    """Checkpoint 2's manifest was dropped, and recovered above checkpoint 3: the job never reads these rows again."""
    scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    is_recovered(scene, written=BEFORE, of=of, positions=range(900, 910))
    plan = known(scene)
    [reach] = plan.case.recovery_extent.points if plan.case.recovery_extent else ()
    back = scene.plan(last_good=scene.snapshot("a", 3))

    with pytest.raises(Refused, match="found 10 rows in 1 commit of approved repairs") as refused:
        rewind_table_and_job.propose(back)

    assert "by a replay from the source" in refused.value.remedy
    assert "Talk to those writers" not in refused.value.remedy
    assert reach.to_read_again == 0
    assert any("does not make again what others committed" in each for each in reach.cannot)
    chosen = rewind_table_and_job.propose(back.model_copy(update={"drops_others": True}))
    assert [each.rows for each in chosen.preview.others] == [10]
    assert starts_from(forward_job.propose(plan)) == str(savepoint_of(scene, 3))


def test_the_way_out_says_what_it_would_lose(scene: Scene) -> None:
    """One repair has recovered checkpoint 2, which the savepoint has behind it, and 4, which it does not hold."""
    scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    both = [(job("a"), 2), (job("a"), 4)]
    is_recovered(scene, written=datetime.now(UTC), of=both, positions=[*range(900, 905), *range(30, 40)])

    with pytest.raises(Refused) as refused:
        forward_job.propose(known(scene))

    assert "replay them from the source" in refused.value.remedy
    assert "the job reads its rows again" not in refused.value.remedy
    with pytest.raises(Refused, match="15 rows in 1 commit of approved repairs"):
        rewind_table_and_job.propose(scene.plan(last_good=scene.table.head))


def test_rows_of_several_runs_are_told_by_when_they_were_written(scene: Scene) -> None:
    """Savepoint 3 has checkpoint 2 of its own run behind it, and nothing of run b's, which came later."""
    scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    is_recovered(scene, written=datetime.now(UTC), of=[(job("a"), 2), (job("b"), 4)])

    with pytest.raises(Refused) as refused:
        forward_job.propose(known(scene))

    assert AGAIN in refused.value.found


def savepoint_of(scene: Scene, checkpoint: int) -> Path:
    """Where run a's lies."""
    return scene.flink.savepoints / f"savepoint-{job('a')[:6]}-{checkpoint:012x}"
