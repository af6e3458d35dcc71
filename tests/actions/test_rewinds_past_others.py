"""A rewind takes off main what others committed since: it is named, and only dropped where people say so."""

import pytest

from bot.actions import rewind_table_and_job
from bot.actions._completing import completed
from bot.adapters.clock import SystemClock
from bot.domain.action import Plan
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from bot.domain.other_writers import keeps_its_rows
from bot.domain.table import Snapshot
from bot.service.verifying import Verifier
from tests.actions.guests import declared, forgotten, guest, guest_commits
from tests.actions.scene import Scene
from tests.actions.test_guests_above_a_stop import commits
from tests.little_flink import JOB
from tests.tables import job


def damaged(scene: Scene) -> None:
    """Run b goes on from the older savepoint, and commits rows that run a had committed."""
    older = scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    scene.flink.stop(JOB, job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=older)
    scene.flink.checkpoints(job("b"), 2)


def rewinding(scene: Scene, *, drops_others: bool = False) -> Plan:
    """Back to the last commit of run a."""
    plan = scene.plan(last_good=scene.snapshot("a", 4), wrong_run=job("b"))
    return plan.model_copy(update={"drops_others": drops_others})


def seen_as(plan: Plan, change: Snapshot) -> Plan:
    """The same with the head as `change` has it."""
    table = plan.case.observation.table
    snapshots = tuple(change if s.snapshot_id == change.snapshot_id else s for s in table.snapshots)
    table = type(table).model_validate({**table.model_dump(), "snapshots": snapshots})
    observation = plan.case.observation.model_copy(update={"table": table})
    return plan.model_copy(update={"case": plan.case.model_copy(update={"observation": observation})})


def test_rows_of_another_writer_are_not_dropped_unasked(scene: Scene) -> None:
    """The refusal names writer and rows, and how to say that they may go."""
    damaged(scene)
    scene.backfill_commits()

    with pytest.raises(Refused, match=r"3 rows in 1 commit of spark application local-17.*drop_others=yes"):
        rewind_table_and_job.propose(rewinding(scene))


def test_what_is_dropped_by_choice_is_named_and_nothing_more_is_promised(scene: Scene) -> None:
    """The preview says what does not come back; the approved rewind is carried out."""
    damaged(scene)
    scene.backfill_commits()
    plan = rewinding(scene, drops_others=True)

    proposal = rewind_table_and_job.propose(plan)
    view = scene.carries_out(proposal, plan)

    told = " ".join(completed(proposal, plan).preview.sentences)
    assert "3 rows in 1 commit of spark application local-17" in told
    assert "and the job does not read again" in told
    assert "no missing rows" not in told
    assert "does not read 3 rows of other writers again" in proposal.preview.sure
    assert [(each.writer, each.rows) for each in proposal.preview.others] == [("spark application local-17", 3)]
    assert view.state is ProposalState.APPLIED
    assert not [each for each in scene.positions() if each >= 900]
    verifying = Verifier(scene.store, scene.observer, None, {}, SystemClock())  # type: ignore[arg-type]
    assert verifying._moves_waterline(scene.store.get(scene.incident), view) == "under-review"


def test_a_rewind_of_the_jobs_own_commits_promises_as_before(scene: Scene) -> None:
    """Also where it is said that others may go: there are none."""
    damaged(scene)

    proposal = rewind_table_and_job.propose(rewinding(scene))
    chosen = rewind_table_and_job.propose(rewinding(scene, drops_others=True))

    assert proposal.preview.others == ()
    assert "no missing rows" in proposal.preview.sentences[-1]
    assert chosen.digest == proposal.digest
    assert "others" not in proposal.preview.model_dump()


def test_a_compaction_is_nobodys_rows_and_adds_none(scene: Scene) -> None:
    """What it has written again is not counted as leaving main a second time, neither rows nor files."""
    damaged(scene)
    plan = rewinding(scene)
    table = plan.case.observation.table
    head = table.by_id[table.head]  # type: ignore[index]
    summary = {"added-records": "1000000", "deleted-records": "1000000", "added-data-files": "4"}
    compaction = head.model_copy(update={"operation": "replace", "summary": summary})
    before = rewind_table_and_job.propose(plan).preview

    plan = seen_as(plan, compaction)
    preview = rewind_table_and_job.propose(plan).preview

    assert keeps_its_rows(plan.case.observation.table, compaction)
    assert preview.commits == before.commits
    assert preview.rows == before.rows - head.counted("added-records")
    assert preview.files == before.files - head.counted("added-data-files")


def test_another_job_is_another_writer(scene: Scene) -> None:
    """Its run is none of this job's, and its sink is another operator."""
    damaged(scene)
    plan = rewinding(scene)
    table = plan.case.observation.table
    head = table.by_id[table.head]  # type: ignore[index]
    summary = {**dict(head.summary), "flink.job-id": job("e"), "flink.operator-id": "e" * 32}

    with pytest.raises(Refused, match=f"Flink run {'e' * 6}"):
        rewind_table_and_job.propose(seen_as(plan, head.model_copy(update={"summary": summary})))


@pytest.mark.parametrize("has_savepoint", [False, True], ids=["nothing on storage", "its savepoint beside the job's"])
@pytest.mark.parametrize("is_forgotten", [False, True], ids=["listed", "forgotten"])
def test_a_guest_is_another_writer_also_with_a_savepoint(
    scene: Scene, *, has_savepoint: bool, is_forgotten: bool
) -> None:
    """A restore point that is found names a run, not whose it is."""
    damaged(scene)
    if has_savepoint:
        guest_commits(scene, 8, 900)
    else:
        commits(scene, "e", 8, range(900, 903), operator="ee" * 16)
    if is_forgotten:
        forgotten(scene, "a")

    with pytest.raises(Refused, match=r"3 rows in 1 commit of Flink run eeeeee .*drop_others=yes"):
        rewind_table_and_job.propose(rewinding(scene))


def test_a_declared_job_of_the_same_sink_is_another_writer(scene: Scene) -> None:
    """Two jobs made of one program name their sinks alike; the configuration tells them apart."""
    damaged(scene)
    other = guest(scene, 90)
    other.checkpoints(job("e"))
    other.savepoint(job("e"))
    declared(scene)

    with pytest.raises(Refused, match=r"10 rows in 1 commit of Flink run eeeeee .*drop_others=yes"):
        rewind_table_and_job.propose(rewinding(scene))


@pytest.mark.parametrize("suffix", ["", "-green"], ids=["by the same sink", "by another"])
def test_kin_that_wrote_on_is_no_other_writer(scene: Scene, suffix: str) -> None:
    """It reads what the job reads: the job makes its rows again."""
    older = scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    scene.flink.stop(JOB, job("a"))
    other = guest(scene, 3)
    other.submit(job("e"), at_checkpoint=3, restored=older, suffix=suffix)
    other.checkpoints(job("e"), 2)
    declared(scene)
    plan = scene.plan(last_good=scene.snapshot("a", 4), wrong_run=None)

    proposal = completed(rewind_table_and_job.propose(plan), plan)

    assert proposal.preview.others == ()
