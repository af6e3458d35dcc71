"""Main is set forward to what it lost, and lost commits are put back."""

from collections.abc import Callable
from types import ModuleType

import pytest
from pyiceberg.io.pyarrow import _dataframe_to_data_files

from bot.actions import restart_with_new_job_id, restore_job_at_head, restore_job_only, restore_lost_commits
from bot.actions._support.restore_points import newest_pair, newest_that_pairs
from bot.actions._support.staging import said_of_rows
from bot.actions.restore_lost_commits import not_read_again
from bot.history.case import Case
from bot.history.other_jobs import without_put_back
from bot.history.restore import Restores
from bot.incident.action import Plan
from bot.incident.effects import ChangeFiles, MoveTable, StartJob, StopJob
from bot.incident.proposal import Proposal
from bot.observation.errors import Refused
from bot.observation.evidence import Observation
from bot.observation.file_changes import FileList, FileSources, FileSurvey
from bot.observation.findings import PairVerdict
from bot.observation.flink import CheckpointKind, CheckpointSettings
from bot.observation.ids import CheckpointId, short
from bot.observation.ledger import Ledger, LedgerRow, Sink, SourceRange, row_of
from bot.observation.looked import NotSeen
from bot.observation.snapshot import REPAIR
from bot.observation.table import Snapshot, TableState, Window
from tests import orders_table
from tests.actions.plans import answering, seeing
from tests.actions.scene import ProposalState, Scene, savepoint_of, starts_from
from tests.little_flink import JOB
from tests.tables import ORDERS, job, of_flink, rows

A, C = job("a"), job("c")
FROM_A_PAIR = [restore_job_at_head, restore_job_only, restart_with_new_job_id]


@pytest.fixture
def rolled_back(scene: Scene) -> Scene:
    """Run a has committed checkpoints 1 to 5 and ended, somebody has set main back to 3. Its savepoint 6 holds no files
    of its own."""
    scene.flink.checkpoints(A, 2)
    scene.flink.stands_at(A, 6)
    scene.flink.ends(A, "FINISHED")
    scene.flink.savepoint(A)
    scene.rolls_back(to=scene.snapshot("a", 3))
    return scene


def goes_on(scene: Scene) -> None:
    """The job goes on as run c from a's savepoint 6, above the hole."""
    scene.flink.submit(C, at_checkpoint=6, restored=savepoint_of(scene, "a", 6))
    scene.flink.checkpoints(C, 3)


def puts_back(scene: Scene) -> None:
    """A repair that carries the keys of a's newest lost commit is published, as by an earlier version."""
    summary = {**of_flink("a", 5), "engine-name": "waterline", REPAIR: "01X/3", "waterline.incident": scene.incident}
    scene.commits(rows(range(30, 50)), summary)


def with_ledger(plan: Plan) -> Plan:
    """With the source positions of each commit, ten a checkpoint, and files that can be added again."""
    table, added = plan.case.observation.table, FileSources(added_by=())
    files = FileList(sources=added, files=2, rows=20, bytes=9, digest="d")
    plan = answering(plan, ledger=Ledger(rows=_ledger(table), readers_known=True))
    return plan.model_copy(update={"survey": lambda *_sources: FileSurvey(add=files, remove=None), "branches": ()})


def _ledger(table: TableState) -> tuple[LedgerRow, ...]:
    return tuple(
        row_of(table, s).model_copy(
            update={
                "position_from": ((s.checkpoint_id or 100) - 1) * 10,
                "position_until": (s.checkpoint_id or 100) * 10 - 1,
            }
        )
        for s in table.snapshots
    )


def carried(proposal: Proposal) -> dict[str, str]:
    """What the repair's commit will say of Flink."""
    return dict(next(e.carries for e in proposal.effects if isinstance(e, ChangeFiles)))


def test_keys_are_carried_where_the_job_has_not_gone_on(rolled_back: Scene) -> None:
    """A run that looks for checkpoint 5 finds it committed, and not the manifest that is gone."""
    rolled_back.backfill_commits()

    proposal = restore_lost_commits.propose(with_ledger(rolled_back.plan()))

    assert carried(proposal)["flink.max-committed-checkpoint-id"] == "5"


def test_no_key_is_carried_above_commits_of_a_later_run(rolled_back: Scene) -> None:
    """They would say that a's state pairs with a head that has rows of run c."""
    goes_on(rolled_back)

    proposal = restore_lost_commits.propose(with_ledger(rolled_back.plan()))

    assert not any(key.startswith("flink.") for key in carried(proposal))


def test_it_is_refused_where_the_job_fails_for_want_of_them(rolled_back: Scene) -> None:
    """Then putting rows back would not let it restart; what does is said."""
    goes_on(rolled_back)
    plan = with_ledger(rolled_back.plan())
    looks_for_a_manifest = plan.model_copy(update={"mode": plan.mode.model_copy(update={"code": "F7"})})

    with pytest.raises(Refused, match=r"Found .*, committed by Flink run cccccc \(checkpoint 9\).*checkpoint_pairing"):
        restore_lost_commits.propose(looks_for_a_manifest)


@pytest.mark.parametrize("is_forgotten", [False, True], ids=["listed", "forgotten"])
@pytest.mark.parametrize("action", FROM_A_PAIR, ids=lambda a: a.ACTION.name)
def test_after_a_repair_the_job_goes_on_from_its_newest_run(
    rolled_back: Scene, action: ModuleType, is_forgotten: bool
) -> None:
    """Not from the run whose keys an earlier version has put above that one's commits; also where Flink has forgotten
    both."""
    goes_on(rolled_back)
    rolled_back.flink.stop(JOB, C, needs_state=True)
    puts_back(rolled_back)
    for run in (A, C) if is_forgotten else ():
        rolled_back.flink.forgets(run)

    view = rolled_back.does(action)

    assert str(savepoint_of(rolled_back, "c", 9)) == starts_from(view.proposal)
    assert view.state is ProposalState.APPLIED
    assert rolled_back.positions() == [*range(50), *range(60, 110)]


def test_the_last_step_of_a_repair_finds_what_its_own_stop_has_left(rolled_back: Scene) -> None:
    """The publication starts the job from there, on top of what was put back."""
    goes_on(rolled_back)
    rolled_back.flink.stop(JOB, C, needs_state=True)
    puts_back(rolled_back)

    point = newest_that_pairs(rolled_back.observer.clients.world(ORDERS), JOB, C)

    assert CheckpointId(9) == point.checkpoint_id


def test_a_state_of_the_lost_run_belongs_to_the_lost_commit(rolled_back: Scene) -> None:
    """Evidence and refusals say so of each point, and why it does not pair with the head."""
    goes_on(rolled_back)
    puts_back(rolled_back)
    case = rolled_back.plan().case

    [six] = [each for each in Restores(case).in_evidence if each.job_id == A]
    gone = tuple(s for s in case.observation.table.snapshots if s.snapshot_id != rolled_back.snapshot("a", 5))
    expired = rolled_back.table.model_copy(update={"snapshots": gone})
    observation = case.observation.model_copy(update={"table": expired})
    [without] = [each for _, each in Restores(case.model_copy(update={"observation": observation})).shown]

    assert six.snapshot_id == rolled_back.snapshot("a", 5)
    assert "above commits of another run, which this state does not hold; it belongs to" in six.reason
    assert (without.verdict, without.snapshot_id) == (PairVerdict.BEHIND, None)


def test_a_rewind_does_not_take_what_was_put_back_for_a_state_of_the_lost_run(rolled_back: Scene) -> None:
    """Run c's rows below it would be read again."""
    goes_on(rolled_back)
    rolled_back.flink.stop(JOB, C, needs_state=True)
    puts_back(rolled_back)
    case, head = rolled_back.plan().case, rolled_back.table.head
    assert head is not None

    point = newest_pair(case, head)

    assert rolled_back.snapshot("c", 9) == point.snapshot_id


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "a backfill below"])
def test_put_back_on_its_own_run_it_pairs_as_the_lost_one_did(rolled_back: Scene, beside: bool) -> None:
    """The job restarts from the state that looks for it."""
    if beside:
        rolled_back.backfill_commits()
    puts_back(rolled_back)

    view = rolled_back.does(restore_job_at_head)

    assert str(savepoint_of(rolled_back, "a", 6)) == starts_from(view.proposal)
    assert view.state is ProposalState.APPLIED


def test_put_back_on_the_run_before_it_pairs_too(scene: Scene) -> None:
    """Main was set back to before the first commit of the run that was lost, which had gone on from that very run."""
    scene.flink.stop(JOB, A)
    scene.flink.submit(job("b"), at_checkpoint=3, restored=savepoint_of(scene, "a", 3))
    scene.flink.checkpoints(job("b"), 2)
    scene.flink.stop(JOB, job("b"))
    scene.rolls_back(to=scene.snapshot("a", 3))
    scene.backfill_commits()

    assert carried(restore_lost_commits.propose(with_ledger(scene.plan())))["flink.job-id"] == job("b")

    scene.commits(rows(range(30, 50)), {**of_flink("b", 5), REPAIR: "01X/3"})

    assert str(savepoint_of(scene, "b", 5)) == starts_from(restore_job_at_head.propose(scene.plan()))


def test_above_commits_that_have_expired_it_speaks_for_nobody(rolled_back: Scene) -> None:
    """Any run may have gone on there; where the whole line is listed, and it is the first of Flink's, it does."""
    puts_back(rolled_back)
    newest = rolled_back.table.chain[0]
    alone = newest.model_copy(update={"summary": {**newest.summary, "total-records": "20"}, "parent_id": None})

    cut = rolled_back.table.model_copy(update={"snapshots": (newest,)})
    whole = rolled_back.table.model_copy(update={"snapshots": (alone,)})

    assert without_put_back([newest], cut) == ()
    assert without_put_back([alone], whole) == (alone,)


@pytest.fixture
def five(scene: Scene) -> Scene:
    """Run a has committed checkpoints 1 to 5 and left savepoint 5."""
    scene.flink.checkpoints(A, 2)
    scene.flink.savepoint(A)
    return scene


def deletes(scene: Scene, condition: str) -> None:
    """Another engine takes rows away."""
    with scene.by_hand() as table:
        table.delete(condition, snapshot_properties={"engine-name": "spark"})


def rewrites(scene: Scene) -> None:
    """Another engine writes all rows into other files."""
    with scene.by_hand() as table:
        old = [each.file for each in table.scan().plan_files()]
        new = list(_dataframe_to_data_files(table.metadata, table.scan().to_arrow(), table.io))
        with table.transaction() as change, change.update_snapshot({"engine-name": "spark"}).overwrite() as files:
            for each in old:
                files.delete_data_file(each)
            for each in new:
                files.append_data_file(each)


def kept_on_cancel(plan: Plan) -> Plan:
    """The point is a retained checkpoint of the run that is alive, which Flink keeps when that is cancelled."""
    held = plan.case.pairing.pairings if plan.case.pairing else ()
    retained = {"is_durable": False, "checkpoint_kind": CheckpointKind.CHECKPOINT}
    pairing = plan.case.pairing.model_copy(update={"pairings": tuple(p.model_copy(update=retained) for p in held)})
    jobs = plan.case.observation.jobs
    told = {"settings": CheckpointSettings(mode="exactly_once", survives_cancel=True)}
    seen = jobs.model_copy(update={"values": tuple(run.model_copy(update=told) for run in jobs.values)})
    return seeing(answering(plan, pairing=pairing), jobs=seen)


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

    with pytest.raises(Refused, match="on the table as it is would bring rows of repair"):
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


def test_of_several_partitions_one_range_over_all_of_them_proves_nothing() -> None:
    """One partition stands at 100, another at five million: the ranges of any two commits overlap."""
    seen = case([(100, 5_000_099), (150, 5_000_149)], [(200, 5_000_199)], partition="source_partition")

    with pytest.raises(Refused, match=r"cannot be determined.*does not tell them of each source partition"):
        not_read_again(seen, LOST)


def test_a_commit_that_was_read_again_stays_out_and_is_named() -> None:
    """Of a source of one partition positions prove it."""
    wanted, left_out = not_read_again(case([(100, 199), (200, 299)], [(250, 349)]), LOST)

    assert wanted == (LOST[0].snapshot_id,)
    [said] = left_out
    assert said.startswith(f"Lost commit {short(LOST[1].snapshot_id)} stays out: {short(LATER[0].snapshot_id)} brought")


@pytest.mark.parametrize(
    ("since", "says"),
    [
        pytest.param([(100, 159), (160, 400)], r"wholly or in part.*or diagnose again", id="all of them, together"),
        pytest.param(
            [(100, 199), (250, 349)],
            r"in part, and their files can only be added whole.*missing_positions",
            id="200 to 249 are on main no more",
        ),
        pytest.param(
            [(50, 99)], r"committed up to position 99, and .* reach above that", id="it has yet to come to them"
        ),
        pytest.param([(100, 149)], f"and {short(LOST[1].snapshot_id)} reach", id="it has begun to read them again"),
    ],
)
def test_what_was_read_again_or_will_be_is_not_put_back(since: list[tuple[int, int]], says: str) -> None:
    """Put back now, these rows would be there twice; what follows a commit that was read again in part waits, too."""
    with pytest.raises(Refused, match=says):
        not_read_again(case([(100, 199), (200, 299)], since), LOST)


def test_a_compaction_has_read_nothing_again() -> None:
    """Its files span what was below and above the lost commits."""
    wanted, left_out = not_read_again(case([(100, 199), (200, 299)], [(0, 400)], sink=Sink.COMPACTION), LOST)

    assert (wanted, left_out) == (tuple(s.snapshot_id for s in LOST), ())


def test_what_it_has_passed_over_is_put_back_without_what_it_has_not() -> None:
    """Position 250 was committed since; the commit that reaches to 299 stays out, and is named."""
    wanted, left_out = not_read_again(case([(100, 199), (260, 299)], [(200, 250)]), LOST)

    assert wanted == (LOST[0].snapshot_id,)
    [said] = left_out
    assert f"Lost commit {short(LOST[1].snapshot_id)} stays out" in said
    assert "up to position 250" in said


def test_of_several_partitions_nobody_is_told_to_wait_for_what_may_never_come() -> None:
    """Since the rollback only another partition has committed: the job may have passed these rows by."""
    seen = case([(100, 150), (151, 200)], [(0, 50)])
    rows = [
        row.model_copy(update={"ranges": (SourceRange(partition=str(row.on_main), low=low, high=low + 49, rows=50),)})
        for row, low in zip(seen.ledger.rows, (100, 151, 0), strict=True)
    ]
    contract = seen.contract.model_copy(update={"position_partition": "p"})
    seen = seen.model_copy(update={"contract": contract, "ledger": Ledger(rows=tuple(rows), readers_known=True)})

    with pytest.raises(Refused, match=r"cannot be determined.*may have skipped these rows"):
        not_read_again(seen, LOST)
