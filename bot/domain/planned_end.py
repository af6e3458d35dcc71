"""Whether the job was stopped for planned work, and whether that work is over. Pure."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Literal, NamedTuple

from bot.domain.effects import KeepSavepoint, StopFork, StopJob
from bot.domain.entries import EffectEnded, EffectStarted, OutcomeSettled
from bot.domain.evidence import Observation, Verdict
from bot.domain.execution import ProposalView
from bot.domain.flink import JobRun
from bot.domain.guests import case_of, commits_of_job
from bot.domain.ids import JobId, ProposalId, SnapshotId
from bot.domain.incident import EvidenceRun, Incident
from bot.domain.kin import began_from, kin
from bot.domain.paths import may_be_same
from bot.domain.promises import announced_since
from bot.domain.requirements import HeadDescends
from bot.domain.savepoint_told import ENDS
from bot.domain.table import Snapshot

_COUNTED = ("duplicate_rows", "missing_positions")
Lack = Literal["Flink", "run", "commit", "count"]
"""What is not there of an end: Flink could not be asked; no other run of the job runs; none has committed, though one
may have had nothing to commit; the rows were counted before it had."""


class WorkStop(NamedTuple):
    """A stop of the job that belongs to planned work."""

    run: JobId
    at: datetime
    """When the newest of it came on record."""
    is_sure: bool
    """Whether the run is known to have been stopped; else that is unknown, or under way."""
    above: SnapshotId | None
    """What the job commits after it lies above this one: what was kept, else the head that was approved; None: not
    known."""
    kept: str | None
    """The savepoint that was proven to pair and kept, its path."""


def stop_for_work(incident: Incident) -> WorkStop | None:
    """The incident's newest stop, also from before the announcement: what has begun is often announced once more. None
    without any, and where consumers were told its end before other work was announced."""
    since, stop = announced_since(incident), max(_stops(incident), key=lambda each: each.at, default=None)
    if stop is None or since is None:
        return stop
    ends = (view.queued_at for view in incident.notices.values() if view.notice.kind in ENDS and not view.was_overtaken)
    return None if any(stop.at < end < since for end in ends) else stop


def counts_since(incident: Incident, stop: WorkStop) -> tuple[EvidenceRun, ...] | None:
    """The newest answers to both questions about the rows, where they were asked after the stop and found nothing."""
    asked = [run for run in incident.runs.values() if run.branch is None and run.requested_at > stop.at]
    newest = {run.task: run for run in asked if run.evidence is not None}
    answers = [newest[task].evidence for task in _COUNTED if task in newest]
    if [each.verdict for each in answers if each is not None] != [Verdict.RULED_OUT, Verdict.RULED_OUT]:
        return None
    return tuple(newest[task] for task in _COUNTED)


def lacking(stop: WorkStop, counts: tuple[EvidenceRun, ...], seen: Observation) -> Lack | None:
    """What is not there yet, so that the job writes again as far as is known, and these counts speak of what it wrote;
    None: nothing. A table's own job commits; where it has had nothing to commit, a run that began from what was kept
    has completed checkpoints, and nothing of it waits for a commit."""
    if seen.jobs.state == "not-seen":
        return "Flink"
    again = {run.job_id: run for run in _runs(seen) if run.job_id != stop.run or run.started_at > stop.at}
    alive = [run for run in again.values() if run.is_settled]
    if not alive:
        return "run"
    first = next(_commits(stop, again, seen), None)
    if first is not None:
        heads = (run.evidence.head for run in counts if run.evidence is not None)
        return None if all(_holds(seen, head, first) for head in heads) else "count"
    idle = [run for run in alive if _had_nothing(run, stop, seen)]
    if not idle:
        return "commit"
    return None if all(run.requested_at > idle[0].started_at for run in counts) else "count"


def _stops(incident: Incident) -> Iterator[WorkStop]:
    told: dict[tuple[ProposalId, int], datetime] = {}
    for entry in incident.entries:
        if isinstance(entry.body, EffectStarted | EffectEnded | OutcomeSettled):
            told[entry.body.proposal, entry.body.index] = entry.at
    for view in incident.proposals.values():
        for index, effect in enumerate(view.proposal.effects):
            how = _how(view, index)
            if isinstance(effect, StopJob | StopFork) and how is not None:
                head, kept = _head_approved(view), None
            elif isinstance(effect, KeepSavepoint) and how == "done":
                result = view.done[index].result
                head, kept = SnapshotId(int(result["snapshot"])), result["savepoint"]
            else:
                continue
            yield WorkStop(effect.job_id, told[view.proposal.id, index], how == "done", head, kept)


def _how(view: ProposalView, index: int) -> Literal["done", "unknown"] | None:
    """Whether it was done, or may have been; None where it was not, by the job's or a person's word."""
    ended = view.done.get(index)
    if index in view.denied or (ended is None and index not in view.started):
        return None
    if ended is None or ended.how == "unknown":
        return "unknown"
    return "done" if ended.how == "done" else None


def _head_approved(view: ProposalView) -> SnapshotId | None:
    return next((each.head for each in view.proposal.requirements if isinstance(each, HeadDescends)), None)


def _runs(seen: Observation) -> tuple[JobRun, ...]:
    """Those of the job, under whichever name it was deployed."""
    return (*seen.jobs.values, *kin(seen.jobs, seen.others))


def _commits(stop: WorkStop, again: Mapping[JobId, JobRun], seen: Observation) -> Iterator[Snapshot]:
    """What these runs have committed to main above the stop, oldest first; not what a repair has put back."""
    edge = seen.table.place_of(stop.above)
    for each in commits_of_job(case_of(seen)):
        run = again.get(each.job_id) if each.job_id is not None and not each.is_repair else None
        if run is None or seen.table.place_of(each.snapshot_id) <= edge:
            continue
        if run.job_id != stop.run or each.committed_at >= run.started_at:
            yield each


def _holds(seen: Observation, head: SnapshotId | None, commit: Snapshot) -> bool:
    """Whether main held the commit when this was its head, and still does."""
    is_on_main = head is not None and head in seen.table.chain_ids
    return is_on_main and seen.table.place_of(head) >= seen.table.place_of(commit.snapshot_id)


def _had_nothing(run: JobRun, stop: WorkStop, seen: Observation) -> bool:
    """Whether it began from what was kept, completes checkpoints, and has left nothing that waits for a commit."""
    path = began_from(run)
    if path is None or stop.kept is None or not may_be_same(path, stop.kept) or not run.completed_count:
        return False
    manifests = seen.flink_manifests
    return manifests.state == "seen" and all(each.job_id != run.job_id for each in manifests.values)
