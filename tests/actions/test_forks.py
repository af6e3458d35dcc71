"""Two living runs: containing a fork, choosing the writer, and what cannot be proposed."""

from types import ModuleType

import pytest

from bot.actions import (
    change_operator_uid,
    protect_last_commit,
    resolve_fork,
    restore_job_at_head,
    roll_back_table_and_restore_job,
    take_savepoint,
)
from bot.incident.action import Plan
from bot.incident.decisions import Reject, decide
from bot.incident.effects import StopFork
from bot.incident.execution import ProposalState
from bot.observation.errors import CouldNotLook, Refused, Superseded
from bot.observation.flink import JobRun
from bot.ports import JobPorts
from bot.service.observing import Observer
from tests.actions.plans import answering
from tests.actions.scene import Scene, refusal, savepoint_of
from tests.little_flink import JOB, LittleFlink
from tests.power_cut import PowerCut, killed
from tests.rewound import BEN, NoReads
from tests.tables import ORDERS, job


def forked(scene: Scene) -> None:
    """Run b was started beside run a from its savepoint; both commit."""
    shared = scene.flink.savepoint(job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=shared)
    scene.flink.checkpoints(job("b"), 1)
    scene.flink.checkpoints(job("a"), 1)


def test_the_fork_is_stopped_and_the_other_run_goes_on(scene: Scene) -> None:
    """Containment first: one stop, no row leaves, the run that came first is not touched."""
    forked(scene)

    view = scene.does(resolve_fork, wrong_run=job("b"))

    assert view.state is ProposalState.APPLIED
    assert scene.alive == [job("a")]
    assert scene.calls == ["stop"]
    assert all(check.passed for check in scene.checked(view))


def test_a_fork_that_stands_still_has_its_rows_taken_back_with_the_other_run(scene: Scene) -> None:
    """The rewind that the diagnosis then asks for goes back to before its first commit; each position is there once."""
    good = scene.snapshot("a", 3)
    forked(scene)
    scene.does(resolve_fork, wrong_run=job("b"))

    view = scene.does(roll_back_table_and_restore_job, wrong_run=job("b"), last_good=good, number=2)

    assert view.state is ProposalState.APPLIED
    assert scene.positions() == list(range(50))
    assert len(scene.alive) == 1
    with pytest.raises(Refused, match="It is not clear which run to stop"):
        resolve_fork.propose(scene.plan(wrong_run=job("b")))


def test_a_third_run_ends_the_stop_before_anything_is_done(scene: Scene) -> None:
    """Approved was: these two, and no other."""
    forked(scene)
    made = scene.proposed(resolve_fork, wrong_run=job("b"))
    scene.flink.submit(job("c"), at_checkpoint=4)

    with pytest.raises(Superseded, match=r"Expected only runs .* to be alive; found"):
        scene.executions.begin(scene.incident, made.id, by=made.proposed_by)

    assert scene.calls == []


def test_which_of_two_runs_is_the_fork_is_not_guessed(scene: Scene) -> None:
    """Where the diagnosis names a run that is not alive, people decide."""
    forked(scene)

    with pytest.raises(Refused, match="It is not clear which run to stop"):
        resolve_fork.propose(scene.plan(wrong_run=job("c")))


def test_a_savepoint_is_proven_to_pair_and_its_table_state_is_kept(scene: Scene) -> None:
    """The tag names checkpoint and day; the record has path, snapshot, schema and code."""
    plan = scene.plan()
    scene.flink.checkpoints(job("a"), 2)

    view = scene.carries_out(take_savepoint.propose(plan), plan)

    tag = f"savepoint-5-{plan.at:%Y%m%d}-p001"
    kept, terms = view.done[2].result, {term.name: term.says for term in view.proposal.preview.recorded}
    assert scene.table.ref(tag) == scene.snapshot("a", 5)
    assert (kept["checkpoint"], kept["tag"], kept["code"]) == ("5", tag, "test")
    assert kept["savepoint"].endswith("savepoint-aaaaaa-000000000005")
    assert scene.alive == []
    assert all(check.passed for check in scene.checked(view)), scene.checked(view)
    assert terms["Authoritative"].startswith("for 7 days.")


def test_a_savepoint_that_does_not_pair_is_not_tagged(scene: Scene) -> None:
    """A commit that arrives with the stop makes it another state; the refusal says that the run has ended."""
    scene.flink.then(lambda: (savepoint_of(scene, "a", 3) / "_metadata").write_bytes(b"cut"))

    view = scene.does(take_savepoint)

    assert view.state is ProposalState.REFUSED
    assert [ref.name for ref in scene.table.refs if ref.name.startswith("savepoint-")] == []


def test_the_newest_commit_of_each_run_gets_a_tag(scene: Scene) -> None:
    """Also that of a run which has ended: it may have to be restored."""
    path = scene.flink.stop(JOB, job("a")).savepoint
    scene.flink.start(JOB, path or "", job("b"))

    view = scene.does(protect_last_commit)

    tags = {ref.snapshot_id for ref in scene.table.refs if ref.name.startswith("last-")}
    assert tags == {scene.snapshot("a", 3), scene.snapshot("b", 5)}
    assert all(check.passed for check in scene.checked(view))
    with pytest.raises(Refused, match="nothing to protect"):
        protect_last_commit.propose(scene.plan())


def test_a_uid_is_changed_by_people_with_every_step_written_out(scene: Scene) -> None:
    """It stands in the job's own code; the refusal names the run, the point, the setting and the proof."""
    scene.flink.savepoint(job("a"))

    refused = refusal(change_operator_uid, scene.plan())

    said = str(refused)
    assert "Cancel run aaaaaa" in said
    assert "savepoint-aaaaaa-000000000003 (checkpoint 3) with allowNonRestoredState=true" in said
    assert "no source position was counted" in said


GREEN = "orders-to-iceberg-green"


class BlueGreen:
    """Run a of the table's own job, and run b of the green one on another cluster; both commit."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.green = LittleFlink(scene.folder, GREEN)
        setup = scene.observer.setup(ORDERS).model_copy(update={"other_jobs": (GREEN,)})
        ports = {**scene.observer.jobs, GREEN: JobPorts(self.green, scene.checkpoints)}
        scene.observer = Observer(scene.catalog, {ORDERS: setup}, ports, reads=NoReads(), files=scene.observer.files)

    def plan(self, keeps: str = "") -> Plan:
        """As somebody asks for it."""
        return self.scene.plan().model_copy(update={"keeps": keeps})

    @property
    def alive(self) -> list[str]:
        """Runs of both that are not at their end."""
        runs = [*self.scene.flink.runs(JOB), *self.green.runs(GREEN)]
        return sorted(run.job_id for run in runs if not run.is_terminal)


@pytest.fixture
def both(scene: Scene) -> BlueGreen:
    """Both write."""
    made = BlueGreen(scene)
    made.green.submit(job("b"), at_checkpoint=3)
    made.green.checkpoints(job("b"), 1)
    scene.flink.checkpoints(job("a"), 1)
    return made


def test_the_run_of_the_other_job_is_stopped_on_its_own_cluster(both: BlueGreen) -> None:
    """One stop; the table's own job goes on, and that both are so is verified where each runs."""
    plan = both.plan(keeps="aaaa")

    view = both.scene.carries_out(resolve_fork.propose(plan), plan)

    stop = StopFork(job=GREEN, job_id=job("b"), keeps=job("a"), keeps_of=JOB)
    said = " ".join(view.proposal.preview.sentences)
    assert stop in view.proposal.effects
    assert f"Stop run bbbbbb of {GREEN}" in said
    assert f"Run aaaaaa of {JOB} keeps the table" in said
    assert "configuration" not in said
    assert (ProposalState.APPLIED, [job("a")]) == (view.state, both.alive)
    checked = both.scene.checked(view)
    assert f"Only run aaaaaa of {JOB} is alive, and none of {GREEN}" in [check.name for check in checked]
    assert all(check.passed for check in checked)


def test_the_run_of_the_other_job_is_kept_and_it_is_said_what_to_configure(both: BlueGreen) -> None:
    """Green is to stay: the file still names blue."""
    plan = both.plan(keeps="bbbb")

    view = both.scene.carries_out(resolve_fork.propose(plan), plan)

    said = " ".join(view.proposal.preview.sentences)
    assert f"The configuration still names {JOB} as the job of {ORDERS}" in said
    assert f"set `tables.{ORDERS}.job` to {GREEN}, name {JOB} in its `other_jobs`" in said
    assert (ProposalState.APPLIED, [job("b")]) == (view.state, both.alive)
    assert all(check.passed for check in both.scene.checked(view))


def test_which_of_the_two_stays_is_not_guessed(both: BlueGreen) -> None:
    """The refusal names both, each with its job where it is not the table's."""
    with pytest.raises(Refused, match=f"one of them named to keep; found aaaaaa, bbbbbb of {GREEN}.*keep=RUN"):
        resolve_fork.propose(both.plan())


def test_a_second_run_of_the_other_job_ends_the_stop_before_anything_is_done(both: BlueGreen) -> None:
    """Approved was: these two, each the only one of its job."""
    plan = both.plan(keeps="aaaa")
    made = both.scene.approved(resolve_fork.propose(plan), plan)
    both.green.submit(job("c"), at_checkpoint=4)

    with pytest.raises(Superseded, match=f"Expected only run bbbbbb of {GREEN} to be alive"):
        both.scene.executions.begin(both.scene.incident, made.id, by=plan.by)

    assert both.scene.calls == []


def test_a_cluster_that_cannot_be_asked_is_not_taken_for_one_without_runs(both: BlueGreen) -> None:
    """Could not look is never nothing found; who needs only the own job is not kept from it."""

    def away(_job: str) -> tuple[JobRun, ...]:
        raise CouldNotLook("Flink did not answer.", "Expected its jobs.", "Look at its JobManager.")

    both.green.runs = away  # type: ignore[method-assign]

    with pytest.raises(CouldNotLook, match=f"Expected an answer from Flink, job {GREEN}; found: Flink did not answer"):
        resolve_fork.propose(both.plan(keeps="aaaa"))
    assert take_savepoint.propose(both.plan()).effects


def test_a_writer_on_no_configured_cluster_is_named_with_its_commits(scene: Scene) -> None:
    """Whoever has to find it is told the run's whole id, what it committed, and what to configure."""
    stray = LittleFlink(scene.folder, GREEN)
    stray.submit(job("d"), at_checkpoint=3)
    stray.checkpoints(job("d"), 1)
    committed = scene.table.head

    refused = refusal(resolve_fork, scene.plan().model_copy(update={"keeps": "aaaa"}))

    said = str(refused)
    assert f"No configured Flink cluster knows run {job('d')} (last as {committed})" in said
    assert "stop it where it runs, or name its job under `jobs` and in the table's `other_jobs`" in said


@pytest.mark.parametrize("cut_at", [*range(1, 7), *range(-6, 0)])
def test_a_stop_on_the_other_cluster_that_was_cut_off_ends_right(both: BlueGreen, cut_at: int) -> None:
    """Found by the run's state on its own cluster, and not repeated."""
    plan = both.plan(keeps="aaaa")
    made = both.scene.approved(resolve_fork.propose(plan), plan)

    def carried_out(cut: int | None) -> None:
        cut_off = BlueGreen(Scene(both.scene.folder, None if cut is None else PowerCut(both.scene.record.journal, cut)))
        view = cut_off.scene.view(made.id)
        if view.execution_started_at is None:
            cut_off.scene.executions.begin(cut_off.scene.incident, made.id, by=plan.by)
        cut_off.scene.executions.carry_on(cut_off.scene.incident, made.id)

    assert killed(lambda: carried_out(cut_at))
    carried_out(None)

    assert (ProposalState.APPLIED, [job("a")]) == (both.scene.view(made.id).state, both.alive)
    assert both.scene.calls == ["stop"]


def test_the_run_that_is_named_stays_and_the_other_is_stopped(scene: Scene) -> None:
    """Against the diagnosis; the choice is in the record, and the next diagnosis is told of it."""
    forked(scene)
    plan = scene.plan(wrong_run=job("b")).model_copy(update={"keeps": "bbbb"})

    view = scene.carries_out(resolve_fork.propose(plan), plan)

    assert view.state is ProposalState.APPLIED
    assert scene.alive == [job("b")]
    assert scene.store.get(scene.incident).kept_run == job("b")
    assert any("a person chose it" in sentence for sentence in view.proposal.preview.sentences)


def test_a_choice_holds_until_it_is_turned_down(scene: Scene) -> None:
    """An approved proposal that was overtaken is proposed again as it was chosen; a rejected one chose nothing."""
    forked(scene)
    plan = scene.plan(wrong_run=job("b")).model_copy(update={"keeps": "bbbb"})
    made = scene.approved(resolve_fork.propose(plan), plan)
    later = answering(scene.plan(wrong_run=job("b"), number=2), keeps=job("b"))

    again = resolve_fork.propose(later)
    rejected = decide(scene.view(made.id), Reject(reason="No."), by=BEN, at=plan.at)
    scene.store.write(scene.incident, by=BEN, decide=lambda _i: [rejected])  # type: ignore[list-item]

    assert StopFork(job="orders-to-iceberg", job_id=job("a"), keeps=job("b")) in again.effects
    assert scene.store.get(scene.incident).kept_run is None


def test_a_run_that_is_not_there_is_not_kept(scene: Scene) -> None:
    """The refusal names who is alive and how to say it."""
    forked(scene)
    plan = scene.plan(wrong_run=job("b")).model_copy(update={"keeps": "cccc"})

    with pytest.raises(Refused, match=r"run cccc and one other run alive; found .*aaaaaa.*keep=RUN"):
        resolve_fork.propose(plan)


@pytest.mark.parametrize("action", [roll_back_table_and_restore_job, restore_job_at_head, take_savepoint])
def test_the_fork_is_resolved_first(scene: Scene, action: ModuleType) -> None:
    """By the action that stops one of two runs."""
    savepoint = scene.flink.savepoint(job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=savepoint)
    plan = scene.plan(last_good=scene.snapshot("a", 3), wrong_run=job("b"))

    refused = refusal(action, plan)

    said = str(refused)
    assert "First stop the other one: `/waterline propose resolve_fork keep=RUN`" in said
    assert "aaaaaa" in said
    assert "bbbbbb" in said
    assert "Then collect evidence again and diagnose." in said


def test_of_three_all_but_two_are_stopped_by_hand(scene: Scene) -> None:
    """The action stops one of two."""
    savepoint = scene.flink.savepoint(job("a"))
    for run in ("b", "c"):
        scene.flink.submit(job(run), at_checkpoint=3, restored=savepoint)

    with pytest.raises(Refused, match=r"First stop all but two by hand\. Then stop the other one"):
        take_savepoint.propose(scene.plan())
