"""The state contract: what the job remembers, where it starts from, and whether that is kept."""

from bot.domain.entries import Finding
from bot.domain.evidence import Observation
from bot.domain.flink import CheckpointKind, JobRun
from bot.domain.guests import own_points
from bot.domain.ids import CheckpointId, SnapshotId, short, short_job
from bot.domain.looked import NotSeen
from bot.domain.table import TableState


def state_terms(trusted: SnapshotId | None, observation: Observation) -> tuple[Finding, ...]:
    """Restore point used, restore point kept (for the trusted snapshot), and how savepoints were made."""
    return (
        _restored_from_pair(observation),
        _restore_point_kept(trusted, observation),
        _savepoints_made_by_stop(observation),
    )


def _finding(term: str, observed: str, holds: bool | None, action: str) -> Finding:
    return Finding(contract="state", term=term, observed=observed, holds=holds, action=action)


def _restored_from_pair(observation: Observation) -> Finding:
    term = "A run starts from the checkpoint that the table carried at that moment."
    if isinstance(observation.jobs, NotSeen):
        return _finding(term, f"Could not look: {observation.jobs.reason}", None, observation.jobs.remedy)
    judged = [found for run in observation.jobs.values if (found := _judged(run, observation.table))]
    if not judged:
        return _finding(
            term,
            "Flink remembers no run that was restored and has committed.",
            None,
            "Keep finished runs in Flink's history (a history server, or a longer jobstore.expiration-time).",
        )
    wrong = [text for fits, text in judged if not fits]
    return _finding(
        term,
        " ".join(wrong or [text for _, text in judged]),
        not wrong,
        "Let only a check of the pair start this job: compare checkpoint and head before each restore."
        if wrong
        else "Nothing to do.",
    )


def _judged(run: JobRun, table: TableState) -> tuple[bool, str] | None:
    """Whether the run's restore point fits the table that it found; None when that cannot be told.

    Only the newest restore of a run is known. After a failover that is one of its own checkpoints, which says
    nothing about where the run began.
    """
    if run.restored is None:
        return None
    own = [s for s in table.snapshots if s.job_id == run.job_id]
    if not own or (own[0].checkpoint_id or 0) <= run.restored.checkpoint_id:
        return None
    found = _carried_before(own[0].parent_id, run, table)
    if found is None:
        return None
    fits = found == run.restored.checkpoint_id
    text = (
        f"Run {short_job(run.job_id)} was started from checkpoint {run.restored.checkpoint_id} "
        f"on a table that carried checkpoint {found}."
    )
    return fits, text


def _carried_before(parent: SnapshotId | None, run: JobRun, table: TableState) -> CheckpointId | None:
    return next((s.checkpoint_id for s in table.ancestors(parent) if s.job_id and s.job_id != run.job_id), None)


def _restore_point_kept(trusted_id: SnapshotId | None, observation: Observation) -> Finding:
    term = "Storage keeps a restore point that pairs with the trusted table state."
    stored = observation.checkpoints
    if isinstance(stored, NotSeen):
        return _finding(term, f"Could not look: {stored.reason}", None, stored.remedy)
    trusted = observation.table.by_id.get(trusted_id) if trusted_id is not None else None
    broken = [point for point in stored.values if point.problem]
    aside = f" {len(broken)} of {len(stored.values)} restore points cannot be read." if broken else ""
    if trusted is None or trusted.job_id is None or trusted.checkpoint_id is None:
        return _finding(
            term,
            f"The trusted snapshot {short(trusted_id)} does not name a checkpoint.{aside}",
            None,
            "Take a stop-with-savepoint at the next planned stop, and note the snapshot that it committed.",
        )
    pair = next(
        (p for p in stored.values if (p.job_id, p.checkpoint_id) == (trusted.job_id, trusted.checkpoint_id)), None
    )
    wanted = f"checkpoint {trusted.checkpoint_id} of run {short_job(trusted.job_id)}"
    if pair is None or pair.problem:
        return _finding(
            term,
            f"Nothing readable on storage pairs with {short(trusted.snapshot_id)} ({wanted}).{aside}",
            False,
            "Keep more retained checkpoints than the time to notice a fault takes, or take savepoints regularly.",
        )
    kind = pair.kind.value
    return _finding(term, f"The {kind} at {pair.path} is {wanted}.{aside}", True, "Nothing to do.")


def _savepoints_made_by_stop(observation: Observation) -> Finding:
    term = "Savepoints are made by stopping the job, so that each pairs with a commit."
    stored = observation.checkpoints
    if isinstance(stored, NotSeen):
        return _finding(term, f"Could not look: {stored.reason}", None, stored.remedy)
    kinds = [point.kind for point in own_points(observation)]
    stop = kinds.count(CheckpointKind.STOP_SAVEPOINT)
    between, unclear = kinds.count(CheckpointKind.SAVEPOINT), kinds.count(CheckpointKind.UNKNOWN)
    observed = f"On storage: {stop} made by a stop, {between} made while the job ran, {unclear} of unknown kind."
    if between:
        return _finding(
            term,
            observed,
            False,
            "Mark or remove the ones made while the job ran: they did not commit, and no restore from them is safe.",
        )
    holds = None if unclear or not stop else True
    action = "Nothing to do." if holds else "Make savepoints with stop-with-savepoint, never drained."
    return _finding(term, observed, holds, action)
