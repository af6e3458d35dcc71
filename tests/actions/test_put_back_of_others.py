"""Lost commits of other writers that are put back: no job brings their rows, and a rewind asks before they go."""

from datetime import UTC, datetime

import pytest

from bot.actions import restore_job_only, restore_lost_commits, rewind_table_and_job
from bot.domain.action import Plan
from bot.domain.effects import ChangeFiles
from bot.domain.errors import Refused
from bot.domain.own_points import said_of_rows
from bot.domain.snapshot import OF_OTHERS, REPAIR, WRITTEN_FROM
from tests.actions.scene import ProposalState, Scene
from tests.actions.test_put_back import carried, with_ledger
from tests.actions.test_rows_of_repairs import BEFORE, is_recovered, known
from tests.tables import job, rows

SPARK = {"engine-name": "spark", "spark.app.id": "local-18"}


def with_apart(plan: Plan) -> Plan:
    """The ledger tells of each Spark commit a source range of its own."""
    told = with_ledger(plan)
    assert told.case.ledger is not None
    apart = tuple(
        row
        if row.checkpoint_id
        else row.model_copy(update={"position_from": 2000 + 10 * at, "position_until": 2002 + 10 * at})
        for at, row in enumerate(told.case.ledger.rows)
    )
    ledger = told.case.ledger.model_copy(update={"rows": apart})
    return told.model_copy(update={"case": told.case.model_copy(update={"ledger": ledger})})


@pytest.fixture
def backfill_lost(scene: Scene) -> Scene:
    """Run a ended with savepoint 3; a Spark backfill came above it and was rolled back, and another one came."""
    scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FINISHED")
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

    with pytest.raises(Refused) as refused:
        rewind_table_and_job.propose(plan)

    assert "3 rows in 1 commit of approved repairs" in refused.value.found


@pytest.mark.parametrize("is_held", [True, False])
def test_a_rewind_counts_the_jobs_rows_too_where_its_state_holds_them(scene: Scene, *, is_held: bool) -> None:
    """One repair has put back ten rows of the job, which it may read again or not, and the three of a backfill."""
    scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    scene.backfill_commits()
    backfill = scene.table.head
    scene.rolls_back(to=scene.snapshot("a", 3))
    told = said_of_rows((), [BEFORE if is_held else datetime.now(UTC)])
    repaired = {"engine-name": "waterline", REPAIR: "01X/3", OF_OTHERS: str(backfill), **told}
    scene.commits(rows([*range(30, 40), *range(900, 903)]), repaired)

    with pytest.raises(Refused) as refused:
        rewind_table_and_job.propose(scene.plan(last_good=scene.snapshot("a", 3)))

    assert f"found {13 if is_held else 3} rows in 1 commit of approved repairs" in refused.value.found


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
    scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    written = datetime.now(UTC)
    is_recovered(scene, written=written, of=[(job("a"), 4)])
    scene.rolls_back(to=scene.snapshot("a", 3))
    scene.commits(rows(range(800, 803)), SPARK)

    keys = carried(restore_lost_commits.propose(with_apart(scene.plan())))
    scene.commits(rows(range(30, 40)), {**keys, "engine-name": "waterline", REPAIR: "01Y/3"})

    assert OF_OTHERS not in keys
    with pytest.raises(Refused, match="the job would write them again"):
        restore_job_only.propose(known(scene))


def test_what_a_writer_had_published_is_its_own(scene: Scene) -> None:
    """Write-audit-publish: its staged commit has expired, and was never the job's."""
    scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
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
    assert change.gone_on is not None
    assert change.gone_on.above == scene.table.head
    assert WRITTEN_FROM in change.gone_on.carries
    assert not any(key.startswith("flink.") for key in change.gone_on.carries)
