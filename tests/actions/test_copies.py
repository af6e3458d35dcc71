"""Copies are taken out only when no more of them come, and by every start of the job."""

from pathlib import Path
from typing import Any

import pytest

from bot.actions import deduplicate_rows, drop_duplicated_commit
from bot.actions._passed import may_have_come_since, must_have_passed
from bot.domain.action import Plan
from bot.domain.contract import CopyRule
from bot.domain.diagnosis import Case
from bot.domain.errors import Refused
from bot.domain.file_changes import RowsOfFile
from bot.domain.findings import (
    CopiesOfCommit,
    DuplicateCommitsFinding,
    DuplicateFilesFinding,
    ExtraCopiesFinding,
    RepeatedCommit,
)
from bot.domain.flink import CheckpointKind
from bot.domain.guests import Guests, commits_that_bind
from bot.domain.ids import JobId, SnapshotId
from bot.domain.ledger import Ledger, LedgerRow
from bot.domain.suspicion import propose_window
from tests.actions.scene import Scene
from tests.actions.test_guests import commits
from tests.little_flink import JOB
from tests.tables import job

A, B = job("a"), job("b")


@pytest.fixture
def replaying(scene: Scene) -> Scene:
    """Run b has committed nothing yet."""
    return restored_below(scene)


def restored_below(scene: Scene) -> Scene:
    """Run a had committed positions up to 59; run b was restored from its savepoint 3, below 30."""
    older = scene.flink.savepoint(A)
    scene.flink.checkpoints(A, 3)
    scene.flink.stop(JOB, A)
    scene.flink.submit(B, at_checkpoint=3, restored=older)
    return scene


def planned(scene: Scene, *, partition: str | None = None, told: bool = True, hidden: bool = False) -> Plan:
    """What is known by a ledger with the positions of each commit, if they are `told`: ten a checkpoint. Who brought
    the ten extra copies is hidden."""
    plan = scene.plan()
    rows = tuple(
        LedgerRow(
            snapshot_id=s.snapshot_id, parent_id=s.parent_id, sequence_number=s.sequence_number,
            committed_at=s.committed_at, on_main=True, operation=s.operation, engine=s.engine, job_id=s.job_id,
            operator_id=s.operator_id, checkpoint_id=s.checkpoint_id, checkpoint_kind=CheckpointKind.CHECKPOINT,
            attempts=None, added_files=1, added_rows=10, removed_files=0, removed_rows=0, code_version=None,
            readers=(), position_from=10 * (s.checkpoint_id or 0) - 10 if told else None,
            position_until=10 * (s.checkpoint_id or 0) - 1 if told else None,
        )
        for s in scene.table.snapshots
    )  # fmt: skip
    contract = plan.case.contract.model_copy(
        update={"position_partition": partition, "redacted": ("source_position",) if hidden else ()}
    )
    copies = ExtraCopiesFinding(
        at=scene.table.snapshots[-1].snapshot_id, keys=10, rows=10, commits=(), differing=0, columns={}, twice_named=0,
        hidden=10, places=(RowsOfFile(path="file:///a.parquet", spans=((0, 9),)),), rule=CopyRule(),
    )  # fmt: skip
    ledger = Ledger(rows=rows, readers_known=True)
    case = plan.case.model_copy(update={"ledger": ledger, "contract": contract, "extra_copies": copies})
    return plan.model_copy(update={"case": case})


def with_copies_by(plan: Plan, *commits: SnapshotId) -> Plan:
    """Ten rows of each of these are extra copies, and no others."""
    found = plan.case.extra_copies
    assert found is not None
    by = tuple(CopiesOfCommit(snapshot_id=each, rows=10) for each in commits)
    told = found.model_copy(update={"rows": 10 * len(by), "commits": by, "hidden": 0})
    return plan.model_copy(update={"case": plan.case.model_copy(update={"extra_copies": told})})


def newest(scene: Scene) -> SnapshotId:
    """The head."""
    return scene.table.snapshots[-1].snapshot_id


def test_none_are_taken_out_below_what_main_has(replaying: Scene) -> None:
    """Run b has repeated up to 49, and main has up to 59."""
    replaying.flink.checkpoints(B, 2)

    with pytest.raises(Refused, match="Run bbbbbb still reads rows that main already has") as refused:
        deduplicate_rows.propose(planned(replaying))

    assert "up to source position 59; since its last start it has committed up to 49" in refused.value.found
    assert "Wait until it has passed that" in refused.value.remedy
    assert "rewind_table_and_job" in refused.value.remedy


def test_they_are_once_the_run_has_passed_it(replaying: Scene) -> None:
    """What comes from then on main does not have."""
    replaying.flink.checkpoints(B, 3)

    assert must_have_passed(planned(replaying)) == ()
    assert deduplicate_rows.propose(planned(replaying)).effects


def test_nor_is_a_commit_that_repeats_another_one_dropped(replaying: Scene) -> None:
    """The rest of what the run repeats comes in commits of its own."""
    replaying.flink.checkpoints(B, 2)
    plan, again = planned(replaying), replaying.snapshot("b", 4)
    twice = RepeatedCommit(
        first=replaying.snapshot("a", 4), again=again, how="same-checkpoint", job_id=B, checkpoint_id=4, rows=10,
        too_many=10,
    )  # fmt: skip
    found = DuplicateCommitsFinding(commits_checked=8, repeated=(twice,))
    case, match = plan.case.model_copy(update={"duplicate_commits": found}), {"repeating": (again,)}
    plan = plan.model_copy(update={"case": case, "match": plan.match.model_copy(update=match)})

    with pytest.raises(Refused, match="Run bbbbbb still reads rows that main already has"):
        drop_duplicated_commit.propose(plan)


@pytest.mark.parametrize(
    ("known", "why"),
    [({"told": False}, "lacks source positions"), ({"partition": "source_partition"}, "several partitions")],
)
def test_where_nothing_tells_the_approver_reads_it(replaying: Scene, known: dict[str, object], why: str) -> None:
    """An idle partition's positions may lie far above those of a busy one."""
    replaying.flink.checkpoints(B, 2)

    said = " ".join(deduplicate_rows.propose(planned(replaying, **known)).preview.sentences)  # type: ignore[arg-type]

    assert "It is not known whether run bbbbbb has read past all rows on main" in said
    assert why in said


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (
            {"partition": "source_partition"},
            "name the partition column as `position_partition` in the table's contract",
        ),
        ({"told": False}, "remove `position` from the contract. Collect the evidence again"),
    ],
    ids=["partition named", "position taken out"],
)
def test_a_source_of_several_partitions_has_a_way_out(replaying: Scene, known: dict[str, object], said: str) -> None:
    """An idle job whose last rows were a slow partition's stays below for good; the refusal says what to set."""
    replaying.flink.checkpoints(B, 2)

    with pytest.raises(Refused) as refused:
        must_have_passed(planned(replaying))

    assert said in refused.value.remedy
    assert len(must_have_passed(planned(replaying, **known))) == 1  # type: ignore[arg-type]


def test_positions_that_are_hidden_are_not_shown(replaying: Scene) -> None:
    """By the contract."""
    replaying.flink.checkpoints(B, 2)

    with pytest.raises(Refused, match="a source position that is not shown") as refused:
        must_have_passed(planned(replaying, hidden=True))

    assert "59" not in str(refused.value)
    assert "49" not in str(refused.value)


def test_a_run_that_alone_has_written_the_table_is_not_asked(scene: Scene) -> None:
    """Where its newest commit only repeats an older one (F1), and brought all the copies."""
    scene.flink._commit(A, 2, range(10, 20))

    for told in (True, False):
        assert must_have_passed(with_copies_by(planned(scene, told=told), newest(scene))) == ()


COUNTED_A, COUNTED_B, C = job("a"), job("b"), job("c")


@pytest.fixture
def counted_replaying(scene: Scene) -> Scene:
    """Run a had committed positions up to 59; run b has repeated 30 to 39."""
    restored_below(scene).flink.checkpoints(COUNTED_B, 1)
    return scene


def head(scene: Scene) -> SnapshotId:
    """At which the copies are counted."""
    found = scene.table.head
    assert found is not None
    return found


def case(scene: Scene, **known: Any) -> Case:
    """With a ledger of all commits."""
    return planned(scene, **known).case


def test_what_a_run_adds_that_was_below_then_may_repeat_more(counted_replaying: Scene) -> None:
    """Whether it has passed by now or not."""
    counted = head(counted_replaying)
    assert not may_have_come_since(case(counted_replaying), counted)

    counted_replaying.flink.checkpoints(COUNTED_B, 3)

    assert may_have_come_since(case(counted_replaying), counted)
    assert not may_have_come_since(case(counted_replaying), head(counted_replaying))


@pytest.mark.parametrize(("known", "may"), [({}, False), ({"told": False}, True), ({"partition": "p"}, True)])
def test_what_comes_after_it_had_passed_is_new(counted_replaying: Scene, known: dict[str, Any], may: bool) -> None:
    """Where nothing tells that it had, it may repeat more."""
    counted_replaying.flink.checkpoints(COUNTED_B, 2)
    counted = head(counted_replaying)

    counted_replaying.flink.checkpoints(COUNTED_B, 2)

    assert may is may_have_come_since(case(counted_replaying, **known), counted)


def test_a_run_that_was_started_since_may_repeat_more(counted_replaying: Scene) -> None:
    """Also where the one before it had passed, and goes on in between."""
    counted_replaying.flink.checkpoints(COUNTED_B, 2)
    older = counted_replaying.flink.savepoint(COUNTED_B)
    counted = head(counted_replaying)
    counted_replaying.flink.checkpoints(COUNTED_B, 1)
    counted_replaying.flink.stop(JOB, COUNTED_B)
    counted_replaying.flink.submit(C, at_checkpoint=6, restored=older)

    counted_replaying.flink.checkpoints(C, 2)

    assert may_have_come_since(case(counted_replaying), counted)


@pytest.mark.parametrize("told", [True, False])
def test_one_start_alone_repeats_nothing_where_its_positions_rise(scene: Scene, told: bool) -> None:
    """Copies that no commit accounts for may be of a start that ids do not tell (F4)."""
    counted = head(scene)
    scene.flink.checkpoints(COUNTED_A, 2)

    assert told is not may_have_come_since(case(scene, told=told), counted)


def test_where_nobody_found_copies_it_repeats_none(scene: Scene) -> None:
    """No ledger is needed for it."""
    counted = head(scene)
    scene.flink.checkpoints(COUNTED_A, 2)
    looked = case(scene, told=False)
    assert looked.extra_copies is not None
    none = looked.extra_copies.model_copy(update={"keys": 0, "rows": 0, "hidden": 0})

    assert not may_have_come_since(looked.model_copy(update={"extra_copies": none}), counted)


def test_what_others_add_is_not_asked_here(counted_replaying: Scene) -> None:
    """It makes the evidence stale, as a head does that is not on main any more."""
    counted, below = head(counted_replaying), counted_replaying.snapshot("a", 5)
    counted_replaying.backfill_commits()
    assert not may_have_come_since(case(counted_replaying), counted)

    counted_replaying.rolls_back(to=below)

    assert not may_have_come_since(case(counted_replaying), counted)


GUEST = job("e")


def takes_over(scene: Scene, *, at: int, restored: Path | None = None) -> None:
    """Run a ends, and run b goes on from there."""
    scene.flink.stop(JOB, A)
    scene.flink.submit(B, at_checkpoint=at, restored=restored)


def in_the_proposed_window(scene: Scene) -> Plan:
    """The ledger is of what a new incident looks at."""
    plan = planned(scene)
    window = propose_window(scene.table, plan.case.observation.jobs).window
    within, ledger = {s.snapshot_id for s in window.of(scene.table)}, plan.case.ledger
    assert ledger is not None
    told = ledger.model_copy(update={"rows": tuple(r for r in ledger.rows if r.snapshot_id in within)})
    return plan.model_copy(update={"case": plan.case.model_copy(update={"ledger": told, "window": window})})


def with_positions(plan: Plan, run: JobId, until: int) -> Plan:
    """Those of this run are of a source of its own."""
    ledger = plan.case.ledger
    assert ledger is not None
    update = {"position_from": until - 9, "position_until": until}
    rows = tuple(r.model_copy(update=update) if r.job_id == run else r for r in ledger.rows)
    case = plan.case.model_copy(update={"ledger": ledger.model_copy(update={"rows": rows})})
    return plan.model_copy(update={"case": case})


def test_a_ledger_from_the_start_on_does_not_tell_what_came_before(scene: Scene) -> None:
    """The window of a start without state (F15) begins right above the commits of the run before."""
    scene.flink.checkpoints(A, 3)
    takes_over(scene, at=0)
    scene.flink.checkpoints(B, 2)

    said = " ".join(deduplicate_rows.propose(in_the_proposed_window(scene)).preview.sentences)

    assert "It is not known whether run bbbbbb has read past all rows on main" in said
    assert "the commit history does not reach the commits of run aaaaaa" in said


def test_a_ledger_that_tells_enough_refuses_whatever_else_it_does_not_reach(scene: Scene) -> None:
    """Run b is below what run a had; of the commits before them nothing has to be known."""
    commits(scene, "c", 9, range(60, 70))
    older = scene.flink.savepoint(A)
    scene.flink.checkpoints(A, 3)
    takes_over(scene, at=3, restored=older)
    scene.flink.checkpoints(B, 2)
    plan = planned(scene)
    ledger = plan.case.ledger
    assert ledger is not None
    told = ledger.model_copy(update={"rows": tuple(r for r in ledger.rows if r.job_id != job("c"))})

    with pytest.raises(Refused, match="Run bbbbbb still reads rows that main already has"):
        must_have_passed(plan.model_copy(update={"case": plan.case.model_copy(update={"ledger": told})}))


def test_a_guest_whose_source_is_another_is_not_waited_for(scene: Scene) -> None:
    """Also where Flink lists only the run that is alive, so that a guest's older commit binds."""
    older = scene.flink.savepoint(A)
    commits(scene, "e", 91, range(900, 910), operator="ee" * 16)
    scene.flink.checkpoints(A, 3)
    takes_over(scene, at=3, restored=older)
    scene.flink.forgets(A)
    scene.flink.checkpoints(B, 4)
    plan = with_positions(planned(scene), GUEST, 909)

    assert Guests(plan.case).has_run(GUEST)
    assert GUEST in {s.job_id for s in commits_that_bind(plan.case)}
    assert must_have_passed(plan) == ()


def test_a_newer_start_under_the_same_job_id_has_to_pass_what_the_older_one_had(scene: Scene) -> None:
    """Run a had committed up to 59, and began without state under its id once more."""
    scene.flink.checkpoints(A, 3)
    scene.flink.stands_at(A, 0)
    scene.flink.checkpoints(A, 2)

    with pytest.raises(Refused, match="Run aaaaaa still reads rows that main already has") as refused:
        must_have_passed(planned(scene))

    assert "up to source position 59; since its last start it has committed up to 19" in refused.value.found


def test_the_first_checkpoint_of_a_start_without_state_is_no_copy_of_the_older_one(scene: Scene) -> None:
    """As many rows, and the same ones: but the ids begin anew."""
    scene.flink.stands_at(A, 0)
    scene.flink.checkpoints(A, 1)

    with pytest.raises(Refused, match=r"it has committed up to 9\."):
        must_have_passed(planned(scene))


def test_a_start_under_another_uid_has_to_pass_it_too(scene: Scene) -> None:
    """Run a had committed up to 59, and goes on at nothing with a sink that has another operator id."""
    scene.flink.checkpoints(A, 3)
    runs = scene.flink._read()
    runs[A] |= {"suffix": "-new", "checkpoint": 0}
    scene.flink._write(runs)
    scene.flink.checkpoints(A, 2)

    with pytest.raises(Refused, match=r"it has committed up to 19\."):
        must_have_passed(planned(scene))


def test_its_newest_commit_tells_where_it_is_and_not_its_highest(scene: Scene) -> None:
    """Run b had passed run a, and began without state under its id: IcebergSink passed over what main had of it (F4),
    so that its ids go on rising."""
    takes_over(scene, at=3, restored=scene.flink.savepoint(A))
    scene.flink.checkpoints(B, 3)
    scene.flink._commit(B, 7, range(10))
    scene.flink._commit(B, 8, range(10, 20))
    plan = planned(scene)
    ledger = plan.case.ledger
    assert ledger is not None
    again = {7: 9, 8: 19}
    rows = tuple(
        row.model_copy(update={"position_until": again.get(row.checkpoint_id or 0, row.position_until)})
        for row in ledger.rows
    )
    case = plan.case.model_copy(update={"ledger": ledger.model_copy(update={"rows": rows})})

    with pytest.raises(Refused, match=r"it has committed up to 19\."):
        must_have_passed(plan.model_copy(update={"case": case}))


def test_it_has_once_it_is_above_that(scene: Scene) -> None:
    """Run a had committed up to 29."""
    scene.flink.stands_at(A, 0)
    scene.flink.checkpoints(A, 3)

    assert must_have_passed(planned(scene)) == ()


def test_of_an_older_start_that_the_ledger_does_not_reach_nothing_is_known(scene: Scene) -> None:
    """It has the job id of the present one."""
    scene.flink.stands_at(A, 0)
    scene.flink.checkpoints(A, 2)

    (said,) = must_have_passed(in_the_proposed_window(scene))

    assert "the commit history does not reach the commits of an earlier start of it" in said


def test_a_commit_that_was_made_twice_is_no_start_also_once_the_run_goes_on(scene: Scene) -> None:
    """F1: the ids fall by one commit, and rise above all that were before."""
    scene.flink._commit(A, 2, range(10, 20))
    again = newest(scene)
    scene.flink.checkpoints(A, 1)

    assert must_have_passed(with_copies_by(planned(scene, told=False), again)) == ()


def test_of_a_job_that_is_down_below_what_main_has_the_approver_reads_it(scene: Scene) -> None:
    """No run can pass it before somebody starts one, which would bring the rest again."""
    older = scene.flink.savepoint(A)
    scene.flink.checkpoints(A, 3)
    takes_over(scene, at=3, restored=older)
    scene.flink.checkpoints(B, 2)
    scene.flink.stop(JOB, B)

    said = " ".join(deduplicate_rows.propose(planned(scene)).preview.sentences)
    (veiled,) = must_have_passed(planned(scene, hidden=True))

    assert "The job is down, at source position 49 of 59 that main has" in said
    assert "Propose this again when the job runs and has passed 59, or rewind table and job." in said
    assert "The job is down, below what main has" in veiled
    assert not {"49", "59"} & set(veiled.replace(":", " ").split())


def test_of_a_job_that_is_down_above_it_nothing_is_said(scene: Scene) -> None:
    """Run b had repeated all of it, or run a was the only one."""
    older = scene.flink.savepoint(A)
    scene.flink.checkpoints(A, 1)
    takes_over(scene, at=3, restored=older)
    scene.flink.checkpoints(B, 2)
    scene.flink.stop(JOB, B)

    assert must_have_passed(planned(scene)) == ()


def test_where_flink_has_forgotten_both_of_two_writers_it_is_not_known_which_is_the_job(scene: Scene) -> None:
    """Positions of two sources tell nothing about each other."""
    commits(scene, "e", 91, range(900, 910), operator="ee" * 16)
    scene.flink.checkpoints(A, 1)
    scene.flink.stop(JOB, A)
    scene.flink.forgets(A)

    (said,) = must_have_passed(with_positions(planned(scene), GUEST, 909))

    assert "Flink lists no run by which to tell them apart" in said


def read_anew(scene: Scene, commits: int) -> Plan:
    """Run a had committed up to 29 by checkpoint 3, and began without state: IcebergSink passed over checkpoints 1 to
    3, which main had, so that its first commits carry 4 and 5."""
    for place in range(commits):
        scene.flink._commit(A, 4 + place, range(10 * place, 10 * place + 10))
    return falling(planned(scene))


def falling(plan: Plan) -> Plan:
    """What checkpoint 4 brought begins at nothing again."""
    ledger = plan.case.ledger
    assert ledger is not None
    rows = tuple(
        row.model_copy(update={"position_from": row.position_from - 30, "position_until": row.position_until - 30})
        if (row.checkpoint_id or 0) > 3 and row.position_from is not None and row.position_until is not None
        else row
        for row in ledger.rows
    )
    case = plan.case.model_copy(update={"ledger": ledger.model_copy(update={"rows": rows})})
    return plan.model_copy(update={"case": case})


def not_looked_for_copies(plan: Plan) -> Plan:
    """A commit can be dropped without that."""
    return plan.model_copy(update={"case": plan.case.model_copy(update={"extra_copies": None})})


def test_it_has_to_pass_what_main_has(scene: Scene) -> None:
    """It has read up to 19 again, and main has up to 29."""
    plan = read_anew(scene, 2)

    with pytest.raises(Refused, match=r"up to source position 29; since its last start it has committed up to 19\."):
        must_have_passed(with_copies_by(plan, scene.snapshot("a", 4), scene.snapshot("a", 5)))


def test_so_it_has_where_a_compaction_hides_who_brought_the_copies(scene: Scene) -> None:
    """No commit that was made twice accounts for them."""
    with pytest.raises(Refused, match=r"it has committed up to 19\."):
        must_have_passed(read_anew(scene, 2))


def test_while_it_is_down_below_that_the_approver_reads_it(scene: Scene) -> None:
    """Nobody waits for a run that does not go on."""
    read_anew(scene, 2)
    scene.flink.stop(JOB, A)

    (said,) = must_have_passed(falling(planned(scene)))

    assert "The job is down, at source position 19 of 29 that main has" in said


def test_once_it_has_passed_that_nothing_is_said(scene: Scene) -> None:
    """What comes from then on main does not have."""
    assert must_have_passed(read_anew(scene, 3)) == ()


def test_where_nobody_looked_for_copies_the_approver_reads_that_positions_fall(scene: Scene) -> None:
    """They may fall by nature, as of a source of several partitions that is not declared so."""
    (said,) = must_have_passed(not_looked_for_copies(read_anew(scene, 2)))

    assert "It is not known whether run aaaaaa has read past all rows on main: its source positions fall" in said


def test_positions_that_fall_without_a_copy_are_no_start(scene: Scene) -> None:
    """Checkpoint 2 was made twice (F1), and only that brought rows again."""
    scene.flink._commit(A, 2, range(10, 20))
    again = newest(scene)
    plan = with_copies_by(read_anew(scene, 2), again)

    assert must_have_passed(plan) == ()


def test_copies_whose_positions_are_not_told_are_said_to_the_approver(scene: Scene) -> None:
    """Those of a commit that was made twice are not: it brings no others."""
    scene.flink.checkpoints(A, 1)
    plan = planned(scene, told=False)

    (said,) = must_have_passed(with_copies_by(plan, scene.snapshot("a", 4)))

    assert "the commit history lacks source positions of its commits" in said
    assert must_have_passed(not_looked_for_copies(plan)) == ()


def test_so_they_are_where_the_ledger_does_not_reach_its_first_commits(scene: Scene) -> None:
    """Of the first one, which may have been far above, nothing is told."""
    plan = planned(scene)
    ledger = plan.case.ledger
    assert ledger is not None
    shorter = ledger.model_copy(update={"rows": ledger.rows[1:]})

    (said,) = must_have_passed(plan.model_copy(update={"case": plan.case.model_copy(update={"ledger": shorter})}))

    assert "the commit history does not reach the first commits of it" in said


def test_a_newer_checkpoint_that_names_older_files_is_no_start(scene: Scene) -> None:
    """Its id is above all others, and what it brought again is not: the very files of an older one (F1)."""
    plan = read_anew(scene, 1)
    files = DuplicateFilesFinding(files_checked=4, count=1, extra_rows=10, files=(), again=(newest(scene),))
    named = plan.model_copy(update={"case": plan.case.model_copy(update={"duplicate_files": files})})

    assert must_have_passed(not_looked_for_copies(named)) == ()
    assert must_have_passed(with_copies_by(named, newest(scene))) == ()


def test_nor_is_the_newest_checkpoint_that_was_made_twice(scene: Scene) -> None:
    """A run that alone wrote the table is asked nothing for that, whatever the ledger tells."""
    scene.flink._commit(A, 3, range(20, 30))

    for told in (True, False):
        assert must_have_passed(with_copies_by(planned(scene, told=told), newest(scene))) == ()
