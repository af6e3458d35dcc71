"""Another Flink job commits to the table too: before a start, above a stop, or during a repair."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bot.actions import restart_from_stop_savepoint, restore_job_at_head, take_savepoint, undo_proposal
from bot.actions._support.completing import completed
from bot.actions._support.foreseen import unforeseen
from bot.adapters.checkpoint_files import CheckpointFiles
from bot.incident.entries import Check
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.proposal import HeadDescends, requirement_sentence
from bot.observation.errors import CouldNotLook
from bot.observation.flink import JobRun
from bot.observation.ids import JobId
from bot.observation.table import TableState
from bot.ports import JobPorts
from tests.actions.scene import Scene
from tests.little_flink import JOB, LittleFlink
from tests.tables import ORDERS, job, of_flink, rows

OTHER = "orders-to-iceberg-by-hand"


def commits(scene: Scene, run: str, checkpoint: int, positions: range, *, operator: str | None = None) -> None:
    """One commit as a Flink sink makes it; another job's sink has another id."""
    scene.commits(rows(positions), of_flink(run, checkpoint, {"flink.operator-id": operator} if operator else {}))


def guest_above(scene: Scene) -> None:
    """It has written before three checkpoints of the job, and after them."""
    commits(scene, "e", 8, range(900, 903), operator="ee" * 16)
    scene.flink.checkpoints(job("a"), 3)
    commits(scene, "e", 9, range(903, 906), operator="ee" * 16)


def restarted(scene: Scene) -> ProposalView:
    """The run is stopped, and started from what it left."""
    return scene.does(restart_from_stop_savepoint)


def test_the_job_goes_on_under_a_guest_also_where_flink_has_forgotten_its_run(scene: Scene) -> None:
    """A cluster for one job ends with it."""
    guest_above(scene)
    listed = scene.flink.runs
    scene.flink.runs = lambda name: tuple(r for r in listed(name) if not r.is_terminal)  # type: ignore[method-assign]

    assert restarted(scene).state is ProposalState.APPLIED
    assert scene.positions() == [*range(80), *range(900, 906)]


def test_a_savepoint_is_kept_under_a_guest(scene: Scene) -> None:
    """The tag is on the job's own commit, with which the savepoint pairs."""
    guest_above(scene)

    view = scene.does(take_savepoint)

    assert view.state is ProposalState.APPLIED, view.result
    assert view.done[2].result["snapshot"] == str(scene.snapshot("a", 6))
    assert all(check.passed for check in scene.checked(view)), scene.checked(view)


def test_the_job_goes_on_above_a_second_copy_of_its_own_commit(scene: Scene) -> None:
    """What is there twice stays so: a restart reads nothing again (F1)."""
    commits(scene, "a", 3, range(20, 30))

    view = restarted(scene)

    assert view.state is ProposalState.APPLIED, view.result
    assert scene.positions() == sorted([*range(50), *range(20, 30)])


def test_a_run_that_only_came_after_the_job_may_have_gone_on_from_there(scene: Scene) -> None:
    """It has committed once, nobody knows it, and the job has written nothing since: the rows would come twice."""
    commits(scene, "e", 4, range(30, 40), operator="ee" * 16)

    view = restarted(scene)

    assert view.state is ProposalState.REFUSED
    assert "none of its states pairs with the table" in view.result.sentence  # type: ignore[union-attr]
    assert "start" not in scene.calls


def test_a_run_that_began_from_the_jobs_state_is_no_guest(scene: Scene, tmp_path: Path) -> None:
    """It writes beside the job by a sink of another id, and reads what it reads: above its rows nothing starts."""
    other = LittleFlink(tmp_path, OTHER)
    other.submit(job("e"), at_checkpoint=3, restored=scene.flink.savepoint(job("a")))
    scene.observer.jobs[OTHER] = JobPorts(other, CheckpointFiles(None, str(other.savepoints)))  # type: ignore[index]
    guest_above(scene)

    view = restarted(scene)

    assert view.state is ProposalState.REFUSED
    assert "start" not in scene.calls


def test_a_restart_under_a_guest_is_undone(scene: Scene) -> None:
    """Its state is that of the job's own commit below the other job's."""
    guest_above(scene)
    done = restarted(scene)

    view = scene.does(undo_proposal, undoes=done.proposal.id, number=2)

    assert view.state is ProposalState.APPLIED, view.result
    assert scene.positions() == [*range(80), *range(900, 906)]
    assert len(scene.alive) == 1


@pytest.mark.parametrize("operator", [None, "ee" * 16], ids=["by the job's sink", "by another"])
def test_what_came_between_the_jobs_last_commits_is_told_apart(scene: Scene, operator: str | None) -> None:
    """A run that the job's Flink does not list binds, where its sink is the job's own."""
    commits(scene, "e", 8, range(900, 903), operator=operator)
    scene.flink.checkpoints(job("a"), 3)
    commits(scene, "e", 9, range(903, 906), operator=operator)

    view = restarted(scene)

    assert view.state is (ProposalState.REFUSED if operator is None else ProposalState.APPLIED)


def first_check(scene: Scene, between: Callable[[], None]) -> Check:
    """Of the first commit, where `between` happens right before it."""
    plan = scene.plan()
    commit = scene.flink._commit

    def after_others(job_id: JobId, number: int, positions: range) -> None:
        scene.flink._commit = commit  # type: ignore[method-assign]
        between()
        commit(job_id, number, positions)

    scene.flink._commit = after_others  # type: ignore[method-assign]
    view = scene.carries_out(restart_from_stop_savepoint.propose(plan), plan)
    assert view.state is ProposalState.APPLIED, view.result
    return checked(scene)


def checked(scene: Scene) -> Check:
    """As “Verify again” finds it."""
    view = scene.view(scene.plan().proposal)
    return next(check for check in scene.checked(view) if check.name.startswith("The first commit"))


Act = Callable[[Scene], None]


def guest(scene: Scene) -> None:
    """The other job goes on."""
    commits(scene, "e", 10, range(906, 909), operator="ee" * 16)


@pytest.mark.parametrize(
    ("who", "said"),
    [(guest, r"by Flink run eeeeee \(checkpoint 10\)"), (Scene.backfill_commits, "by spark application local-17")],
    ids=["a guest", "another engine"],
)
def test_what_does_not_bind_the_job_is_named_and_passes(scene: Scene, who: Callable[[Scene], None], said: str) -> None:
    """The sink passes over it, and so does the proof, each time that it is asked for."""
    guest_above(scene)

    check = first_check(scene, lambda: who(scene))

    assert check.passed is True, check
    assert re.search(rf"Before that came …\d{{6}} {said}, which is not of this job\.", check.sentence)


def test_a_second_run_of_the_job_in_between_fails_it(scene: Scene) -> None:
    """It has read what the new run reads, too: its rows are there twice."""
    guest_above(scene)

    def second_run() -> None:
        scene.flink.submit(job("b"), at_checkpoint=6)
        commits(scene, "b", 7, range(60, 70))

    check = first_check(scene, second_run)

    assert check.passed is False
    assert "by Flink run bbbbbb (checkpoint 7). It is not known to be of another job" in check.sentence


def test_a_run_that_nobody_knows_fails_it_until_it_is_seen_to_write_beside_the_job(scene: Scene) -> None:
    """It came after the stop: it may have gone on from there, unless the job goes on committing past it."""
    at_first = first_check(scene, lambda: commits(scene, "d", 1, range(900, 903), operator="dd" * 16))
    scene.flink.checkpoints(scene.alive[0])
    later = checked(scene)

    assert (at_first.passed, later.passed) == (False, True)


def test_a_main_that_was_rolled_back_below_the_start_fails_it(scene: Scene) -> None:
    """What the run had begun from is not there any more, though its own commits follow each other."""
    guest_above(scene)
    below = scene.snapshot("a", 5)

    assert first_check(scene, lambda: scene.rolls_back(to=below)).passed is False


def unknown(scene: Scene) -> None:
    """A run that nobody knows, which has not written before."""
    commits(scene, "d", 7, range(60, 70), operator="dd" * 16)


def rolls_back(scene: Scene) -> None:
    """Main goes to where a savepoint of the run pairs as well."""
    scene.rolls_back(to=scene.snapshot("a", 5))


@pytest.mark.parametrize("act", [guest, Scene.backfill_commits], ids=["a guest", "another engine"])
@pytest.mark.parametrize("action", [restart_from_stop_savepoint, take_savepoint], ids=["restart", "savepoint"])
def test_a_commit_that_does_not_bind_passes_between_the_stop_and_what_follows(scene: Scene, action, act: Act) -> None:  # type: ignore[no-untyped-def]
    """It takes nothing off main, and the pair is proven anew against main as it is."""
    guest_above(scene)
    scene.flink.then(lambda: act(scene))

    view = scene.does(action)

    assert view.state is ProposalState.APPLIED, view.result
    own = [each for each in scene.positions() if each < 900]
    assert own == list(range(80 if action is restart_from_stop_savepoint else 60))
    assert all(check.passed for check in scene.checked(view)), scene.checked(view)


@pytest.mark.parametrize(
    ("act", "said"),
    [(unknown, "none of its states pairs with the table"), (rolls_back, "The table was rolled back")],
    ids=["a run that may have gone on from there", "a rollback"],
)
def test_what_binds_still_ends_it(scene: Scene, act: Act, said: str) -> None:
    """Its rows may be those that the job would read again; and nobody has approved another table."""
    guest_above(scene)
    scene.flink.savepoint(job("a"))
    scene.flink.then(lambda: act(scene))

    view = scene.does(restart_from_stop_savepoint)

    assert view.state is ProposalState.REFUSED
    assert said in view.result.sentence  # type: ignore[union-attr]
    assert "start" not in scene.calls


def test_a_guest_between_approval_and_stop_passes_too(scene: Scene) -> None:
    """One that commits each minute would end each proposal while people read it. Another engine's does end it."""
    guest_above(scene)
    made = scene.proposed(restart_from_stop_savepoint)
    [held] = [each for each in made.requirements if isinstance(each, HeadDescends)]
    assert (
        f"and by compactions and commits of other Flink jobs that wrote concurrently with {JOB}"
        in requirement_sentence(held)
    )
    guest(scene)

    scene.executes(made.id)

    assert scene.view(made.id).state is ProposalState.APPLIED
    assert scene.positions() == [*range(80), *range(900, 909)]


def test_a_guest_passes_before_a_start_from_a_point_that_was_chosen(scene: Scene) -> None:
    """The job is down already; the first commit comes on top of the other job's."""
    guest_above(scene)
    scene.flink.stop(JOB, job("a"))
    made = scene.proposed(restore_job_at_head)
    guest(scene)

    scene.executes(made.id)

    view = scene.view(made.id)
    assert view.state is ProposalState.APPLIED, view.result
    assert scene.positions() == [*range(80), *range(900, 909)]
    assert all(check.passed for check in scene.checked(view)), scene.checked(view)
    again = scene.plan(undoes=made.id, number=2)
    assert scene.carries_out(undo_proposal.propose(again), again).state is ProposalState.APPLIED
    assert {906, 907, 908} <= set(scene.positions())


def test_an_undo_of_a_stop_alone_is_not_ended_by_a_guest(scene: Scene) -> None:
    """A busy other job kept the job down: each of its commits ended the proposal that starts it again."""
    guest_above(scene)
    first = scene.does(take_savepoint)
    made = scene.proposed(undo_proposal, undoes=first.proposal.id, number=2)
    guest(scene)

    scene.executes(made.id)

    assert scene.view(made.id).state is ProposalState.APPLIED
    assert scene.positions() == [*range(80), *range(900, 909)]


def test_a_compaction_does_not_matter_to_a_start(scene: Scene) -> None:
    """No preview stops it; a run that nobody knows does matter."""
    scene.flink.stop(JOB, job("a"))
    plan = scene.plan()
    [held] = [r for r in completed(restore_job_at_head.propose(plan), plan).requirements if isinstance(r, HeadDescends)]
    world = scene.observer.clients.world(ORDERS)
    scene.backfill_commits()
    table = scene.table
    told = {"operation": "replace", "summary": {"deleted-records": "3", "added-records": "3"}}
    snapshots = tuple(s.model_copy(update=told) if s.snapshot_id == table.head else s for s in table.snapshots)
    after = TableState.model_validate({**table.model_dump(), "snapshots": snapshots})

    assert unforeseen(held, replace(world, table=after)) is None
    assert "was committed by spark application local-17" in (unforeseen(held, replace(world, table=table)) or "")


CLICKS = "clicks-to-iceberg"


class Silent(LittleFlink):
    """A cluster that is down; it remembers whether it was asked."""

    asked = 0

    def runs(self, job: str) -> tuple[JobRun, ...]:
        self.asked += 1
        raise CouldNotLook(f"Flink of {job} did not answer.", "Expected an answer; found ConnectTimeout.", "Start it.")


def listed(scene: Scene, flink: LittleFlink, name: str, *, is_declared: bool = False) -> None:
    """A further job of the configuration, declared to write the table or not."""
    ports = JobPorts(flink, CheckpointFiles(None, str(flink.savepoints)))
    clients = scene.observer.clients
    setup = scene.observer.setup(ORDERS).model_copy(update={"other_jobs": (name,) if is_declared else ()})
    scene.observer.clients = replace(
        clients, jobs={**clients.jobs, name: ports}, tables={**clients.tables, ORDERS: setup}
    )


def test_a_job_of_another_table_whose_cluster_is_down_keeps_nothing_down(scene: Scene, tmp_path: Path) -> None:
    """Nobody knows the other job's run, and its sink tells that it is one."""
    guest_above(scene)
    listed(scene, Silent(tmp_path, CLICKS), CLICKS)

    view = restarted(scene)

    assert view.state is ProposalState.APPLIED, view.result
    assert scene.positions() == [*range(80), *range(900, 906)]


def test_it_is_not_even_asked_where_one_of_the_tables_own_jobs_knows_the_guest(scene: Scene, tmp_path: Path) -> None:
    """The time limit of a cluster that is down is long while a job stands still."""
    other, silent = LittleFlink(tmp_path, OTHER), Silent(tmp_path, CLICKS)
    other.submit(job("e"), at_checkpoint=9)
    guest_above(scene)
    listed(scene, silent, CLICKS)
    listed(scene, other, OTHER, is_declared=True)

    assert restarted(scene).state is ProposalState.APPLIED
    assert silent.asked == 0


@pytest.mark.parametrize("is_declared", [True, False], ids=["a job of the table", "by the job's sink"])
def test_where_its_answer_decides_the_start_waits_for_it(scene: Scene, tmp_path: Path, is_declared: bool) -> None:
    """A declared job's run may have begun from the job's state; one by the job's sink may still be another job's."""
    operator = "ee" * 16 if is_declared else None
    commits(scene, "e", 8, range(900, 903), operator=operator)
    scene.flink.checkpoints(job("a"), 3)
    commits(scene, "e", 9, range(903, 906), operator=operator)
    listed(scene, Silent(tmp_path, OTHER), OTHER, is_declared=is_declared)

    view = restarted(scene)

    assert view.state is ProposalState.EXECUTING
    assert "start" not in scene.calls
    assert f"Flink of {OTHER} did not answer" in str(scene.store.get(scene.incident).entries[-1].body)
