"""What a stop keeps and may lose, what the run it leaves proves, and the checkpoint that it keeps."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot.actions import (
    restart_from_stop_savepoint,
    restart_with_new_job_id,
    restore_job_at_head,
    restore_job_only,
    roll_back_table_and_restore_job,
    take_savepoint,
    undo_proposal,
)
from bot.actions._support.draft import state_at_risk, stop_sentences
from bot.history.ranking import on_main, ranked
from bot.history.restore import RestorePoint, Restores, pair_of
from bot.incident.action import Plan
from bot.incident.effects import KeepSavepoint, StartJob
from bot.incident.execution import ProposalState
from bot.incident.proposal import Proposal
from bot.observation.errors import Refused, Superseded
from bot.observation.flink import CheckpointKind, CheckpointSettings
from bot.observation.ids import short
from tests.actions.plans import answering, seeing
from tests.actions.scene import Scene, savepoint_of
from tests.little_flink import JOB
from tests.tables import job, with_fields

A, B = job("a"), job("b")


@pytest.fixture
def idle(scene: Scene) -> Scene:
    """Run b was started from a's stop-savepoint 3 and has completed checkpoints 4 to 8 without a row."""
    scene.flink.stop(JOB, A)
    begins(scene, "b", savepoint_of(scene, "a", 3), at=3, now=8)
    return scene


def left_idle(scene: Scene) -> RestorePoint | None:
    """From where the job goes on by what a silent run has left."""
    case = scene.plan().case
    silent = [(stored, pair) for stored, pair in Restores(case).shown if pair_of(pair) is None]
    return ranked(silent, on_main(Restores(case)), lasting=True).best


def begins(scene: Scene, run: str, savepoint: Path, *, at: int, now: int) -> None:
    """A run that commits nothing."""
    scene.flink.submit(job(run), at_checkpoint=at, restored=savepoint)
    scene.flink.stands_at(job(run), now)


@pytest.mark.parametrize("action", [restart_from_stop_savepoint, restore_job_only], ids=lambda a: a.ACTION.name)
def test_after_an_idle_run_the_job_starts_from_what_pairs_with_the_head(idle: Scene, action) -> None:  # type: ignore[no-untyped-def]
    """The idle run has read nothing that main lacks; the undo goes back to what its stop has left."""
    view = idle.does(action)
    again = idle.plan(undoes=view.proposal.id, number=2)
    undone = undo_proposal.propose(again)

    assert view.state is ProposalState.APPLIED, view.result
    assert f"pairs with {short(idle.snapshot('a', 3))}" in " ".join(view.proposal.preview.sentences)
    [start] = [each for each in view.proposal.effects if isinstance(each, StartJob)]
    assert start.checkpoint_id == 3
    assert idle.carries_out(undone, again).state is ProposalState.APPLIED
    assert len(idle.alive) == 1


def test_one_that_commits_before_its_stop_ends_the_proposal(idle: Scene) -> None:
    """Rows may come between proposal and stop: the point would lie below them."""
    plan = idle.plan()
    made = idle.approved(restart_from_stop_savepoint.propose(plan), plan)
    idle.flink.checkpoints(B, 1)

    with pytest.raises(Superseded):
        idle.executions.begin(idle.incident, made.id, by=plan.by)

    assert idle.alive == [B]


def commits_that_are_gone(scene: Scene, run: str) -> None:
    """Two checkpoints of the run are committed, rolled back by hand, and expire."""
    before = scene.table.head
    assert before is not None
    scene.flink.checkpoints(job(run), 2)
    gone = [each.snapshot_id for each in scene.table.snapshots if each.job_id == job(run)]
    scene.rolls_back(to=before)
    scene.expires(gone)


@pytest.mark.parametrize("log", [slice(None), slice(-1, None)], ids=["its own lines", "all lines before are dropped"])
def test_a_run_whose_commits_were_rolled_back_and_have_expired_is_not_taken_for_an_idle_one(
    idle: Scene, monkeypatch: pytest.MonkeyPatch, log: slice
) -> None:
    """Its state lies beyond their rows, which would be lost; libraries expire the log in one way or the other."""
    commits_that_are_gone(idle, "b")
    idle.flink.stands_at(B, 12)
    table = idle.table
    shortened = with_fields(table, head_moves=tuple(table.head_moves)[log])
    monkeypatch.setattr(idle.catalog, "load", lambda _name: shortened)
    idle.flink.stop(JOB, B)

    assert left_idle(idle) is None


def test_what_main_lost_before_an_idle_run_began_is_no_matter(scene: Scene) -> None:
    """As after a rewind, from which it goes on; and others may commit on top."""
    scene.flink.stop(JOB, A)
    begins(scene, "c", savepoint_of(scene, "a", 3), at=3, now=3)
    commits_that_are_gone(scene, "c")
    scene.flink.ends(job("c"), "FAILED")
    begins(scene, "b", savepoint_of(scene, "a", 3), at=3, now=8)
    scene.backfill_commits()

    view = scene.does(restart_from_stop_savepoint)

    assert view.state is ProposalState.APPLIED, view.result


def test_no_savepoint_is_taken_of_an_idle_run(idle: Scene) -> None:
    """No snapshot could be tagged as its own; said before anything is stopped."""
    with pytest.raises(Refused, match=r"the table lists none of run bbbbbb\. Wait for its"):
        take_savepoint.propose(idle.plan())

    assert idle.alive == [B]


def test_where_a_repair_is_given_up_the_job_goes_on_from_an_idle_run(idle: Scene) -> None:
    """The rehearsal's stop has left it; without a commit that it does not know it goes on there."""
    idle.flink.stop(JOB, B)
    left = left_idle(idle)
    idle.flink.submit(job("c"), at_checkpoint=3)
    idle.flink.checkpoints(job("c"), 1)
    after_another_commit = left_idle(idle)

    assert left.checkpoint_id == 8
    assert after_another_commit is None


@pytest.mark.parametrize("action", [take_savepoint, restart_from_stop_savepoint])
def test_a_run_whose_savepoint_fails_goes_on(scene: Scene, action) -> None:  # type: ignore[no-untyped-def]
    """Nothing is cancelled: what follows the stop would have nothing to stand on."""
    plan = scene.plan()
    scene.flink.saves = "The savepoint folder cannot be written."

    view = scene.carries_out(action.propose(plan), plan)

    assert view.state is ProposalState.REFUSED
    assert scene.alive == [job("a")]
    assert scene.calls == []
    assert "folder cannot be written. It goes on." in view.result.sentence


def test_a_wrong_run_is_stopped_without_its_state(scene: Scene) -> None:
    """The point to restore is older than it; it must end in any case."""
    good = scene.snapshot("a", 3)
    scene.flink.savepoint(job("a"))
    scene.flink.stop("orders-to-iceberg", job("a"))
    scene.flink.submit(job("b"), at_checkpoint=1)
    scene.flink.checkpoints(job("b"), 1)
    plan = scene.plan(last_good=good, wrong_run=job("b"))
    scene.flink.saves = "The savepoint folder cannot be written."

    view = scene.carries_out(roll_back_table_and_restore_job.propose(plan), plan)

    assert view.state is ProposalState.APPLIED
    assert job("b") not in scene.alive


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (True, None),
        (False, "Flink deletes its checkpoints"),
        (None, "Flink may delete its checkpoints"),
    ],
)
def test_a_stop_that_may_delete_checkpoints_says_so(scene: Scene, kept: bool | None, said: str | None) -> None:
    """A run that cannot take a savepoint any more is cancelled, and its state goes unless Flink keeps it."""
    run = scene.flink.run(job("a"))
    settings = CheckpointSettings(mode="exactly_once", survives_cancel=kept)
    live = run.model_copy(update={"settings": settings})

    [_how, *warned] = stop_sentences(live)
    [needed] = stop_sentences(live, needs_state=True)

    assert [] == warned if said is None else said in warned[0]
    assert all(each.startswith("This may delete state for good") for each in warned)
    assert ("may lose its newest state" in state_at_risk(live)) is bool(warned)
    assert "cancel it and keep its checkpoints" in needed


def test_the_last_question_before_a_yes_says_so_too(scene: Scene) -> None:
    """Where a rewind's stop may delete state, and not where no run is alive."""
    good = scene.snapshot("a", 3)
    scene.flink.savepoint(job("a"))
    asked = roll_back_table_and_restore_job.propose(scene.plan(last_good=good, wrong_run=job("a"))).preview
    scene.flink.stop("orders-to-iceberg", job("a"))
    stopped = roll_back_table_and_restore_job.propose(scene.plan(last_good=good, wrong_run=job("a"))).preview

    assert asked.sure.endswith("may lose its newest state.")
    assert "may lose" not in stopped.sure


def named_by_day(plan: Plan) -> Proposal:
    """A proposal whose tag has the date alone in its name."""
    proposal = take_savepoint.propose(plan)
    effects = tuple(
        effect.model_copy(update={"tagged": f"{plan.at:%Y%m%d}"}) if isinstance(effect, KeepSavepoint) else effect
        for effect in proposal.effects
    )
    return proposal.model_copy(update={"effects": effects})


def test_checkpoint_ids_that_come_again_on_one_day_take_another_name(scene: Scene) -> None:
    """A rewind has the job count from two again: both savepoints are kept."""
    older = scene.flink.savepoint(job("a"))
    first = scene.plan()
    kept = scene.carries_out(take_savepoint.propose(first), first)
    scene.rolls_back(to=scene.snapshot("a", 2))
    scene.flink.submit(job("b"), at_checkpoint=2, restored=older)
    scene.flink.checkpoints(job("b"), 1)
    again = scene.plan(number=2).model_copy(update={"at": first.at + timedelta(seconds=1)})

    view = scene.carries_out(take_savepoint.propose(again), again)

    assert (kept.state, view.state) == (ProposalState.APPLIED, ProposalState.APPLIED), view.result
    assert {f"savepoint-3-{first.at:%Y%m%d}-p001", f"savepoint-3-{first.at:%Y%m%d}-p002"} <= {
        ref.name for ref in scene.table.refs
    }


def test_a_name_that_is_found_taken_after_the_stop_says_how_the_job_goes_on(scene: Scene) -> None:
    """Somebody has set the tag in between; and what it says can be done."""
    plan = scene.plan()
    taken = f"savepoint-3-{plan.at:%Y%m%d}"
    with scene.by_hand() as table:
        table.manage_snapshots().create_tag(scene.snapshot("a", 1), taken).commit()

    view = scene.carries_out(named_by_day(plan), plan)

    assert view.state is ProposalState.REFUSED
    assert f"Expected no tag {taken}" in view.result.sentence
    assert "`/waterline undo` starts the job again from exactly this savepoint" in view.result.sentence
    assert scene.alive == []
    back = scene.does(undo_proposal, number=2, undoes=view.proposal.id)
    assert back.state is ProposalState.APPLIED, back.result
    assert len(scene.alive) == 1
    assert scene.positions() == list(range(50))


RESTARTS = [restore_job_at_head, restart_with_new_job_id]


def planned(scene: Scene, kept: bool | None) -> Plan:
    """All that pairs with the head is the newest checkpoint of run a, which runs; `kept`: when it is cancelled."""
    if scene.flink.retained is None:
        scene.flink.retained = scene.flink.savepoint(job("a"))
    plan = scene.plan()
    assert plan.case.observation.jobs.state == "seen"
    checkpoint = {"is_durable": False, "checkpoint_kind": CheckpointKind.CHECKPOINT}
    pairings = tuple(each.model_copy(update=checkpoint) for each in plan.case.pairing.pairings)
    settings = CheckpointSettings(mode="exactly_once", survives_cancel=kept)
    runs = tuple(run.model_copy(update={"settings": settings}) for run in plan.case.observation.jobs.values)
    jobs = plan.case.observation.jobs.model_copy(update={"values": runs})
    return seeing(answering(plan, pairing=plan.case.pairing.model_copy(update={"pairings": pairings})), jobs=jobs)


@pytest.mark.parametrize("action", RESTARTS, ids=lambda a: a.__name__.rpartition(".")[2])
def test_a_run_whose_checkpoint_is_needed_is_cancelled_and_keeps_it(scene: Scene, action) -> None:  # type: ignore[no-untyped-def]
    """It could take a savepoint, and that would delete the only state that fits the table."""
    plan = planned(scene, kept=True)

    made = action.propose(plan)
    view = scene.carries_out(made, plan)

    assert "by a cancel, without a savepoint" in made.preview.sentences[0]
    assert view.state is ProposalState.APPLIED
    assert Path(scene.flink.retained or "").exists()
    assert scene.positions() == list(range(50))


@pytest.mark.parametrize("kept", [False, None])
@pytest.mark.parametrize("action", RESTARTS, ids=lambda a: a.__name__.rpartition(".")[2])
def test_what_flink_would_delete_by_the_stop_is_not_started_from(scene: Scene, action, kept: bool | None) -> None:  # type: ignore[no-untyped-def]
    """Refused with what to do, before anybody is asked for a yes."""
    with pytest.raises(Refused, match="not known that Flink keeps the checkpoints of a cancelled run") as refused:
        action.propose(planned(scene, kept))

    assert "RETAIN_ON_CANCELLATION. Or copy that folder away" in refused.value.remedy
