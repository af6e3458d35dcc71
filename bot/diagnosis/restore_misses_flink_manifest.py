"""F7: after a rollback the job cannot restart, because its state owes a Flink manifest that was committed and deleted.

The checkpoint's commit is no ancestor of the head any more, so the sink means to commit it again, and the file is
gone: NotFoundException, restart, and so on until Flink gives up (facts 0.3).
"""

from bot.diagnosis._support.case import unseen
from bot.diagnosis._support.missing_manifest import (
    Fate,
    MissingManifest,
    fate,
    is_back,
    missing_manifest,
    rolled_back_with,
    unnamed_file,
)
from bot.diagnosis._support.restoring import pair_with_head
from bot.history.case import Case
from bot.history.starts import flink_commits
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.ids import short, short_job
from bot.observation.looked import NotSeen

MODE = Mode(
    code="F7",
    name="restore_misses_flink_manifest",
    title="the job cannot restart, because the commit that its state owes was rolled back",
    needs=("checkpoint_pairing",),
    false_positives=(
        "A storage outage or missing rights: then other files cannot be read either, and the manifest is listed.",
        "Failures from before the newest completed checkpoint: they are over.",
    ),
    neighbours={
        "F6": "There the job goes on and commits above the hole. Here it fails at every restart.",
        "F8": "There the table lists no snapshot of that run any more. Here the commit is listed, and was rolled back.",
        "F9": "There no listed snapshot holds the checkpoint, so its manifest was deleted without a "
        "commit. Here a rolled-back snapshot holds the checkpoint.",
        "wait": "There a restart is still to come or to succeed. Here each one fails for the same Flink "
        "manifest, however long one waits.",
        "no-advance": "There nothing that is on the table stands against a restart. Here the job asks for what a "
        "rollback removed from main.",
    },
    act=Act.RECOVER,
    remedies=(Remedy.RESTORE_LOST_COMMITS, Remedy.RESTORE_JOB_AT_HEAD, Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB),
)


def examine(case: Case) -> Examined:
    """Matches when the newest run fails for a manifest whose checkpoint's commit was rolled back."""
    if isinstance(case.observation.jobs, NotSeen):
        return CannotTell(missing=(unseen(case.observation.jobs),))
    missing = missing_manifest(case)
    if missing is None:
        unnamed = unnamed_file(case)
        if unnamed is not None:
            return CannotTell(
                missing=(f"the name of the file that was not found (Flink said {unnamed.exception}, at {unnamed.at})",)
            )
        return Excluded(reason="No failure since the newest run's last checkpoint names a Flink manifest.")
    told = fate(case, missing)
    if is_back(case, missing):
        return Excluded(reason=f"The manifest {missing.name} is on storage now: storage was out, and no file is gone.")
    if told is Fate.ROLLED_BACK:
        return _matches(case, missing)
    return Excluded(reason=_why_not(missing, told))


def _why_not(missing: MissingManifest, told: Fate) -> str:
    run = short_job(missing.job_id)
    if told is Fate.ON_MAIN:
        return f"Checkpoint {missing.checkpoint_id} of run {run} is on main, so the next restart passes over it."
    if told is Fate.RUN_UNLISTED:
        return f"The table lists no snapshot of run {run} at all: nothing of it was rolled back, it was expired (F8)."
    return (
        f"No commit that was rolled back holds checkpoint {missing.checkpoint_id} of run {run}: its manifest was "
        "deleted without a commit that is still listed (F9)."
    )


def _matches(case: Case, missing: MissingManifest) -> Matches:
    table = case.observation.table
    number = missing.checkpoint_id
    holding, lost = rolled_back_with(case, missing)
    kept = {s.snapshot_id for s in table.ancestors(lost.fork)}
    above = [s for s in flink_commits(table) if s.snapshot_id not in kept]
    pair = pair_with_head(case)
    state = "fails" if missing.is_alive else "failed"
    reasons = [
        f"Run {short_job(missing.run)} {state} for {missing.name}, {missing.times} times since its last checkpoint.",
        f"Snapshot {short(holding.snapshot_id)} had committed checkpoint {number} of run {short_job(missing.job_id)}, "
        f"and the sink deleted the manifest then; main was rolled back to {short(lost.target)} since.",
        "The sink finds no such commit below the head, wants to commit again, and will fail at every restart.",
    ]
    if above:
        reasons.append(
            f"{len(above)} commits by Flink are on main beside what was rolled back, up to "
            f"{short(above[-1].snapshot_id)}: the head cannot simply be set back."
        )
    elif pair is None:
        reasons.append(
            f"Nothing was committed on top of the rollback: with main back at {short(holding.snapshot_id)} the job "
            "restarts by itself."
        )
    if pair is not None:
        reasons.append(
            f"{pair.path} (checkpoint {pair.checkpoint_id}) pairs with the head: the job restarts from there, and the "
            f"{len(lost.left)} commits that were rolled back are read again from the source."
        )
    remedy = _remedy(is_covered=bool(above), has_pair=pair is not None)
    return Matches(
        headline=f"Run {short_job(missing.run)} cannot restart: it looks for the manifest of checkpoint {number}, "
        "whose commit was rolled back.",
        reasons=tuple(reasons),
        rows=lost.left,
        last_good=table.head if above else lost.target,
        wrong_run=missing.run if remedy is Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB else None,
        remedy=remedy,
    )


def _remedy(*, is_covered: bool, has_pair: bool) -> Remedy:
    """A pair with the head loses nothing and touches no table; else the head goes back, if nothing is on top."""
    if has_pair:
        return Remedy.RESTORE_JOB_AT_HEAD
    return Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB if is_covered else Remedy.RESTORE_LOST_COMMITS
