"""Main is set forward to all that it has lost, also what only took rows away, and from a state that pairs there."""

from collections.abc import Callable

import pytest
from pyiceberg.io.pyarrow import _dataframe_to_data_files

from bot.actions import restore_lost_commits
from bot.domain.action import Plan
from bot.domain.effects import MoveTable, StartJob, StopJob
from bot.domain.errors import Refused
from bot.domain.flink import CheckpointKind, CheckpointSettings
from bot.domain.ids import CheckpointId
from bot.domain.own_points import said_of_rows
from bot.domain.snapshot import REPAIR
from tests.actions.scene import ProposalState, Scene
from tests.actions.test_put_back import with_ledger
from tests.little_flink import open_catalog
from tests.tables import ORDERS, job, rows

A = job("a")


@pytest.fixture
def five(scene: Scene) -> Scene:
    """Run a has committed checkpoints 1 to 5 and left savepoint 5."""
    scene.flink.checkpoints(A, 2)
    scene.flink.savepoint(A)
    return scene


def deletes(scene: Scene, condition: str) -> None:
    """Another engine takes rows away."""
    catalog = open_catalog(scene.folder)
    catalog.load_table(ORDERS).delete(condition, snapshot_properties={"engine-name": "spark"})
    catalog.close()


def rewrites(scene: Scene) -> None:
    """Another engine writes all rows into other files."""
    catalog = open_catalog(scene.folder)
    table = catalog.load_table(ORDERS)
    old = [each.file for each in table.scan().plan_files()]
    new = list(_dataframe_to_data_files(table.metadata, table.scan().to_arrow(), table.io))
    with table.transaction() as change, change.update_snapshot({"engine-name": "spark"}).overwrite() as files:
        for each in old:
            files.delete_data_file(each)
        for each in new:
            files.append_data_file(each)
    catalog.close()


def kept_on_cancel(plan: Plan) -> Plan:
    """The point is a retained checkpoint of the run that is alive, which Flink keeps when that is cancelled."""
    held = plan.case.pairing.pairings if plan.case.pairing else ()
    retained = {"is_durable": False, "checkpoint_kind": CheckpointKind.CHECKPOINT}
    pairing = plan.case.pairing.model_copy(update={"pairings": tuple(p.model_copy(update=retained) for p in held)})
    jobs = plan.case.observation.jobs
    told = {"settings": CheckpointSettings(mode="exactly_once", survives_cancel=True)}
    seen = jobs.model_copy(update={"values": tuple(run.model_copy(update=told) for run in jobs.values)})
    world = plan.case.observation.model_copy(update={"jobs": seen})
    return plan.model_copy(update={"case": plan.case.model_copy(update={"pairing": pairing, "observation": world})})


def test_what_took_rows_away_comes_back_as_well(five: Scene) -> None:
    """The newest commit that main has lost is a DELETE: its rows do not live again."""
    five.flink.ends(A, "FAILED")
    deletes(five, "source_position < 10")
    lost = five.table.head
    five.rolls_back(to=five.snapshot("a", 3))
    plan = with_ledger(five.plan())

    proposal = restore_lost_commits.propose(plan)
    view = five.carries_out(proposal, plan)

    assert [each.to for each in proposal.effects if isinstance(each, MoveTable)] == [lost]
    assert "brings 20 rows back and removes 10 again" in proposal.preview.sentences[0]
    assert view.state is ProposalState.APPLIED
    assert five.positions() == list(range(10, 70))


def test_what_took_rows_away_is_not_left_out_silently(five: Scene) -> None:
    """Above a backfill files can only be added: what deletes cannot be put back so, and is named."""
    five.flink.ends(A, "FAILED")
    deletes(five, "source_position < 10")
    five.rolls_back(to=five.snapshot("a", 3))
    five.backfill_commits()

    with pytest.raises(Refused, match=r"also removed rows \(delete, 10 rows\)"):
        restore_lost_commits.propose(with_ledger(five.plan()))


@pytest.mark.parametrize("last", [rewrites, Scene.backfill_commits], ids=["rewritten", "backfilled"])
def test_a_state_that_pairs_below_the_newest_of_them_is_enough(five: Scene, last: Callable[[Scene], None]) -> None:
    """Another engine came last: the sink passes over its commit."""
    five.flink.ends(A, "FINISHED")
    last(five)
    lost = five.table.head
    five.rolls_back(to=five.snapshot("a", 3))

    proposal = restore_lost_commits.propose(with_ledger(five.plan()))

    assert [each.to for each in proposal.effects if isinstance(each, MoveTable)] == [lost]
    assert [each.checkpoint_id for each in proposal.effects if isinstance(each, StartJob)] == [5]


def test_a_run_that_restarts_for_ever_is_cancelled_and_started_from_what_it_keeps(five: Scene) -> None:
    """Its retained checkpoint pairs with what main has lost; a savepoint cannot be taken."""
    five.flink.breaks(A)
    five.rolls_back(to=five.snapshot("a", 3))

    proposal = restore_lost_commits.propose(kept_on_cancel(with_ledger(five.plan())))

    assert [each.keeps_checkpoints for each in proposal.effects if isinstance(each, StopJob)] == [True]
    assert any("by a cancel, without a savepoint" in each for each in proposal.preview.sentences)


def test_without_a_state_that_pairs_there_it_is_said_what_was_found(five: Scene) -> None:
    """Savepoint 5 is all there is, and main would end with a commit that it does not hold."""
    five.flink.checkpoints(A)
    five.flink.ends(A, "FAILED")
    five.rolls_back(to=five.snapshot("a", 3))

    with pytest.raises(Refused, match=r"can be moved forward to .* but the job cannot be started there") as refused:
        restore_lost_commits.propose(with_ledger(five.plan()))

    assert "savepoint-aaaaaa-000000000005: paired" in refused.value.found


def test_a_repair_among_them_counts(five: Scene) -> None:
    """What it had recovered is no part of the savepoint below it."""
    five.flink.ends(A, "FAILED")
    told = said_of_rows([(A, CheckpointId(6))], [five.table.read_at])
    five.commits(rows(range(50, 60)), {"engine-name": "waterline", REPAIR: "01X/3", **told})
    five.rolls_back(to=five.snapshot("a", 3))

    with pytest.raises(Refused, match="added rows that this state does not know"):
        restore_lost_commits.propose(with_ledger(five.plan()))
