"""Which commits the job is held against before copies are taken out: those of every start of it, and of no guest."""

from pathlib import Path

import pytest

from bot.actions import deduplicate_rows
from bot.actions._passed import must_have_passed
from bot.domain.action import Plan
from bot.domain.errors import Refused
from bot.domain.guests import Guests, commits_that_bind
from bot.domain.ids import JobId
from bot.domain.suspicion import propose_window
from tests.actions.scene import Scene
from tests.actions.test_copies_still_to_come import A, B, newest, planned, with_copies_by
from tests.actions.test_guests_above_a_stop import commits
from tests.little_flink import JOB
from tests.tables import job

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
