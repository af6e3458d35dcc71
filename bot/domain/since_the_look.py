"""What came to storage after evidence had looked at it: without a commit the table shows nothing of it."""

from datetime import datetime, timedelta

from bot.domain.checkpoint_pace import time_to_commit
from bot.domain.evidence import Evidence, Observation, runs_in
from bot.domain.findings import LeakedManifestsFinding, PairingFinding
from bot.domain.flink import FlinkManifest

JUST_NOW = timedelta(seconds=30)
"""An answer this young is not asked for again for what came meanwhile: else one of a job with short checkpoints would
be old as soon as it is there."""


def is_just_given(evidence: Evidence, at: datetime) -> bool:
    """Whether the task has ended no longer than a moment before."""
    return at - evidence.at <= timedelta(milliseconds=evidence.took_ms) + JUST_NOW


def is_of(known: Evidence, world: Observation, rests_on_runs: bool) -> bool:
    """Whether it is of the table as it is, and knows the Flink manifests that lie there now without a commit, and the
    restore points; one that `rests_on_runs`, the runs as Flink shows them too. What cannot be seen now is not held
    against it, but for the runs of another declared job: while these are unseen, it is asked without them."""
    if known.metadata_location != world.table.metadata_location:
        return False
    if rests_on_runs and (runs := runs_in(world)) is not None and runs != known.runs:
        return False
    match known.finding:
        case LeakedManifestsFinding() as found:
            return not manifests_since(found, world)
        case PairingFinding() as found:
            shown = world.checkpoints
            return shown.state == "not-seen" or {p.path for p in found.pairings} == {s.path for s in shown.values}
    return True


def manifests_since(found: LeakedManifestsFinding, seen: Observation) -> tuple[FlinkManifest, ...]:
    """Flink manifests that lie on storage now, had the time to be committed, and are unknown to the finding; not those
    that are older than all that it knows: it looks at the newest only."""
    known = {leak.path for leak in found.manifests}
    oldest = min((m.written_at for m in seen.flink_manifests.values if m.path in known and m.written_at), default=None)
    return tuple(
        m
        for m in seen.flink_manifests.values
        if m.path not in known and _had_time(m, seen) and not (oldest and m.written_at and m.written_at < oldest)
    )


def _had_time(manifest: FlinkManifest, seen: Observation) -> bool:
    """Also where storage does not tell when it was written; not while Flink shows its checkpoint in progress."""
    runs = (*seen.jobs.values, *(seen.others.values if seen.others is not None else ()))
    run = next((run for run in runs if run.job_id == manifest.job_id), None)
    unfinished = {c.checkpoint_id for c in run.checkpoints if c.status == "IN_PROGRESS"} if run is not None else set()
    if manifest.checkpoint_id in unfinished:
        return False
    return manifest.written_at is None or manifest.written_at <= seen.table.read_at - time_to_commit(run)
