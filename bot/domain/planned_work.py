"""Planned work as consumers are notified of it: one kind of notice, `planned_work`, with its state; and whether that
work is over. Pure."""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal, NamedTuple, get_args

from bot.domain.effects import KeepSavepoint, StopFork, StopJob
from bot.domain.entries import EffectEnded, EffectStarted, OutcomeSettled
from bot.domain.errors import Refused
from bot.domain.evidence import Observation, Verdict
from bot.domain.execution import ProposalView
from bot.domain.ids import JobId, ProposalId, SnapshotId, short_job
from bot.domain.incident import EvidenceRun, Incident
from bot.domain.notice import PLANNED, WorkState
from bot.domain.other_jobs import case_of, commits_of_job
from bot.domain.promises import announced_since
from bot.domain.related_jobs import related_runs
from bot.domain.requirements import HeadDescends
from bot.domain.unknown_outcomes import HOW_TO_SETTLE

TELL = f"/waterline notify {PLANNED}"
_COUNTED = ("duplicate_rows", "missing_positions")
_NOT_OVER = "Waterline cannot see that the planned work is over."


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


def asked_state(incident: Incident, kind: str) -> tuple[str, WorkState | None]:
    """(kind of notice, state of the planned work). `planned_work off` names the state. Without one it is over once the
    job was stopped for it, and planned before. None for every other kind."""
    name, _, said = kind.partition(" ")
    if name != PLANNED:
        return kind, None
    state = next((each for each in get_args(WorkState) if each == said), None)
    return name, state or ("over" if stop_for_work(incident) is not None else "planned")


def stop_for_work(incident: Incident) -> WorkStop | None:
    """The incident's newest stop, also from before the announcement: what has begun is often announced once more. None
    without any, and where consumers were notified of its end before other work was announced."""
    since, stop = announced_since(incident), max(_stops(incident), key=lambda each: each.at, default=None)
    if stop is None or since is None:
        return stop
    ends = (v.queued_at for v in incident.notices.values() if v.notice.ends_work and not v.was_overtaken)
    return None if any(stop.at < end < since for end in ends) else stop


def refuse_untimely(incident: Incident, work: WorkState | None) -> None:
    """Raises Refused for an announcement in a closed incident, for an end that the record does not prove, and for work
    that is called off although nobody announced it or the job was, or may have been, stopped for it."""
    stop = stop_for_work(incident)
    if work == "planned" and not incident.is_open:
        raise Refused(f"Incident {incident.id} is closed.", "", "Open a new one to announce work. Nothing was sent.")
    if work == "over" and stop is None:
        found = "The record shows no stop of the job for it."
        raise Refused(_NOT_OVER, found, f"If the work was cancelled, type {TELL} off. Nothing was sent.")
    if work == "over" and stop is not None and _counts_since(incident, stop) is None:
        found = "After the stop, duplicate_rows and missing_positions must both find nothing."
        raise Refused(_NOT_OVER, found, "Run them again after the first commits. Nothing was sent.")
    if work == "off" and announced_since(incident) is None:
        raise Refused("No planned work is announced.", "", "Nothing was sent.")
    if work == "off" and stop is not None:
        surely = "was" if stop.is_sure else "may have been"
        settle = "" if stop.is_sure else f" If the proposal stays unknown: {HOW_TO_SETTLE}"
        raise Refused(
            f"The notice says that the job was not stopped, but run {short_job(stop.run)} {surely}.", "",
            f"When the job writes again and the rows are counted, type {TELL} over.{settle} Nothing was sent.",
        )  # fmt: skip


def refuse_unseen_end(incident: Incident, work: WorkState | None, seen: Observation) -> None:
    """Raises Refused for an end that table and job do not show: a run of the job runs, main has a commit of it above
    the stop, and the rows were counted at or above that commit."""
    stop = stop_for_work(incident)
    counts = _counts_since(incident, stop) if stop is not None else None
    if work != "over" or stop is None or counts is None:
        return
    if seen.jobs.state == "not-seen":
        raise Refused(_NOT_OVER, f"Could not ask Flink: {seen.jobs.reason}", "Try again. Nothing was sent.")
    runs = (*seen.jobs.values, *related_runs(seen.jobs, seen.others))
    again = {run.job_id: run for run in runs if run.job_id != stop.run or run.started_at > stop.at}
    if not any(run.is_settled for run in again.values()):
        found = f"Since run {short_job(stop.run)} was stopped, no other run of the job has every operator running."
        raise Refused(_NOT_OVER, found, "Start the job, or wait until it runs. Nothing was sent.")
    edge, first = seen.table.place_of(stop.above), None
    for commit in commits_of_job(case_of(seen)):
        run = again.get(commit.job_id) if commit.job_id is not None and not commit.is_repair else None
        is_above = seen.table.place_of(commit.snapshot_id) > edge
        if run is not None and is_above and (run.job_id != stop.run or commit.committed_at >= run.started_at):
            first = commit.snapshot_id
            break
    if first is None:
        found = f"The job has committed nothing to main since run {short_job(stop.run)} was stopped."
        raise Refused(_NOT_OVER, found, "Wait for its first commit, then count the rows again. Nothing was sent.")
    heads = [run.evidence.head for run in counts if run.evidence is not None]
    if not all(h in seen.table.chain_ids and seen.table.place_of(h) >= seen.table.place_of(first) for h in heads):
        found = "The rows were counted before the job wrote again."
        raise Refused(_NOT_OVER, found, "Run duplicate_rows and missing_positions again. Nothing was sent.")


def _counts_since(incident: Incident, stop: WorkStop) -> tuple[EvidenceRun, ...] | None:
    """The newest answers to both questions about the rows, where they were asked after the stop and found nothing."""
    asked = [run for run in incident.runs.values() if run.branch is None and run.requested_at > stop.at]
    newest = {run.task: run for run in asked if run.evidence is not None}
    found = tuple(newest[task] for task in _COUNTED if task in newest)
    is_right = all(run.evidence is not None and run.evidence.verdict is Verdict.RULED_OUT for run in found)
    return found if is_right and len(found) == len(_COUNTED) else None


def _stops(incident: Incident) -> Iterator[WorkStop]:
    told: dict[tuple[ProposalId, int], datetime] = {}
    for entry in incident.entries:
        if isinstance(entry.body, EffectStarted | EffectEnded | OutcomeSettled):
            told[entry.body.proposal, entry.body.index] = entry.at
    for view in incident.proposals.values():
        for index, effect in enumerate(view.proposal.effects):
            how = _how(view, index)
            if isinstance(effect, StopJob | StopFork) and how is not None:
                heads = (each.head for each in view.proposal.requirements if isinstance(each, HeadDescends))
                yield WorkStop(effect.job_id, told[view.proposal.id, index], how == "done", next(heads, None))
            elif isinstance(effect, KeepSavepoint) and how == "done":
                above = SnapshotId(int(view.done[index].result["snapshot"]))
                yield WorkStop(effect.job_id, told[view.proposal.id, index], True, above)


def _how(view: ProposalView, index: int) -> Literal["done", "unknown"] | None:
    """Whether it was done, or may have been; None where it was not, by the job's or a person's word."""
    ended = view.done.get(index)
    if index in view.denied or (ended is None and index not in view.started):
        return None
    if ended is None or ended.how == "unknown":
        return "unknown"
    return "done" if ended.how == "done" else None
