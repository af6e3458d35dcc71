"""Lost commits that are put back: whose keys they carry, and picks of lost repairs."""

from datetime import UTC, datetime
from types import ModuleType

import pytest

from bot.actions import restore_job_only, restore_lost_commits, roll_back_table_and_restore_job
from bot.actions._support.staging import said_of_rows
from bot.incident.action import Action, Plan
from bot.incident.effects import ChangeFiles
from bot.observation.errors import Refused
from bot.observation.snapshot import OF_OTHERS, REPAIR, WRITTEN_FROM
from tests.actions.plans import answering
from tests.actions.scene import ProposalState, Scene, refusal
from tests.actions.test_main_forward import carried, with_ledger
from tests.actions.test_rewinds import goes_to
from tests.actions.test_rows_of_repairs import AGAIN, BEFORE, ON_HEAD, is_recovered, known, picks
from tests.tables import job, rows

SPARK = {"engine-name": "spark", "spark.app.id": "local-18"}


def with_apart(plan: Plan) -> Plan:
    """The ledger tells of each Spark commit a source range of its own."""
    told = with_ledger(plan)
    apart = tuple(
        row
        if row.checkpoint_id
        else row.model_copy(update={"position_from": 2000 + 10 * at, "position_until": 2002 + 10 * at})
        for at, row in enumerate(told.case.ledger.rows)
    )
    return answering(told, ledger=told.case.ledger.model_copy(update={"rows": apart}))


@pytest.fixture
def backfill_lost(scene: Scene) -> Scene:
    """Run a ended with savepoint 3; a Spark backfill came above it and was rolled back, and another one came."""
    scene.flink.ends_with_savepoint(job("a"), "FINISHED")
    scene.backfill_commits()
    scene.rolls_back(to=scene.snapshot("a", 3))
    scene.commits(rows(range(800, 803)), SPARK)
    return scene


def puts_back(scene: Scene) -> None:
    """What the proposal carries stands on main."""
    keys = carried(restore_lost_commits.propose(with_apart(scene.plan())))
    scene.commits(rows(range(900, 903)), {**keys, "engine-name": "waterline", REPAIR: "01X/3"})


def test_the_job_can_be_started_above_a_backfill_that_was_put_back(backfill_lost: Scene) -> None:
    """It brings none of its rows."""
    puts_back(backfill_lost)
    plan = known(backfill_lost)

    view = backfill_lost.carries_out(restore_job_only.propose(plan), plan)

    assert view.state is ProposalState.APPLIED
    assert backfill_lost.positions().count(900) == 1


def test_a_rewind_asks_before_a_backfill_that_was_put_back_goes(backfill_lost: Scene) -> None:
    """Beside the other one."""
    puts_back(backfill_lost)
    backfill_lost.flink.submit(job("b"), at_checkpoint=0)
    backfill_lost.flink.checkpoints(job("b"), 1)
    plan = backfill_lost.plan(last_good=backfill_lost.snapshot("a", 3), wrong_run=job("b"))

    refused = refusal(roll_back_table_and_restore_job, plan)

    assert "3 rows in 1 commit of approved repairs" in refused.found


@pytest.mark.parametrize("is_held", [True, False])
def test_a_rewind_counts_the_jobs_rows_too_where_its_state_holds_them(scene: Scene, *, is_held: bool) -> None:
    """One repair has put back ten rows of the job, which it may read again or not, and the three of a backfill."""
    scene.flink.ends_with_savepoint(job("a"))
    scene.backfill_commits()
    backfill = scene.table.head
    scene.rolls_back(to=scene.snapshot("a", 3))
    told = said_of_rows((), [BEFORE if is_held else datetime.now(UTC)])
    repaired = {"engine-name": "waterline", REPAIR: "01X/3", OF_OTHERS: str(backfill), **told}
    scene.commits(rows([*range(30, 40), *range(900, 903)]), repaired)

    refused = refusal(roll_back_table_and_restore_job, scene.plan(last_good=scene.snapshot("a", 3)))

    assert f"found {13 if is_held else 3} rows in 1 commit of approved repairs" in refused.found


def test_what_comes_back_of_both_says_so(scene: Scene) -> None:
    """Commits 4 and 5 of the job, with a backfill between them."""
    scene.flink.checkpoints(job("a"), 1)
    scene.backfill_commits()
    backfill = scene.table.head
    scene.flink.checkpoints(job("a"), 1)
    scene.flink.ends(job("a"), "FAILED")
    scene.rolls_back(to=scene.snapshot("a", 3))
    scene.commits(rows(range(800, 803)), SPARK)

    keys = carried(restore_lost_commits.propose(with_apart(scene.plan())))

    assert keys["flink.max-committed-checkpoint-id"] == "5"
    assert keys[OF_OTHERS] == str(backfill)


def test_a_lost_repair_says_again_when_its_rows_were_written(scene: Scene) -> None:
    """They are the job's, though a repair had brought them: a state from before them brings them a second time."""
    scene.flink.ends_with_savepoint(job("a"))
    written = datetime.now(UTC)
    is_recovered(scene, written=written, of=[(job("a"), 4)])
    scene.rolls_back(to=scene.snapshot("a", 3))
    scene.commits(rows(range(800, 803)), SPARK)

    keys = carried(restore_lost_commits.propose(with_apart(scene.plan())))
    scene.commits(rows(range(30, 40)), {**keys, "engine-name": "waterline", REPAIR: "01Y/3"})

    assert OF_OTHERS not in keys
    with pytest.raises(Refused, match="on the table as it is would bring rows of repair"):
        restore_job_only.propose(known(scene))


def test_what_a_writer_had_published_is_its_own(scene: Scene) -> None:
    """Write-audit-publish: its staged commit has expired, and was never the job's."""
    scene.flink.ends_with_savepoint(job("a"))
    scene.commits(rows(range(900, 903)), {**SPARK, "source-snapshot-id": "4242", "published-wap-id": "audit-7"})
    scene.rolls_back(to=scene.snapshot("a", 3))
    scene.commits(rows(range(800, 803)), SPARK)

    keys = carried(restore_lost_commits.propose(with_apart(scene.plan())))

    assert OF_OTHERS in keys
    assert WRITTEN_FROM not in keys


def loses_two(scene: Scene) -> None:
    """Main is set back to 3 under run a, and somebody commits."""
    scene.flink.checkpoints(job("a"), 2)
    scene.rolls_back(to=scene.snapshot("a", 3))
    scene.commits(rows(range(800, 803)), SPARK)


def test_keys_go_with_it_only_if_the_run_commits_nothing_until_it_stands_still(scene: Scene) -> None:
    """Its stop may commit checkpoint 6, and the sink would find 5 above it: it would look for what is gone."""
    loses_two(scene)
    proposal = restore_lost_commits.propose(with_apart(scene.plan()))

    [change] = [each for each in proposal.effects if isinstance(each, ChangeFiles)]

    assert change.carries["flink.max-committed-checkpoint-id"] == "5"
    assert change.gone_on.above == scene.table.head
    assert WRITTEN_FROM in change.gone_on.carries
    assert not any(key.startswith("flink.") for key in change.gone_on.carries)


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
    scene.flink.ends_with_savepoint(job("a"))
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


@ON_HEAD
def test_no_start_from_below_the_rows_of_the_repair(ended: Scene, action: ModuleType) -> None:
    """Positions 30 to 39 follow on savepoint 3: the job reads them again."""
    recovered_and_picked(ended)

    refused = refusal(action, known(ended))

    assert AGAIN in refused.found


def test_a_state_that_holds_the_rows_is_started_from(scene: Scene) -> None:
    """Checkpoint 2's manifest had been recovered, which savepoint 3 has behind it."""
    scene.flink.ends_with_savepoint(job("a"))
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

    view = ended.carries_out(roll_back_table_and_restore_job.propose(plan), plan)

    assert [each.writer for each in view.proposal.preview.others] == ["spark application local-18"]
    assert view.state is ProposalState.APPLIED
    assert list(range(len(ended.positions()))) == ended.positions()


def test_a_rewind_asks_before_rows_go_that_its_state_has_behind_it(ended: Scene) -> None:
    """The job does not read checkpoint 2 again."""
    is_recovered(ended, written=BEFORE, of=[(job("a"), 2)], positions=range(900, 910))
    is_lost_and_picked(ended, range(900, 910))

    with pytest.raises(Refused, match="10 rows in 1 commit of spark"):
        roll_back_table_and_restore_job.propose(ended.plan(last_good=ended.snapshot("a", 3)))


def test_a_rewind_names_of_a_mixed_one_the_rows_of_the_others(ended: Scene) -> None:
    """The job reads its own again."""
    both_put_back_and_picked(ended)

    with pytest.raises(Refused, match=r"and 3 rows in 1 commit of spark \("):
        roll_back_table_and_restore_job.propose(ended.plan(last_good=ended.snapshot("a", 3)))


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

    proposal = roll_back_table_and_restore_job.propose(ended.plan(last_good=good, wrong_run=job("b")))

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


A = job("a")
KEYS_SPARK = {"engine-name": "spark", "spark.app.id": "local-17"}


@pytest.mark.parametrize("is_backfilled", [False, True])
@ON_HEAD
def test_a_backfill_above_the_lost_commits_does_not_hide_them_from_the_next_start(
    scene: Scene, is_backfilled: bool, action: Action
) -> None:
    """Without the keys savepoint 3 paired with the head, and a start from it read again what had been put back."""
    scene.flink.savepoint(A)
    scene.flink.checkpoints(A, 2)
    scene.flink.ends_with_savepoint(A, "FINISHED")
    if is_backfilled:
        scene.backfill_commits()
    scene.rolls_back(to=scene.snapshot("a", 3))
    scene.commits(rows(range(800, 803)), KEYS_SPARK)
    keys = carried(restore_lost_commits.propose(with_ledger(scene.plan())))
    repair = {"engine-name": "waterline", REPAIR: "01X/3", "waterline.incident": scene.incident}
    scene.commits(rows(range(30, 50)), {**keys, **repair})

    scene.does(action)

    assert keys["flink.max-committed-checkpoint-id"] == "5"
    positions = scene.positions()
    assert len(positions) == len(set(positions))
