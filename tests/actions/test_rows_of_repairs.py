"""Rows that a repair has put on main are brought a second time by no start."""

import os
import shutil
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from bot.actions import (
    restart_from_stop_savepoint,
    restart_with_new_job_id,
    restore_job_at_head,
    restore_job_only,
    roll_back_table_and_restore_job,
    undo_proposal,
)
from bot.actions._support.staging import said_of_rows
from bot.actions.recover_leaked_manifests import ACTION, propose
from bot.diagnosis._support.leaks import can_be_appended
from bot.diagnosis._support.restoring import pair_with_head
from bot.history.ranking import for_start
from bot.history.unread_points import some_are_live
from bot.incident.action import Plan
from bot.observation.errors import Refused
from bot.observation.file_changes import FileSurvey
from bot.observation.findings import GapsFinding, LeakStanding, PositionGap
from bot.observation.ids import CheckpointId, JobId, SnapshotId
from bot.observation.snapshot import REPAIR
from tests.actions.owing import extent, owes_the_next_checkpoint, with_extent
from tests.actions.scene import ProposalState, Scene, refusal, savepoint_of, starts_from
from tests.cases import Tale
from tests.found import leaks
from tests.tables import job, rows

ON_HEAD = pytest.mark.parametrize("action", [restore_job_at_head, restore_job_only], ids=lambda a: a.ACTION.name)
AGAIN = "a job started from here on the table as it is would bring rows of"


def is_recovered(
    scene: Scene, *, written: datetime, of: Sequence[tuple[JobId, int]] = (), positions: Sequence[int] = range(30, 40)
) -> None:
    """A published repair has appended these positions, which Flink had written by then."""
    told = said_of_rows(((run, CheckpointId(checkpoint)) for run, checkpoint in of), [written])
    scene.commits(rows(positions), {"engine-name": "waterline", REPAIR: "01X/3", **told})


def by_now(scene: Scene) -> datetime:
    """When the table was last committed to: a scene that was made before may be half a minute old."""
    return max(each.committed_at for each in scene.table.chain)


def known(scene: Scene) -> Plan:
    """A plan with the recovery extent as it is now."""
    plan = scene.plan()
    return with_extent(plan, extent(plan))


@ON_HEAD
@pytest.mark.parametrize("of", [[(job("a"), 4)], []], ids=["of the run", "put back"])
def test_no_start_from_below_the_rows_of_a_repair(
    scene: Scene, action: ModuleType, of: list[tuple[JobId, int]]
) -> None:
    """Savepoint 3 is followed by positions 30 to 39, which the repair has brought: the job reads them again."""
    three = scene.flink.ends_with_savepoint(job("a"))
    is_recovered(scene, written=by_now(scene), of=of)
    plan = known(scene)

    refused = refusal(action, plan)

    assert AGAIN in refused.found
    assert str(three) in refused.found
    assert pair_with_head(plan.case) is None
    assert for_start(plan.case).best is None
    [reach] = plan.case.recovery_extent.points if plan.case.recovery_extent else ()
    assert any("a second time" in each for each in reach.cannot)


def test_the_way_out_is_to_rewind_both(scene: Scene) -> None:
    """The repair is taken off, and the job reads its rows again: each position once."""
    three = scene.flink.ends_with_savepoint(job("a"))
    is_recovered(scene, written=by_now(scene), of=[(job("a"), 4)])

    view = scene.does(roll_back_table_and_restore_job, last_good=scene.table.head)

    assert starts_from(view.proposal) == str(three)
    assert view.state is ProposalState.APPLIED
    positions = scene.positions()
    assert positions == list(range(len(positions)))


def test_a_state_that_holds_the_rows_is_started_from(scene: Scene) -> None:
    """A later savepoint of the run had checkpoint 4 behind it, when its manifest was never committed."""
    scene.flink.stands_at(job("a"), 4)
    is_recovered(scene, written=by_now(scene), of=[(job("a"), 4)])
    four = scene.flink.savepoint(job("a"))
    scene.flink.stop("orders-to-iceberg", job("a"))

    assert starts_from(restore_job_at_head.propose(known(scene))) == str(four)


def test_a_state_of_another_run_that_was_written_later_is_started_from(scene: Scene) -> None:
    """What Flink had written before its run began is no part of what it would read."""
    scene.flink.ends_with_savepoint(job("a"))
    is_recovered(scene, written=by_now(scene), of=[(job("a"), 4)])
    scene.flink.submit(job("b"), at_checkpoint=4)
    scene.flink.checkpoints(job("b"))
    five = scene.flink.ends_with_savepoint(job("b"))
    plan = known(scene)

    view = scene.carries_out(restore_job_at_head.propose(plan), plan)

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

    refused = refusal(restore_job_only, with_extent(scene.plan(), before))

    assert AGAIN in refused.found
    now = {reach.path.removeprefix("file:"): reach for reach in extent(scene.plan()).points}
    assert not now[str(four)].brings_back


def test_a_repair_that_brought_nothing_of_flinks_stands_in_no_ones_way(scene: Scene) -> None:
    """Rows that were replayed lie below what the table had: no state reads them again."""
    three = scene.flink.ends_with_savepoint(job("a"))
    scene.commits(rows(range(900, 903)), {"engine-name": "waterline", REPAIR: "01X/3"})

    assert starts_from(restore_job_at_head.propose(known(scene))) == str(three)


BEFORE = datetime(2026, 11, 21, 8, tzinfo=UTC)


@pytest.mark.parametrize("of", [[(job("a"), 2)], []], ids=["of the run", "put back"])
def test_a_rewind_does_not_lose_silently_what_its_state_has_behind_it(
    scene: Scene, of: list[tuple[JobId, int]]
) -> None:
    """Checkpoint 2's manifest was dropped, and recovered above checkpoint 3: the job never reads these rows again."""
    scene.flink.ends_with_savepoint(job("a"))
    is_recovered(scene, written=BEFORE, of=of, positions=range(900, 910))
    plan = known(scene)
    [reach] = plan.case.recovery_extent.points if plan.case.recovery_extent else ()
    back = scene.plan(last_good=scene.snapshot("a", 3))

    with pytest.raises(Refused, match="found 10 rows in 1 commit of approved repairs") as refused:
        roll_back_table_and_restore_job.propose(back)

    assert "by a replay from the source" in refused.value.remedy
    assert "Talk to those writers" not in refused.value.remedy
    assert reach.to_read_again == 0
    assert any("does not make again what others committed" in each for each in reach.cannot)
    chosen = roll_back_table_and_restore_job.propose(back.model_copy(update={"drops_others": True}))
    assert [each.rows for each in chosen.preview.others] == [10]
    assert starts_from(restore_job_at_head.propose(plan)) == str(savepoint_of(scene, "a", 3))


def test_the_way_out_says_what_it_would_lose(scene: Scene) -> None:
    """One repair has recovered checkpoint 2, which the savepoint has behind it, and 4, which it does not hold."""
    scene.flink.ends_with_savepoint(job("a"))
    both = [(job("a"), 2), (job("a"), 4)]
    is_recovered(scene, written=by_now(scene), of=both, positions=[*range(900, 905), *range(30, 40)])

    refused = refusal(restore_job_at_head, known(scene))

    assert "replay them from the source" in refused.remedy
    assert "the job reads its rows again" not in refused.remedy
    with pytest.raises(Refused, match="15 rows in 1 commit of approved repairs"):
        roll_back_table_and_restore_job.propose(scene.plan(last_good=scene.table.head))


def test_rows_of_several_runs_are_told_by_when_they_were_written(scene: Scene) -> None:
    """Savepoint 3 has checkpoint 2 of its own run behind it, and nothing of run b's, which came later."""
    scene.flink.ends_with_savepoint(job("a"))
    is_recovered(scene, written=by_now(scene), of=[(job("a"), 2), (job("b"), 4)])

    refused = refusal(restore_job_at_head, known(scene))

    assert AGAIN in refused.found


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


@ON_HEAD
def test_no_start_from_below_a_commit_that_was_picked_by_hand(scene: Scene, action: ModuleType) -> None:
    """Savepoint 2 pairs with what lies below the pick, and is followed by its rows."""
    loses_and_picks(scene)
    scene.flink.ends(job("a"), "FAILED")

    refused = refusal(action, known(scene))

    assert AGAIN in refused.found


def test_a_stop_starts_nothing_that_brings_a_pick_again(scene: Scene) -> None:
    """What the run leaves pairs with the commit that was lost; its older savepoint would bring the pick again."""
    loses_and_picks(scene)

    view = scene.does(restart_from_stop_savepoint)

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

    view = scene.does(roll_back_table_and_restore_job, last_good=scene.table.head)

    assert view.proposal.preview.others == ()
    assert view.state is ProposalState.APPLIED
    assert sorted(set(scene.positions())) == scene.positions()


def test_an_undo_starts_nothing_that_brings_the_rows_of_a_repair_again(scene: Scene) -> None:
    """The rewind took the repair off, and the undo puts it back: savepoint 3 does not hold its rows."""
    scene.flink.savepoint(job("a"))
    scene.flink.breaks(job("a"))
    is_recovered(scene, written=datetime.now(UTC), of=[(job("a"), 4)], positions=range(30, 40))
    done = scene.does(roll_back_table_and_restore_job, last_good=scene.table.head)

    with pytest.raises(Refused, match="cannot be undone") as refused:
        undo_proposal.propose(scene.plan(undoes=done.proposal.id, number=2))

    assert "second time" in refused.value.found


UNFIT = FileSurvey(add=None, remove=None, unfit=("the survey was asked",))


def lacking(*gaps: tuple[int, int], missing: int | None = None) -> GapsFinding:
    """Of positions 0 to 99 these are missing; `missing`: more than are named."""
    named = tuple(PositionGap(first=first, last=last) for first, last in gaps)
    count = sum(gap.size for gap in named) if missing is None else missing
    return GapsFinding(lowest=0, highest=99, positions=100 - count, missing=count, gaps=named)


def skipped() -> Tale:
    """Checkpoint 3 of run a lies below what its run has committed."""
    return Tale().flink_runs("a").commits("a", 5).leaves_manifest("a", 3)


@pytest.mark.parametrize(
    ("positions", "gaps", "expected"),
    [
        ((50, 59), lacking((50, 59)), False),
        ((50, 59), lacking((40, 69)), False),
        ((50, 59), lacking((50, 58)), True),
        ((50, 59), lacking(), True),
        ((50, 59), lacking((50, 53), (55, 59)), True),
        ((50, 59), lacking((10, 19), missing=20), False),
        ((50, 59), lacking((10, 19), missing=19), True),
        ((95, 120), lacking((95, 99)), False),
        ((95, 120), lacking(), True),
        ((100, 120), lacking(), False),
        ((-9, -1), lacking(), False),
        (None, lacking(), False),
        ((50, 59), None, False),
        ((50, 60), lacking((50, 50), (55, 55), missing=12), True),
        ((50, 59), lacking(*((place, place) for place in range(100, 300, 10)), missing=50), True),
    ],
)
def test_a_position_that_is_not_missing_is_live(
    positions: tuple[int, int] | None, gaps: GapsFinding | None, expected: bool
) -> None:
    """Gaps that are not named lie above those that are, and beside what was counted nothing tells."""
    tale = skipped()
    (leak,) = leaks(*tale.manifests, positions=positions).manifests

    assert some_are_live(leak, gaps, tale.looked_at().contract) is expected


def test_another_checkpoints_rows_may_lie_between_those_of_a_manifest() -> None:
    """With unaligned checkpoints a row in flight comes with the next one: 50 and 60 to 69 are missing, 51 to 59 not."""
    (leak,) = leaks(*skipped().manifests, positions=(50, 69), rows=11).manifests
    contract = skipped().looked_at().contract

    assert not some_are_live(leak, lacking((50, 50), (60, 69)), contract)
    assert some_are_live(leak, lacking((50, 50), (60, 68)), contract)
    assert some_are_live(leak, lacking((50, 50), (61, 69)), contract)


def test_bounds_of_several_source_partitions_tell_nothing() -> None:
    """They are of all of them together."""
    tale = skipped()
    (leak,) = leaks(*tale.manifests, positions=(50, 59)).manifests
    contract = tale.looked_at().contract.model_copy(update={"position_partition": "source_partition"})

    assert not some_are_live(leak, lacking(), contract)


@pytest.mark.parametrize(
    ("missing", "refused"), [((50, 59), "do not fit the table"), ((55, 59), "already has some of the rows")]
)
def test_only_what_is_missing_as_a_whole_is_appended(missing: tuple[int, int], refused: str) -> None:
    """Where a part of it is there, the source gives the rest by key."""
    tale = skipped()
    case = tale.looked_at(
        leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED, positions=(50, 59)), gaps=lacking(missing)
    )
    plan: Any = SimpleNamespace(case=case, survey=lambda *_: UNFIT)

    with pytest.raises(Refused, match=refused):
        propose(plan)

    assert can_be_appended(case, case.leaked.manifests if case.leaked else ()) is (missing == (50, 59))


@pytest.mark.parametrize(
    ("gaps", "instead"),
    [
        (lacking((55, 59)), "Replay the positions that missing_positions reports"),
        (lacking(), "nothing needs to be recovered"),
        (lacking((10, 19), missing=15), "Replay the positions that missing_positions reports"),
    ],
    ids=["a part is missing", "nothing is", "who knows"],
)
def test_the_words_say_where_and_what_to_do(gaps: GapsFinding, instead: str) -> None:
    """At three in the morning: which checkpoint, which positions, what instead."""
    tale = skipped()
    case = tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED, positions=(50, 59)), gaps=gaps)
    plan: Any = SimpleNamespace(case=case, survey=lambda *_: UNFIT)

    with pytest.raises(Refused) as refused:
        propose(plan)

    assert "50 to 59, those of checkpoint 3 of run aaaaaa" in refused.value.found
    assert instead in refused.value.remedy


def test_beside_one_that_came_again_the_others_can_be_had() -> None:
    """Nothing of it is missing, so nothing of it is to be replayed: it stands in the way, and can be put aside."""
    tale = Tale().flink_runs("a").commits("a", 5).leaves_manifest("a", 3)
    tale.flink_runs("b").commits("b", 9).leaves_manifest("b", 7)
    both = leaks(*tale.manifests, standing=LeakStanding.DROPPED)
    placed = zip(both.manifests, ((20, 29), (50, 59)), strict=True)
    each = tuple(m.model_copy(update={"position_from": low, "position_until": high}) for m, (low, high) in placed)
    case = tale.looked_at(leaked=both.model_copy(update={"manifests": each}), gaps=lacking((50, 59)))
    plan: Any = SimpleNamespace(case=case, survey=lambda *_: UNFIT)

    with pytest.raises(Refused) as refused:
        propose(plan)

    assert f"move {each[0].path} aside" in refused.value.remedy


def test_it_is_proposed_on_a_fresh_count_of_positions() -> None:
    """Else rows that came after the count would be there twice."""
    assert "missing_positions" in ACTION.needs


LATER = timedelta(hours=1)


def copied(point: Path, *, after: timedelta = LATER) -> Path:
    """A copy beside it, made so long afterwards; the point itself is gone since."""
    at = datetime.now(UTC) + after
    shutil.move(point, copy := point.with_name("savepoint-copy"))
    os.utime(copy / "_metadata", (at.timestamp(), at.timestamp()))
    return copy


def written(point: Path, at: datetime) -> None:
    """The time of its file."""
    os.utime(point / "_metadata", (at.timestamp(), at.timestamp()))


def test_a_copy_holds_no_rows_that_are_younger_than_its_commit(scene: Scene) -> None:
    """Run b read on from run a's savepoint 3, and its lost checkpoint 4 was recovered: a copy of 3 repeats it."""
    three = scene.flink.ends_with_savepoint(job("a"), "FINISHED")
    scene.flink.submit(job("b"), at_checkpoint=3, restored=three)
    scene.flink.stands_at(job("b"), 4)
    scene.flink.ends(job("b"), "FAILED")
    is_recovered(scene, written=datetime.now(UTC), of=[(job("b"), 4)])
    copied(three)

    refused = refusal(restore_job_only, known(scene))

    assert AGAIN in refused.found


def test_a_copy_that_no_commit_follows_holds_nothing_that_is_younger_than_its_run(scene: Scene) -> None:
    """Run a's last checkpoints had no rows, and run b read on from its savepoint 5."""
    scene.flink.stands_at(job("a"), 5)
    five = scene.flink.ends_with_savepoint(job("a"), "FINISHED")
    assert starts_from(restore_job_at_head.propose(known(scene))) == str(five)
    scene.flink.submit(job("b"), at_checkpoint=5, restored=five)
    scene.flink.stands_at(job("b"), 6)
    scene.flink.ends(job("b"), "FAILED")
    is_recovered(scene, written=datetime.now(UTC), of=[(job("b"), 6)])
    copied(five)

    refused = refusal(restore_job_only, known(scene))

    assert AGAIN in refused.found


def test_a_copy_of_what_was_written_later_is_started_from(scene: Scene) -> None:
    """Run b had committed before and after its savepoint's checkpoint when the rows of run a had long been written."""
    scene.flink.ends(job("a"), "FAILED")
    is_recovered(scene, written=datetime.now(UTC), of=[(job("a"), 4)])
    scene.flink.submit(job("b"), at_checkpoint=4)
    scene.flink.checkpoints(job("b"), 2)
    copy = copied(scene.flink.savepoint(job("b")))
    scene.flink.ends(job("b"), "FAILED")

    assert starts_from(restore_job_at_head.propose(known(scene))) == str(copy)


@pytest.mark.parametrize("after", [LATER, timedelta(seconds=2)], ids=["an hour", "two seconds"])
def test_of_which_start_a_late_copy_is_nothing_tells(scene: Scene, after: timedelta) -> None:
    """Both starts under one job id committed checkpoint 3 before the copy was made."""
    three = scene.flink.ends_with_savepoint(job("a"), "FINISHED")
    scene.flink.submit(job("a"), at_checkpoint=0)
    scene.flink.checkpoints(job("a"), 3)
    scene.flink.ends(job("a"), "FAILED")
    copied(three, after=after)

    refused = refusal(restore_job_at_head, known(scene))

    assert "unpairable" in refused.found
    assert "nothing tells of which start it is" in refused.found


def test_a_copy_from_before_the_second_start_is_of_the_first(scene: Scene) -> None:
    """The first start committed up to 3 and the second up to 4: the copy of 3 was made right after the first's commit,
    more than a second before the second came so far."""
    three = scene.flink.savepoint(job("a"))
    first = scene.table.head
    assert first is not None
    scene.flink.ends(job("a"), "FINISHED")
    time.sleep(1.2)
    scene.flink.submit(job("a"), at_checkpoint=0)
    scene.flink.checkpoints(job("a"), 4)
    scene.flink.ends(job("a"), "FAILED")
    copy = copied(three)
    written(copy, scene.table.by_id[first].committed_at + timedelta(milliseconds=20))

    [pair] = scene.plan().case.pairing.pairings

    assert pair.snapshot_id == first


OF_THE_SECOND: list[list[tuple[JobId, int]]] = [[(job("a"), 1), (job("a"), 2)], [(job("a"), 2)]]


@pytest.mark.parametrize("of", OF_THE_SECOND, ids=["both", "one"])
@pytest.mark.parametrize("action", [restart_with_new_job_id, restore_job_only], ids=["new job id", "job only"])
def test_ids_of_two_starts_are_not_compared(scene: Scene, action: ModuleType, of: Sequence[tuple[JobId, int]]) -> None:
    """The second start began empty under the same id, and its dropped checkpoints were recovered: the savepoint of the
    first has a higher id, and does not hold them."""
    three = scene.flink.ends_with_savepoint(job("a"))
    scene.flink.submit(job("a"), at_checkpoint=0)
    scene.flink.stands_at(job("a"), 2)
    scene.flink.ends(job("a"), "FAILED")
    is_recovered(scene, written=datetime.now(UTC) + LATER, of=of, positions=range(30, 50))

    refused = refusal(action, known(scene))

    assert AGAIN in refused.found
    view = scene.does(roll_back_table_and_restore_job, last_good=scene.table.head)
    assert starts_from(view.proposal) == str(three)
    assert view.state is ProposalState.APPLIED
    positions = scene.positions()
    assert positions == list(range(len(positions)))


def test_a_pick_of_the_second_start_is_not_held_by_the_first(scene: Scene) -> None:
    """Commit 2 of the second start was rolled back and cherry-picked: savepoint 3 of the first does not hold it."""
    three = scene.flink.savepoint(job("a"))
    third = scene.snapshot("a", 3)
    scene.flink.ends(job("a"), "FAILED")
    scene.flink.submit(job("a"), at_checkpoint=0)
    scene.flink.checkpoints(job("a"), 2)
    scene.flink.ends(job("a"), "FAILED")
    lost = scene.table.head
    scene.rolls_back(to=third)
    scene.commits(rows(range(10, 20)), {"engine-name": "spark", "source-snapshot-id": str(lost)})
    written(three, scene.table.by_id[third].committed_at)

    refused = refusal(restore_job_at_head, known(scene))

    assert AGAIN in refused.found
