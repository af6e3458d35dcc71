"""Rewind table and job together: the one recipe that loses nothing and repeats nothing.

Rolling a table back under a running job leaves a hole, restoring a job against a table that does not pair
loses or repeats data (facts 0.1 to 0.4). So both move in one proposal: stop the wrong run, move `main` by
compare-and-swap to the snapshot that pairs with restore point M, start the job from M.
"""

from bot.actions._restore_points import newest_pair
from bot.domain.action import Action, Plan
from bot.domain.effects import Effect, MoveTable, StartJob, StopJob
from bot.domain.errors import Refused
from bot.domain.flink import JobRun
from bot.domain.ids import CheckpointId, SnapshotId, short, short_job
from bot.domain.proposal import AffectedRun, Preview, Proposal
from bot.domain.requirements import (
    HeadDescends,
    NobodyWrites,
    Requirement,
    RestorePointIntact,
    RunIsCurrent,
    SnapshotPresent,
    TableIs,
)
from bot.domain.table import Snapshot, TableState

ACTION = Action(
    name="rewind_table_and_job",
    title="Rewind table and job",
    promise="Every source position is in the table exactly once, and the job goes on from there.",
    needs=("ledger", "checkpoint_pairing"),
    proofs=(("duplicate_rows", "No row is there twice"), ("missing_positions", "No row is missing")),
)


def propose(plan: Plan) -> Proposal:
    """The rewind to the newest durable restore point that pairs at or below the last good snapshot.

    Raises Refused when no restore point pairs, when the job is not configured, or when Flink was not seen.
    """
    case, table = plan.case, plan.case.observation.table
    if case.job_name is None or table.head is None or plan.match.last_good is None:
        raise Refused(
            "A rewind cannot be proposed for this table.",
            "Expected a configured job, a head and a last good snapshot; "
            f"found job {case.job_name}, head {short(table.head)}, last good {short(plan.match.last_good)}.",
            "Name the table's job in the configuration file, or repair by hand.",
        )
    job = case.job_name
    point = newest_pair(case, plan.match.last_good)
    live = _live_run(plan)
    kept = f"{plan.incident}-left-{plan.proposal[-4:].lower()}"
    effects: list[Effect] = []
    requirements: list[Requirement] = [TableIs(uuid=table.uuid)]
    if live is not None:
        effects.append(StopJob(job=job, job_id=live.job_id))
        requirements.append(RunIsCurrent(job=job, job_id=live.job_id))
    effects += [
        MoveTable(table=table.name, to=point.snapshot_id, keep_head_as=kept),
        StartJob(job=job, path=point.path, checkpoint_id=point.checkpoint_id, on_top_of=point.snapshot_id),
    ]
    requirements += [
        HeadDescends(head=table.head, job_id=live.job_id if live else None),
        *([] if live else [NobodyWrites(job=job)]),
        SnapshotPresent(snapshot_id=point.snapshot_id),
        RestorePointIntact(job=job, path=point.path, checkpoint_id=point.checkpoint_id, digest=point.digest),
    ]
    left = left_behind(table, point.snapshot_id)
    return Proposal(
        id=plan.proposal,
        action=ACTION.name,
        title=f"{ACTION.title}: back to checkpoint {point.checkpoint_id}",
        table=table.name,
        because=f"{plan.mode.code}: {plan.match.headline}",
        code=plan.mode.code,
        effects=tuple(effects),
        requirements=tuple(requirements),
        preview=_preview(plan, left, live, point.snapshot_id, point.checkpoint_id, point.path),
        evidence=plan.evidence,
        undo=(
            f"Until maintenance expires it, the state that is left behind stays readable under the tag "
            f"{kept}. "
            f"To go back to it: stop the job, move main to that tag, and start the job from the savepoint or "
            f"checkpoint of the run that wrote it. That brings the fault back, too."
        ),
        policy=plan.policy,
        proposed_by=plan.by,
        proposed_at=plan.at,
    )


def left_behind(table: TableState, to: SnapshotId) -> tuple[Snapshot, ...]:
    """The commits on main after `to`, oldest first; all of main's when `to` is not an ancestor."""
    kept = {s.snapshot_id for s in table.ancestors(to)}
    return tuple(s for s in reversed(table.chain) if s.snapshot_id not in kept)


def _live_run(plan: Plan) -> JobRun | None:
    jobs = plan.case.observation.jobs
    if jobs.state == "not-seen":
        raise Refused(
            "A rewind cannot be proposed while Flink cannot be asked.",
            f"Expected an answer from {jobs.source}; found: {jobs.reason}",
            jobs.remedy,
        )
    live = [run for run in jobs.values if not run.is_terminal]
    if len(live) > 1:
        raise Refused(
            "A rewind cannot be proposed while several runs of the job are alive.",
            f"Expected at most one; found {', '.join(short_job(run.job_id) for run in live)}.",
            "Stop all but the one that should be the table's writer, then collect evidence again.",
        )
    return live[0] if live else None


def _preview(
    plan: Plan, left: tuple[Snapshot, ...], live: JobRun | None, to: SnapshotId, checkpoint: CheckpointId, path: str
) -> Preview:
    gone = {s.snapshot_id for s in left}
    reads = plan.case.observation.reads
    affected = tuple(
        AffectedRun(consumer=r.consumer, run_id=r.run_id, at=r.at, snapshot_id=r.snapshot_id)
        for r in reads.values
        if r.snapshot_id in gone
    )
    rows = sum(s.counted("added-records") for s in left)
    sentences = [
        f"Stop run {short_job(live.job_id)} of {live.name} (with a savepoint if it can still take one, not drained)."
        if live
        else "No run of the job is alive: nothing is stopped.",
        *(["What that run commits until it stands still is taken off main as well."] if live else []),
        f"Move main of {plan.case.observation.table.name} to snapshot {short(to)} in one commit that is refused if "
        "anything unforeseen was committed; the present head stays readable under a tag.",
        f"Start the job from checkpoint {checkpoint} at {path}; its source re-reads everything after it.",
        f"Verify: the next commit is checkpoint {checkpoint + 1} on top of {short(to)}, no row is there twice, "
        "no row is missing.",
    ]
    return Preview(
        commits=len(left),
        files=sum(s.counted("added-data-files") for s in left),
        rows=rows,
        replayed_from=checkpoint,
        affected_runs=affected,
        readers_known=reads.state == "seen",
        sure=f"{rows:,} rows leave main of {plan.case.observation.table.name}, and the job restarts from checkpoint "
        f"{checkpoint}.",
        sentences=tuple(sentences),
    )
