"""Whether evidence still holds of the table as it is now: newer commits are fine, a changed window is not."""

from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import Field

from bot.domain.diagnosis import Case
from bot.domain.evidence import Evidence
from bot.domain.flink import JobRun
from bot.domain.ids import JobId, SnapshotId, short, short_job
from bot.domain.looked import NotSeen, Seen
from bot.domain.record import Record
from bot.domain.table import Snapshot, TableState


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
