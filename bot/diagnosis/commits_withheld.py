"""F3: checkpoints complete, but their commits are skipped until the ids pass an old maximum.

Happens when a job is restored from an older point under the same job id, and with the V1 sink under any job id: its
committer remembers the newest id on the table. A failover before the old maximum drops the files for good (facts 1.1).
"""

from collections.abc import Iterator

from bot.diagnosis._support.case import (
    LOST_FIRST_RESTORE,
    empty_starts,
    in_window,
    listed,
    not_asked,
    rewinds_in,
    rows_by,
    run_of,
    unseen,
    writes_as_v1,
)
from bot.diagnosis._support.leaks import (
    came_again,
    can_be_appended,
    in_doubt,
    in_words,
    leaks_of,
    runs_never_let_in,
    up_to,
)
from bot.diagnosis._support.restoring import can_rewind_to, rewind_or
from bot.diagnosis._support.rightness import root_in_doubt
from bot.diagnosis._support.upsert import why_upsert
from bot.diagnosis._support.wrong_rows import open_rewinds, overlap, whose_run
from bot.diagnosis.late_files_replaced import replaced
from bot.history.case import Case
from bot.history.starts import Rewind, came_up_at, flink_commits
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.findings import LeakedManifest, LeakStanding
from bot.observation.flink import CheckpointKind, JobRun
from bot.observation.ids import DRAINED, OperatorId, SnapshotId, short, short_job
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from bot.observation.table import Snapshot


def came_again_by_itself(case: Case) -> Matches | CannotTell | None:
    """A match where a source range of its own came again with them (`duplicate_commits`), else what is missing to know;
    None: no copies of that kind, or the source is known to have given them twice. Where the run was never restored,
    where a rewind is seen, or ids show a start without state or a commit that was made twice, these tell."""
    found = list(_pairs(case)) if why_upsert(case) is None else []
    if not found:
        return None
    ranges = _came_again(case, "same-source-range")
    proven = [each for each in found if each[1].snapshot_id in ranges]
    first, second = min(proven or found, key=lambda pair: case.observation.table.place_of(pair[1].snapshot_id))
    return _they_match(case, first, second) if proven else CannotTell(missing=(_untold(first, second),))


def _pairs(case: Case) -> Iterator[tuple[Snapshot, Snapshot]]:
    """(earlier, later) commit of one run, which was or may have been restored, with copies in both."""
    table, inside = case.observation.table, {s.snapshot_id for s in in_window(case)}
    told = {each.run for each in rewinds_in(case) if each.keeps_job_id}
    told |= {each.run for each in empty_starts(case) if each.keeps_job_id}
    repeated = _came_again(case, "same-files") | _came_again(case, "same-checkpoint")
    for pair in case.duplicates.pairs if case.duplicates is not None else ():
        first, second = table.by_id.get(pair.first), table.by_id.get(pair.second)
        if first is None or second is None or first == second or second.snapshot_id not in inside - repeated:
            continue
        if second.job_id is None or first.job_id != second.job_id or second.job_id in told:
            continue
        run = run_of(case, second.job_id)
        if run is not None and run.restored is None and not run.restored_count:
            continue
        if overlap(case, first.snapshot_id, second.snapshot_id) is not False:
            yield first, second


def _came_again(case: Case, how: str) -> frozenset[SnapshotId]:
    """The commits that brought again, in this way, what another of their own run had."""
    by_id = case.observation.table.by_id
    repeated = case.duplicate_commits.repeated if case.duplicate_commits is not None else ()
    own = (r for r in repeated if r.how == how and r.first in by_id and r.again in by_id)
    return frozenset(r.again for r in own if by_id[r.first].job_id == by_id[r.again].job_id)


def _untold(first: Snapshot, second: Snapshot) -> str:
    lost = LOST_FIRST_RESTORE.format(run=short_job(second.job_id))
    return (
        f"{lost}: {short(second.snapshot_id)} brought keys of {short(first.snapshot_id)} again, and both are its own; "
        "either it read its source again from below, or the source gave them twice"
    )


def _they_match(case: Case, first: Snapshot, second: Snapshot) -> Matches:
    run, extra = second.job_id, case.duplicates.extra_rows if case.duplicates is not None else 0
    return Matches(
        headline=f"Run {short_job(run)} committed again what it had committed itself.",
        reasons=(
            f"{short(second.snapshot_id)}, its checkpoint {second.checkpoint_id}, covers source positions of its own "
            f"checkpoints before it again, and keys of {short(first.snapshot_id)}, checkpoint {first.checkpoint_id}, "
            f"live twice: {counted(extra, 'row')} too many.",
            "Flink shows only the newest restore of a run. An earlier one, from below what was committed, reads like "
            "this, under the same job id.",
        ),
        rows=rows_by(case, (run,) if run is not None else (), first.checkpoint_id),
        last_good=second.parent_id,
        wrong_run=run,
        remedy=rewind_or(case, second.parent_id, Remedy.DEDUPLICATE_ROWS),
    )


def passed_over(case: Case) -> tuple[LeakedManifest, ...]:
    """Dropped manifests of runs whose restore Flink no longer lists, but for those without rows and deletes, and those
    that their sink replaced (F27)."""
    empty = {s.run for s in empty_starts(case) if s.keeps_job_id}
    dropped = case.leaked.of(LeakStanding.DROPPED) if case.leaked is not None else ()
    other = {leak.path for leak in replaced(case)}
    return tuple(leak for leak in dropped if leak.job_id not in empty and not leak.is_empty and leak.path not in other)


def forgotten(case: Case, dropped: tuple[LeakedManifest, ...]) -> Matches:
    """F3's answer where such checkpoints of one run are lost, and its restore is not listed any more."""
    job, first = dropped[0].job_id, dropped[0].checkpoint_id
    commits = [s for s in flink_commits(case.observation.table) if s.job_id == job]
    before = [s for s in commits if s.checkpoint_id is not None and s.checkpoint_id < first]
    last = commits[-1] if commits else None
    appendable = can_be_appended(case, dropped)
    return Matches(
        headline=f"The sink of run {short_job(job)} passed over {len(dropped)} completed checkpoints for good.",
        reasons=(
            in_words(dropped),
            f"The table has checkpoint {last.checkpoint_id} of that run ({short(last.snapshot_id)}), so the sink takes "
            "these for committed and will never look at them again."
            if last is not None
            else "No commit of that run is on main.",
            "Where Flink restored the run from is no longer listed; a restore from below what is committed does this.",
        ),
        rows=tuple(s.snapshot_id for s in commits if s.checkpoint_id is not None and s.checkpoint_id >= first),
        last_good=before[-1].snapshot_id if before else None,
        remedy=Remedy.RECOVER_LEAKED_MANIFESTS if appendable else Remedy.REPLAY_SOURCE_RANGE,
    )


MODE = Mode(
    code="F3",
    name="commits_withheld",
    title="completed checkpoints are not committed to the table",
    needs=("ledger", "leaked_manifests", "checkpoint_pairing"),
    false_positives=(
        "A quiet source: without rows the sink commits only every tenth checkpoint.",
        "A run that has just started: its first checkpoint is not complete yet.",
        "Clocks that differ: a commit after a failover may bear a time before it. Closer than five seconds, only "
        "Flink's list of checkpoints tells.",
    ),
    neighbours={
        "F5": "There the newest commit carries Long.MAX_VALUE, which no id passes. Here commits appear again "
        "once the ids pass the old maximum.",
        "F6": "There commits were on main and a rollback took them off. Here they never came.",
        "F11": "There nothing explains the silence, and the next commit takes everything along. Here a "
        "restore from below the head explains the silence, and a failover before the old maximum loses the "
        "files.",
        "F12": "There the sink has another operator id and does not know the old one's manifests. Here it "
        "kept its id and skips its own.",
        "F27": "There the checkpoint failed, and its sink replaced the manifest. Here Flink completed the checkpoint.",
        "healthy": "There the run was restored from the newest committed checkpoint and only its first commit "
        "is still to come. Here from below it.",
        "wait": "There Flink has not settled the run yet. Here it runs and completes checkpoints.",
    },
    act=Act.RECOVER,
    remedies=(
        Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB,
        Remedy.RESTART_WITH_NEW_JOB_ID,
        Remedy.CHANGE_OPERATOR_UID,
        Remedy.RECOVER_LEAKED_MANIFESTS,
        Remedy.REPLAY_SOURCE_RANGE,
        Remedy.DEDUPLICATE_ROWS,
    ),
)


def examine(case: Case) -> Examined:
    """Matches on a restore below the old maximum where the sink keeps that maximum: same job id, or V1."""
    if case.ledger is None:
        return CannotTell(missing=(not_asked(case, "ledger"),))
    jobs = case.observation.jobs
    every = rewinds_in(case)
    found = [r for r in every if not r.is_interleaved]
    kept = [(r, _keeps_maximum(case, r)) for r in found]
    held = next((r for r, keeps in kept if keeps), None)
    if held is not None:
        return _matches(case, held)
    if isinstance(jobs, NotSeen):
        return CannotTell(missing=(unseen(jobs),))
    of_a_drain = runs_never_let_in(case)
    left = tuple(leak for leak in passed_over(case) if leak.job_id not in of_a_drain)
    lost = [leak for leak in left if came_again(leak, case) is False]
    if lost:
        return forgotten(case, leaks_of(case, lost[0].job_id, LeakStanding.DROPPED))
    unknown = next((r for r, keeps in kept if keeps is None), None)
    if unknown is not None:
        return CannotTell(missing=(f"the operators of run {short_job(unknown.run)} ({jobs.source} lists none)",))
    if (doubt := _doubt(case, left)) is not None:
        return CannotTell(missing=(doubt,))
    if (again := came_again_by_itself(case)) is not None:
        return again
    if found:
        return Excluded(reason=_at_once(case, found[0]))
    if every:
        return Excluded(
            reason=f"Run {short_job(every[0].earlier)} commits on beside run {short_job(every[0].run)} (F13)."
        )
    return root_in_doubt(case) or Excluded(
        reason="No run was restored from below a checkpoint that is committed, so no commit is withheld."
    )


def _doubt(case: Case, left: tuple[LeakedManifest, ...]) -> str | None:
    """What else is missing to know that nothing is withheld; after a drain F5 tells of what was passed over."""
    unsure = tuple(leak for leak in left if came_again(leak, case) is None)
    if unsure and not any(s.checkpoint_id == DRAINED for s in flink_commits(case.observation.table)[-1:]):
        return in_doubt(unsure)
    return next((whose_run(r) for r in open_rewinds(case) if _keeps_maximum(case, r) is not False), None)


def _keeps_maximum(case: Case, rewind: Rewind) -> bool | None:
    """Whether the sink skips ids up to the old maximum; None while only the unknown sink could tell."""
    if rewind.keeps_job_id:
        return True
    first = case.observation.table.by_id[rewind.first] if rewind.first else None
    if first is not None and first.checkpoint_id is not None:
        return first.checkpoint_id > rewind.reached
    return writes_as_v1(run_of(case, rewind.run), _operator(case, rewind))


def _operator(case: Case, rewind: Rewind) -> OperatorId | None:
    commits = reversed(flink_commits(case.observation.table))
    return next((s.operator_id for s in commits if s.job_id == rewind.earlier), None)


def _matches(case: Case, rewind: Rewind) -> Matches:
    run = run_of(case, rewind.run)
    kind = "the same job id" if rewind.keeps_job_id else "the V1 sink"
    reasons = [
        f"Run {short_job(rewind.run)} was restored from checkpoint {rewind.restored}, and checkpoint {rewind.reached} "
        f"of run {short_job(rewind.earlier)} is on the table already.",
        f"With {kind} the committer skips every id up to {rewind.reached}, although Flink calls them completed.",
    ]
    if run is not None:
        reasons.extend(_skipped(run, rewind))
    reasons.append(_what_came(case, rewind.first, rewind))
    dropped = up_to(leaks_of(case, rewind.run, LeakStanding.DROPPED), rewind.reached)
    if dropped:
        reasons.append(in_words(dropped))
    possible = can_rewind_to(case, rewind.last_before)
    if possible is False:
        reasons.append(
            "No durable restore point pairs with main, so table and job cannot be rolled back: "
            + ("under a new job id the V2 sink" if rewind.keeps_job_id else "under a new uid the V1 sink")
            + " commits again at once, and what was dropped is appended from its manifests."
        )
    return Matches(
        headline=f"Run {short_job(rewind.run)} withholds its commits up to checkpoint {rewind.reached}."
        if rewind.first is None
        else f"Run {short_job(rewind.run)} withheld its commits up to checkpoint {rewind.reached}.",
        reasons=tuple(reasons),
        rows=rows_by(case, (rewind.earlier, rewind.run), rewind.restored),
        last_good=rewind.last_before,
        wrong_run=rewind.run,
        remedy=_remedy(rewind, can_rewind=possible is not False),
    )


def _remedy(rewind: Rewind, *, can_rewind: bool) -> Remedy:
    """A new job id frees the V2 sink; V1 keeps the old id in its state and forgets it only with its uid."""
    if can_rewind:
        return Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB
    return Remedy.RESTART_WITH_NEW_JOB_ID if rewind.keeps_job_id else Remedy.CHANGE_OPERATOR_UID


def _skipped(run: JobRun, rewind: Rewind) -> list[str]:
    """The completed checkpoints at or below the old maximum that the run took itself."""
    since = came_up_at(run)
    ids = sorted(
        c.checkpoint_id
        for c in run.checkpoints
        if c.status == "COMPLETED"
        and c.kind is not CheckpointKind.SAVEPOINT
        and c.triggered_at >= since
        and c.checkpoint_id <= rewind.reached
    )
    if not ids:
        return []
    return [f"Flink completed {listed(ids)} in run {short_job(run.job_id)}, and no snapshot carries them for it."]


def _what_came(case: Case, first: SnapshotId | None, rewind: Rewind) -> str:
    if first is None:
        return f"Nothing was committed since. {_what_comes(case, rewind)}"
    commit = case.observation.table.by_id[first]
    return (
        f"Then {short(first)} came under checkpoint {commit.checkpoint_id} with "
        f"{commit.counted('added-records')} rows at once."
    )


def _what_comes(case: Case, rewind: Rewind) -> str:
    """V1 keeps what it skips; V2 takes a checkpoint whose id is committed for done, and lets its files go."""
    v1 = writes_as_v1(run_of(case, rewind.run), _operator(case, rewind))
    waits = (
        f"when the ids pass {rewind.reached}, all of it comes in one commit; if the job fails over before that, the "
        "rows are lost."
    )
    goes = f"what it wrote up to {rewind.reached} never comes; only what follows is committed."
    if v1 is None:
        return f"If it is a V1 sink, {waits} If it is V2, {goes}"
    return f"It is a V1 sink: {waits}" if v1 else f"It is a V2 sink: {goes}"


def _at_once(case: Case, rewind: Rewind) -> str:
    if rewind.first is None:
        return (
            f"Run {short_job(rewind.run)} writes with the V2 sink under a new job id: it commits at its next "
            "checkpoint and withholds nothing."
        )
    first = case.observation.table.by_id[rewind.first]
    return (
        f"Run {short_job(rewind.run)} committed checkpoint {first.checkpoint_id} at once, although run "
        f"{short_job(rewind.earlier)} had reached {rewind.reached}: nothing was withheld."
    )
