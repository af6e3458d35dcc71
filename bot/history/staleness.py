"""Whether evidence still holds of the table as it is now: newer commits are fine, a changed window is not.

What came to storage after evidence had looked at it: without a commit the table shows nothing of it.

Files at which evidence failed that was looking for something else.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from bot.history.case import Case
from bot.history.checkpoint_pace import time_to_commit
from bot.observation.contract import is_upsert
from bot.observation.evidence import Evidence, Observation, Verdict, runs_in
from bot.observation.findings import (
    DuplicateCommitsFinding,
    LeakedManifestsFinding,
    PairingFinding,
    ReplayedRowsFinding,
    UnreadableFilesFinding,
)
from bot.observation.flink import FlinkManifest, JobRun
from bot.observation.ids import JobId, SnapshotId, short, short_job
from bot.observation.looked import NotSeen, Seen
from bot.observation.record import Record
from bot.observation.table import Snapshot, TableState


class Fresh(Record):
    """The window is untouched; `newer` commits of known runs have come on top of it."""

    state: Literal["fresh"] = "fresh"
    newer: int
    runs: tuple[JobId, ...]
    """Who wrote them, in the order of their first newer commit."""


class Stale(Record):
    """The evidence must be collected again before anything is decided on it."""

    state: Literal["stale"] = "stale"
    reason: str
    """One sentence with the snapshot or writer that was not foreseen."""


Staleness = Annotated[Fresh | Stale, Field(discriminator="state")]


def staleness(evidence: Evidence, now: TableState, known_runs: Collection[JobId]) -> Staleness:
    """Compare the state that evidence was pinned to with the table now.

    `known_runs`: runs of the incident's own job; a newer commit by anything else (another job, a
    compaction, an overwrite) makes the evidence stale.
    """
    if evidence.head is None:
        return Fresh(newer=0, runs=()) if now.head is None else Stale(reason="The table was empty then and is not now.")
    if (changed := _window_change(evidence, now)) is not None:
        return Stale(reason=changed)
    newer = _above(now, evidence.head)
    stranger = next((s for s in newer if s.job_id is None or s.job_id not in known_runs), None)
    if stranger is not None:
        return Stale(
            reason=f"Snapshot {short(stranger.snapshot_id)} was committed since by {_writer(stranger)} "
            f"at {stranger.committed_at:%H:%M:%S} UTC ({stranger.operation})."
        )
    return Fresh(newer=len(newer), runs=tuple(dict.fromkeys(s.job_id for s in newer if s.job_id)))


_OF_WINDOW = frozenset({"duplicate_rows", "missing_positions", "duplicate_files", "unreadable_files"})
"""Tasks whose `confirmed` accuses commits of the window."""


def not_covered_since(answers: Iterable[Evidence], now: TableState) -> tuple[Evidence, ...]:
    """Of `answers`, oldest first, those that found wrong rows or files and that no later one of their task covers: it
    looked at a table of which older commits had expired, and at none of what these brought."""
    found: dict[str, list[Evidence]] = {}
    for each in answers:
        if each.verdict is not Verdict.INCONCLUSIVE:
            left = [known for known in found.get(each.task, ()) if not _covers(each, known, now)]
            found[each.task] = [*left, each] if _accuses(each, now) else left
    told = (each for task in found.values() for each in task)
    return tuple(each for each in told if each.oldest is not None and each.oldest not in now.by_id)


def _accuses(evidence: Evidence, now: TableState) -> bool:
    """Copies accuse nobody in a table that is written by key, where the newest replaces the others; nor do lost
    manifest lists, by which the head is not read."""
    match evidence.finding:
        case ReplayedRowsFinding(replayed=rows):
            return bool(rows) and not is_upsert(now.properties)
        case DuplicateCommitsFinding(repeated=repeated):
            return any(each.how != "same-source-range" for each in repeated) and not is_upsert(now.properties)
        case UnreadableFilesFinding(commits=()):
            return False
    return evidence.verdict is Verdict.CONFIRMED and evidence.task in _OF_WINDOW


def _covers(later: Evidence, known: Evidence, now: TableState) -> bool:
    """A commit from which both begin, or nothing expired between them. Where neither tells, it does."""
    since = known.window.since
    begins_there = since is not None and since in now.chain_ids and later.window.since in (None, since)
    return begins_there or None in (known.oldest, later.oldest) or known.oldest == later.oldest


def known_runs_of(job_name: str | None, jobs: Seen[JobRun] | NotSeen, window: Collection[Snapshot]) -> frozenset[JobId]:
    """Runs that may commit without surprise: those of the configured job, and those already in the window."""
    of_the_job = {run.job_id for run in jobs.values if job_name is None or run.name == job_name}
    return frozenset(of_the_job | {s.job_id for s in window if s.job_id is not None})


def stale_reason(evidence: Evidence, case: Case) -> str | None:
    """Why `evidence` may not be relied on in `case`; None while it is fresh."""
    table = case.observation.table
    known = known_runs_of(case.job_name, case.observation.jobs, evidence.window.of(table))
    found = staleness(evidence, table, known)
    return found.reason if isinstance(found, Stale) else None


def _window_change(evidence: Evidence, now: TableState) -> str | None:
    head, since = evidence.head, evidence.window.since
    assert head is not None
    if head not in now.by_id:
        return f"Snapshot {short(head)}, the head that was looked at, has been expired from the table."
    if head not in now.chain_ids:
        return f"Snapshot {short(head)}, the head that was looked at, has been rolled back."
    until = evidence.window.until if evidence.window.until is not None else head
    if until != head and until not in {s.snapshot_id for s in now.ancestors(head)}:
        return f"Snapshot {short(until)}, where the window ends, is no ancestor of the head that was looked at."
    if since is not None and since not in {s.snapshot_id for s in now.ancestors(until)}:
        return f"Snapshot {short(since)}, where the window begins, is no longer an ancestor of what was looked at."
    return None


def _above(now: TableState, head: SnapshotId) -> tuple[Snapshot, ...]:
    """Commits on main after `head`, oldest first."""
    newer = []
    for snapshot in now.chain:
        if snapshot.snapshot_id == head:
            break
        newer.append(snapshot)
    return tuple(reversed(newer))


def _writer(snapshot: Snapshot) -> str:
    if snapshot.job_id is not None:
        return f"job run {short_job(snapshot.job_id)}"
    application = snapshot.summary.get("spark.app.id")
    return f"{snapshot.engine} application {application}" if application else f"{snapshot.engine} (no job id)"


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


def met_files(evidence: Iterable[Evidence], how: Literal["lost_file", "damaged_file"]) -> dict[str, str]:
    """File -> the first task that failed for it; of each task its last evidence counts."""
    last = {each.task: each for each in evidence}
    open_ones = (each for each in last.values() if each.verdict is Verdict.INCONCLUSIVE)
    told = ((getattr(source, how), each.task) for each in open_ones for source in each.could_not_look)
    return {path: task for path, task in reversed(list(told)) if path is not None}
