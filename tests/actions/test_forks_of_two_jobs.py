"""A fork of two jobs, each of its own name on its own cluster: blue/green, and the old one was not stopped."""

import pytest

from bot.actions import resolve_fork, take_savepoint
from bot.domain.action import Plan
from bot.domain.effects import StopFork
from bot.domain.errors import CouldNotLook, Refused, Superseded
from bot.domain.execution import ProposalState
from bot.domain.flink import JobRun
from bot.ports import JobPorts
from bot.service.observing import Observer
from tests.actions.scene import NoReads, Scene
from tests.little_flink import JOB, LittleFlink
from tests.power_cut import PowerCut, killed
from tests.tables import ORDERS, job

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

    with pytest.raises(Refused) as refused:
        resolve_fork.propose(scene.plan().model_copy(update={"keeps": "aaaa"}))

    said = str(refused.value)
    assert f"Run {job('d')} committed {committed}, and no configured Flink cluster knows it." in said
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
