"""A pick by hand of a lost repair keeps none of its keys: what the repair says of itself counts for the pick."""

from datetime import UTC, datetime
from types import ModuleType

import pytest

from bot.actions import forward_job, restore_job_only, restore_lost_commits, rewind_table_and_job
from bot.domain.errors import Refused
from bot.domain.own_points import said_of_rows
from bot.domain.snapshot import OF_OTHERS, REPAIR
from tests.actions.scene import ProposalState, Scene
from tests.actions.test_put_back import carried
from tests.actions.test_put_back_of_others import SPARK, with_apart
from tests.actions.test_rewinds_over_repairs import goes_to
from tests.actions.test_rows_of_repairs import AGAIN, BEFORE, is_recovered, known
from tests.actions.test_stops_above_repairs import picks
from tests.tables import job, rows

REPAIRED = {"engine-name": "waterline", REPAIR: "01X/3"}


def is_lost_and_picked(scene: Scene, positions: range) -> None:
    """The repair at the head, which somebody rolls back to 3 and picks."""
    lost = scene.table.head
    assert lost is not None
    scene.rolls_back(to=scene.snapshot("a", 3))
    scene.commits(rows(range(800, 803)), SPARK)
    picks(scene, lost, positions)


@pytest.fixture
def ended(scene: Scene) -> Scene:
    """Run a has left savepoint 3."""
    scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    return scene


def recovered_and_picked(scene: Scene) -> None:
    """A repair had recovered checkpoint 4, which savepoint 3 does not hold."""
    is_recovered(scene, written=datetime.now(UTC), of=[(job("a"), 4)])
    is_lost_and_picked(scene, range(30, 40))


def both_put_back_and_picked(scene: Scene) -> None:
    """A repair had put back ten rows of the job and the three of a backfill."""
    scene.backfill_commits()
    backfill = scene.table.head
    scene.rolls_back(to=scene.snapshot("a", 3))
    told = {**REPAIRED, OF_OTHERS: str(backfill), **said_of_rows((), [datetime.now(UTC)])}
    scene.commits(rows([*range(30, 40), *range(900, 903)]), told)
    is_lost_and_picked(scene, range(30, 43))


@pytest.mark.parametrize("action", [forward_job, restore_job_only], ids=["forward_job", "restore_job_only"])
def test_no_start_from_below_the_rows_of_the_repair(ended: Scene, action: ModuleType) -> None:
    """Positions 30 to 39 follow on savepoint 3: the job reads them again."""
    recovered_and_picked(ended)

    with pytest.raises(Refused) as refused:
        action.propose(known(ended))

    assert AGAIN in refused.value.found


def test_a_state_that_holds_the_rows_is_started_from(scene: Scene) -> None:
    """Checkpoint 2's manifest had been recovered, which savepoint 3 has behind it."""
    scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    is_recovered(scene, written=BEFORE, of=[(job("a"), 2)], positions=range(900, 910))
    is_lost_and_picked(scene, range(900, 910))
    plan = known(scene)

    view = scene.carries_out(restore_job_only.propose(plan), plan)

    assert view.state is ProposalState.APPLIED


def test_a_pick_of_a_replay_stands_in_no_way(ended: Scene) -> None:
    """As the replay itself: it says of no row that Flink had written it."""
    ended.commits(rows(range(900, 903)), REPAIRED)
    is_lost_and_picked(ended, range(900, 903))
    plan = known(ended)

    view = ended.carries_out(restore_job_only.propose(plan), plan)

    assert view.state is ProposalState.APPLIED


def test_a_rewind_takes_it_off_whose_rows_the_job_reads_again(ended: Scene) -> None:
    """As the refused start advises; the load below it is another writer's."""
    recovered_and_picked(ended)
    plan = ended.plan(last_good=ended.table.head).model_copy(update={"drops_others": True})

    view = ended.carries_out(rewind_table_and_job.propose(plan), plan)

    assert [each.writer for each in view.proposal.preview.others] == ["spark application local-18"]
    assert view.state is ProposalState.APPLIED
    assert list(range(len(ended.positions()))) == ended.positions()


def test_a_rewind_asks_before_rows_go_that_its_state_has_behind_it(ended: Scene) -> None:
    """The job does not read checkpoint 2 again."""
    is_recovered(ended, written=BEFORE, of=[(job("a"), 2)], positions=range(900, 910))
    is_lost_and_picked(ended, range(900, 910))

    with pytest.raises(Refused, match="10 rows in 1 commit of spark"):
        rewind_table_and_job.propose(ended.plan(last_good=ended.snapshot("a", 3)))


def test_a_rewind_names_of_a_mixed_one_the_rows_of_the_others(ended: Scene) -> None:
    """The job reads its own again."""
    both_put_back_and_picked(ended)

    with pytest.raises(Refused, match=r"and 3 rows in 1 commit of spark \("):
        rewind_table_and_job.propose(ended.plan(last_good=ended.snapshot("a", 3)))


def test_it_stays_under_a_rewind_to_it_where_the_point_holds_its_rows(ended: Scene) -> None:
    """Nothing of checkpoint 2 is read again; then a run began without state."""
    is_recovered(ended, written=BEFORE, of=[(job("a"), 2)], positions=range(900, 910))
    lost = ended.table.head
    assert lost is not None
    ended.rolls_back(to=ended.snapshot("a", 3))
    picks(ended, lost, range(900, 910))
    good = ended.table.head
    ended.flink.submit(job("b"), at_checkpoint=0)
    ended.flink.checkpoints(job("b"), 2)

    proposal = rewind_table_and_job.propose(ended.plan(last_good=good, wrong_run=job("b")))

    assert goes_to(proposal) == good


@pytest.mark.parametrize("is_mixed", [False, True])
def test_lost_once_more_it_is_others_only_where_the_repair_was(ended: Scene, *, is_mixed: bool) -> None:
    """Put back, its rows are the job's as the repair had said, and those of a backfill that came with them are not."""
    (both_put_back_and_picked if is_mixed else recovered_and_picked)(ended)
    pick = ended.table.head
    ended.rolls_back(to=ended.snapshot("a", 3))
    ended.commits(rows(range(810, 813)), SPARK)

    keys = carried(restore_lost_commits.propose(with_apart(ended.plan())))

    assert is_mixed is (str(pick) in keys[OF_OTHERS].split(","))
