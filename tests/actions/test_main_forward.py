"""Main is set forward to all that it lost; commits that were lost and read again."""

from collections.abc import Callable

import pytest
from pyiceberg.io.pyarrow import _dataframe_to_data_files

from bot.actions import restore_lost_commits
from bot.actions.restore_lost_commits import not_read_again
from bot.domain.action import Plan
from bot.domain.diagnosis import Case
from bot.domain.effects import MoveTable, StartJob, StopJob
from bot.domain.errors import Refused
from bot.domain.evidence import Observation
from bot.domain.flink import CheckpointKind, CheckpointSettings
from bot.domain.ids import CheckpointId, short
from bot.domain.ledger import Ledger, LedgerRow, Sink
from bot.domain.looked import NotSeen
from bot.domain.own_points import said_of_rows
from bot.domain.snapshot import REPAIR
from bot.domain.table import Snapshot, Window
from tests import orders_table
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


NOBODY = NotSeen(source="nobody", reason="Nobody has looked.", remedy="Look.")
LOST = tuple(s for s in orders_table.snapshots() if s.job_id == orders_table.RUN_A)[-2:]
LATER = tuple(s for s in orders_table.snapshots() if s.job_id == orders_table.RUN_B)
Ends = tuple[int, int]


def case(lost: list[Ends], later: list[Ends], *, partition: str | None = None, sink: Sink = Sink.OTHER) -> Case:
    """Run A's last commits are lost, run B's are on main, with these positions each."""
    told = {row.snapshot_id: row for row in orders_table.ledger().rows}

    def row(snapshot: Snapshot, ends: Ends, *, on_main: bool) -> LedgerRow:
        low, high = ends
        update = {"on_main": on_main, "position_from": low, "position_until": high, "sink": sink}
        return told[snapshot.snapshot_id].model_copy(update=update)

    rows = [row(s, ends, on_main=False) for s, ends in zip(LOST, lost, strict=True)]
    rows += [row(s, ends, on_main=True) for s, ends in zip(LATER, later, strict=False)]
    return Case(
        observation=Observation(table=orders_table.table_state(), jobs=NOBODY, checkpoints=NOBODY, reads=NOBODY),
        window=Window(since=None, until=orders_table.HEAD),
        contract=orders_table.contract().model_copy(update={"position_partition": partition}),
        job_name=orders_table.JOB,
        ledger=Ledger(rows=tuple(rows), readers_known=True),
    )


def test_of_several_partitions_an_overlap_proves_nothing() -> None:
    """One partition stands at 100, another at five million: the ranges of any two commits overlap."""
    seen = case([(100, 5_000_099), (150, 5_000_149)], [(200, 5_000_199)], partition="source_partition")

    with pytest.raises(Refused, match=r"cannot be determined.*several partitions"):
        not_read_again(seen, LOST)


def test_of_several_partitions_no_part_is_proposed_silently() -> None:
    """The first of two is apart from what came since; whether the second one is nobody can tell."""
    seen = case([(100, 199), (200, 405)], [(400, 505)], partition="source_partition")

    with pytest.raises(Refused, match=f"The range of {short(LOST[1].snapshot_id)} overlaps"):
        not_read_again(seen, LOST)


def test_of_several_partitions_ranges_that_are_apart_prove_it() -> None:
    """Whatever partition a position is of."""
    seen = case([(100, 199), (200, 299)], [(300, 399)], partition="source_partition")

    assert not_read_again(seen, LOST) == (tuple(s.snapshot_id for s in LOST), ())


def test_a_commit_that_was_read_again_stays_out_and_is_named() -> None:
    """Of a source of one partition positions prove it."""
    wanted, left_out = not_read_again(case([(100, 199), (200, 299)], [(250, 349)]), LOST)

    assert wanted == (LOST[0].snapshot_id,)
    [said] = left_out
    assert said.startswith(f"Lost commit {short(LOST[1].snapshot_id)} stays out: {short(LATER[0].snapshot_id)} brought")


def test_all_of_them_read_again_leaves_nothing_to_restore() -> None:
    """Later commits cover every position, together."""
    with pytest.raises(Refused, match="Nothing needs to be restored"):
        not_read_again(case([(100, 199), (200, 299)], [(100, 159), (160, 400)]), LOST)


def test_parts_of_all_of_them_read_again_leave_something_missing() -> None:
    """Positions 200 to 249 are on main no more."""
    with pytest.raises(Refused, match="in part, and their files can only be added whole"):
        not_read_again(case([(100, 199), (200, 299)], [(100, 199), (250, 349)]), LOST)


def test_a_compaction_has_read_nothing_again() -> None:
    """Its files span what was below and above the lost commits."""
    wanted, left_out = not_read_again(case([(100, 199), (200, 299)], [(0, 400)], sink=Sink.COMPACTION), LOST)

    assert (wanted, left_out) == (tuple(s.snapshot_id for s in LOST), ())


def test_what_the_job_has_not_come_to_yet_is_left_to_it() -> None:
    """It was restored from below the rollback, and reads on: put back now, these rows would be there twice."""
    with pytest.raises(Refused, match=r"committed up to position 99, and .* reach above that"):
        not_read_again(case([(100, 199), (200, 299)], [(50, 99)]), LOST)


def test_what_it_has_begun_to_read_again_keeps_back_what_follows() -> None:
    """The first of two was read again in part, and the job will come to the second."""
    with pytest.raises(Refused, match=f"and {short(LOST[1].snapshot_id)} reach"):
        not_read_again(case([(100, 199), (200, 299)], [(100, 149)]), LOST)


def test_what_it_has_passed_over_is_put_back_without_what_it_has_not() -> None:
    """Position 250 was committed since; the commit that reaches to 299 stays out, and is named."""
    wanted, left_out = not_read_again(case([(100, 199), (260, 299)], [(200, 250)]), LOST)

    assert wanted == (LOST[0].snapshot_id,)
    [said] = left_out
    assert f"Lost commit {short(LOST[1].snapshot_id)} stays out" in said
    assert "up to position 250" in said


def test_of_several_partitions_nobody_is_told_to_wait_for_what_may_never_come() -> None:
    """Since the rollback only another partition has committed: the job may have passed these rows by."""
    seen = case([(100, 150), (151, 200)], [(0, 50)], partition="source_partition")

    with pytest.raises(Refused, match=r"cannot be determined.*may have skipped those rows or may still read them"):
        not_read_again(seen, LOST)
