"""Lost commits that are put back under Flink's keys: no state of their run pairs above what another run has read."""

from pathlib import Path
from types import ModuleType

import pytest

from bot.actions import forward_job, restart_with_new_job_id, restore_job_only, restore_lost_commits
from bot.actions._restore_points import newest_pair
from bot.actions._stopped_state import newest_that_pairs
from bot.domain.action import Plan
from bot.domain.effects import ChangeFiles, StartJob
from bot.domain.errors import Refused
from bot.domain.file_changes import FileList, FileSources, FileSurvey
from bot.domain.findings import PairVerdict
from bot.domain.flink import CheckpointKind
from bot.domain.ids import CheckpointId
from bot.domain.ledger import Ledger, LedgerRow
from bot.domain.own_points import pairings_of, points_told_apart
from bot.domain.proposal import Proposal
from bot.domain.run_commits import without_put_back
from bot.domain.snapshot import REPAIR
from bot.domain.table import TableState
from tests.actions.scene import ProposalState, Scene
from tests.little_flink import JOB
from tests.tables import ORDERS, job, of_flink, rows

A, C = job("a"), job("c")
FROM_A_PAIR = [forward_job, restore_job_only, restart_with_new_job_id]


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


def goes_on(scene: Scene, restored: Path) -> None:
    """The job goes on as run c, above the hole."""
    scene.flink.submit(C, at_checkpoint=6, restored=restored)
    scene.flink.checkpoints(C, 3)


def savepoint_of(scene: Scene, run: str, checkpoint: int) -> Path:
    """Where the little Flink writes it."""
    return scene.flink.savepoints / f"savepoint-{job(run)[:6]}-{checkpoint:012x}"


def puts_back(scene: Scene) -> None:
    """A repair that carries the keys of a's newest lost commit is published, as by an earlier version."""
    summary = {**of_flink("a", 5), "engine-name": "waterline", REPAIR: "01X/3", "waterline.incident": scene.incident}
    scene.commits(rows(range(30, 50)), summary)


def with_ledger(plan: Plan) -> Plan:
    """With the source positions of each commit, ten a checkpoint, and files that can be added again."""
    table, added = plan.case.observation.table, FileSources(added_by=())
    files = FileList(sources=added, files=2, rows=20, bytes=9, digest="d")
    case = plan.case.model_copy(update={"ledger": Ledger(rows=_ledger(table), readers_known=True)})
    return plan.model_copy(
        update={"case": case, "survey": lambda *_sources: FileSurvey(add=files, remove=None), "branches": ()}
    )


def _ledger(table: TableState) -> tuple[LedgerRow, ...]:
    return tuple(
        LedgerRow(
            snapshot_id=s.snapshot_id, parent_id=s.parent_id, sequence_number=s.sequence_number,
            committed_at=s.committed_at, on_main=s.snapshot_id in table.chain_ids, operation=s.operation,
            engine=s.engine, job_id=s.job_id, operator_id=s.operator_id, checkpoint_id=s.checkpoint_id,
            checkpoint_kind=CheckpointKind.CHECKPOINT, attempts=None, added_files=1, added_rows=10, removed_files=0,
            removed_rows=0, code_version=None, readers=(), position_from=((s.checkpoint_id or 100) - 1) * 10,
            position_until=(s.checkpoint_id or 100) * 10 - 1,
        )
        for s in table.snapshots
    )  # fmt: skip


def carried(proposal: Proposal) -> dict[str, str]:
    """What the repair's commit will say of Flink."""
    return dict(next(e.carries for e in proposal.effects if isinstance(e, ChangeFiles)))


def start_of(proposal: Proposal) -> str:
    """The restore point of the one start."""
    return next(e.path for e in proposal.effects if isinstance(e, StartJob)).removeprefix("file:")


def test_keys_are_carried_where_the_job_has_not_gone_on(rolled_back: Scene) -> None:
    """A run that looks for checkpoint 5 finds it committed, and not the manifest that is gone."""
    rolled_back.backfill_commits()

    proposal = restore_lost_commits.propose(with_ledger(rolled_back.plan()))

    assert carried(proposal)["flink.max-committed-checkpoint-id"] == "5"


def test_no_key_is_carried_above_commits_of_a_later_run(rolled_back: Scene) -> None:
    """They would say that a's state pairs with a head that has rows of run c."""
    goes_on(rolled_back, savepoint_of(rolled_back, "a", 6))

    proposal = restore_lost_commits.propose(with_ledger(rolled_back.plan()))

    assert not any(key.startswith("flink.") for key in carried(proposal))


def test_it_is_refused_where_the_job_fails_for_want_of_them(rolled_back: Scene) -> None:
    """Then putting rows back would not let it restart; what does is said."""
    goes_on(rolled_back, savepoint_of(rolled_back, "a", 6))
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
    goes_on(rolled_back, savepoint_of(rolled_back, "a", 6))
    rolled_back.flink.stop(JOB, C, needs_state=True)
    puts_back(rolled_back)
    for run in (A, C) if is_forgotten else ():
        rolled_back.flink.forgets(run)
    plan = rolled_back.plan()

    view = rolled_back.carries_out(action.propose(plan), plan)

    assert str(savepoint_of(rolled_back, "c", 9)) == start_of(view.proposal)
    assert view.state is ProposalState.APPLIED
    assert rolled_back.positions() == [*range(50), *range(60, 110)]


def test_the_last_step_of_a_repair_finds_what_its_own_stop_has_left(rolled_back: Scene) -> None:
    """The publication starts the job from there, on top of what was put back."""
    goes_on(rolled_back, savepoint_of(rolled_back, "a", 6))
    rolled_back.flink.stop(JOB, C, needs_state=True)
    puts_back(rolled_back)

    point = newest_that_pairs(rolled_back.observer.hands.world(ORDERS), JOB, C)

    assert CheckpointId(9) == point.checkpoint_id


def test_a_state_of_the_lost_run_belongs_to_the_lost_commit(rolled_back: Scene) -> None:
    """Evidence and refusals say so of each point, and why it does not pair with the head."""
    goes_on(rolled_back, savepoint_of(rolled_back, "a", 6))
    puts_back(rolled_back)
    case = rolled_back.plan().case

    [six] = [each for each in pairings_of(case) if each.job_id == A]
    gone = tuple(s for s in case.observation.table.snapshots if s.snapshot_id != rolled_back.snapshot("a", 5))
    expired = rolled_back.table.model_copy(update={"snapshots": gone})
    observation = case.observation.model_copy(update={"table": expired})
    [without] = [each for _, each in points_told_apart(case.model_copy(update={"observation": observation}))]

    assert six.snapshot_id == rolled_back.snapshot("a", 5)
    assert "above commits of another run, which this state does not hold; it belongs to" in six.reason
    assert (without.verdict, without.snapshot_id) == (PairVerdict.BEHIND, None)


def test_a_rewind_does_not_take_what_was_put_back_for_a_state_of_the_lost_run(rolled_back: Scene) -> None:
    """Run c's rows below it would be read again."""
    goes_on(rolled_back, savepoint_of(rolled_back, "a", 6))
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
    plan = rolled_back.plan()

    view = rolled_back.carries_out(forward_job.propose(plan), plan)

    assert str(savepoint_of(rolled_back, "a", 6)) == start_of(view.proposal)
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

    assert str(savepoint_of(scene, "b", 5)) == start_of(forward_job.propose(scene.plan()))


def test_above_commits_that_have_expired_it_speaks_for_nobody(rolled_back: Scene) -> None:
    """Any run may have gone on there; where the whole line is listed, and it is the first of Flink's, it does."""
    puts_back(rolled_back)
    newest = rolled_back.table.chain[0]
    alone = newest.model_copy(update={"summary": {**newest.summary, "total-records": "20"}, "parent_id": None})

    cut = rolled_back.table.model_copy(update={"snapshots": (newest,)})
    whole = rolled_back.table.model_copy(update={"snapshots": (alone,)})

    assert without_put_back([newest], cut) == ()
    assert without_put_back([alone], whole) == (alone,)
