"""The savepoints of a job that were proven to pair and kept: which one counts now, and for which code.

Consumers are notified of planned work by one kind of notice, `planned_work`, with its state; whether that work is over
is told here, too. Pure.
"""

from collections.abc import Iterable, Iterator, Set
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, get_args

from bot.history.other_jobs import case_of, commits_of_job, related_runs
from bot.incident.decisions import HOW_TO_SETTLE
from bot.incident.effects import KeepSavepoint, SavepointPlanned, StartJob, StopFork, StopJob
from bot.incident.entries import EffectEnded, EffectStarted, OutcomeSettled
from bot.incident.execution import ProposalView
from bot.incident.incident import EvidenceRun, Incident, shown_in
from bot.incident.notice import PLANNED, WorkState
from bot.incident.promises import announced_since
from bot.incident.proposal import HeadDescends, Proposal, Term
from bot.observation.errors import Refused
from bot.observation.evidence import Observation, Verdict
from bot.observation.ids import IncidentId, JobId, ProposalId, SnapshotId, TableName, short_job
from bot.observation.paths import may_be_same
from bot.observation.record import Record, Utc
from bot.observation.sentences import clock_time, counted, span
from bot.observation.table import TableState

HOW_TO_PLAN = "click “Plan a savepoint…” on the card"
UNPLANNED = timedelta(days=7)
"""How long a savepoint counts that was taken without a plan."""


class KeptSavepoint(Record):
    """One savepoint with the table state that it pairs with."""

    incident: IncidentId | None
    """None where it is private."""
    proposal: ProposalId
    """By which it was taken."""
    table: TableName
    job: str
    taken_at: Utc
    path: str
    checkpoint: str
    before: SnapshotId | None
    """Head of the table when it was proposed, which may be long before the stop; None where its proposal does not
    tell."""
    snapshot: str
    """Of the table, after the stop; the tag keeps it."""
    tag: str
    code: str
    """Version that wrote it, as Flink told it."""
    plan: SavepointPlanned | None
    is_released: bool
    """Whether its day has passed and the tag keeps its snapshot no longer."""

    @property
    def until(self) -> datetime:
        return self.plan.until if self.plan else self.taken_at + UNPLANNED

    @property
    def code_before(self) -> str:
        """As the plan says, else as Flink told it."""
        return self.plan.code_before if self.plan else self.code


def kept_savepoints(incidents: Iterable[Incident], job: str) -> tuple[KeptSavepoint, ...]:
    """Every one that was kept for the job, the newest first."""
    found = [kept for incident in incidents for kept in kept_in(incident) if kept.job == job]
    return tuple(sorted(found, key=lambda kept: kept.taken_at, reverse=True))


def kept_in(incident: Incident) -> tuple[KeptSavepoint, ...]:
    """Those that this incident took, oldest first."""
    return tuple(kept for view in incident.proposals.values() for kept in _kept(incident, view))


def hidden_among(incidents: Iterable[Incident], job: str, channel: str) -> frozenset[ProposalId]:
    """By which those of the job were taken whose incident is not shown in this channel."""
    hidden = (incident for incident in incidents if not shown_in(incident, channel))
    return frozenset(kept.proposal for incident in hidden for kept in kept_in(incident) if kept.job == job)


def still_tagged(incident: Incident) -> tuple[KeptSavepoint, ...]:
    """Of these, whose tag is still to be removed when its day has passed."""
    return tuple(kept for kept in kept_in(incident) if not kept.is_released)


def authoritative(
    kept: Iterable[KeptSavepoint], now: datetime, left: Set[ProposalId] = frozenset()
) -> KeptSavepoint | None:
    """The newest, while it counts and main has not left its snapshot; an older one never counts again. `left`: see
    `has_left_main`."""
    newest = next(iter(kept), None)
    return newest if newest is not None and now < newest.until and newest.proposal not in left else None


def has_left_main(kept: KeptSavepoint, table: TableState) -> bool:
    """Whether main was set back to below the snapshot that it pairs with: then neither restores the other. False also
    where expiry has cut the line between the two, so that nobody can tell."""
    snapshot = table.by_id.get(SnapshotId(int(kept.snapshot)))
    if snapshot is not None and snapshot.snapshot_id in table.chain_ids:
        return False
    oldest = table.chain[-1] if table.chain else None
    if oldest is None or not oldest.has_commit_below:
        return True
    return table.place_of(oldest.snapshot_id) < table.place_of(SnapshotId(int(kept.snapshot)))


def why_not_now(kept: KeptSavepoint, table: TableState) -> str | None:
    """Why a start from it on main as it is would be wrong, a clause; None: nothing in the table's metadata speaks
    against it. What each Flink run is tells `predict`."""
    if has_left_main(kept, table):
        return "main was rolled back past its snapshot"
    place = table.place_of(SnapshotId(int(kept.snapshot)))
    later = sum(1 for each in table.of_flink if table.place_of(each.snapshot_id) > place)
    return f"main has {counted(later, 'later commit')} by Flink, which it would repeat" if later else None


def starts_from(proposal: Proposal) -> StartJob | None:
    """The effect that starts a job from a point that is known beforehand; None where none does. A start from what a
    stop of the same proposal leaves goes on with the newest state: nothing is chosen there."""
    return next((effect for effect in proposal.effects if isinstance(effect, StartJob)), None)


def started_from(kept: Iterable[KeptSavepoint], start: StartJob) -> KeptSavepoint | None:
    """The one whose files it starts from, whether it still counts or not; None where it starts from another point."""
    return next((each for each in kept if may_be_same(each.path, start.path)), None)


def beside_the_authoritative(
    proposal: Proposal, incidents: Iterable[Incident], table: TableState, now: datetime
) -> Proposal:
    """The same; where it starts the job from another point than the authoritative savepoint, a term says so."""
    start = starts_from(proposal)
    kept = kept_savepoints(incidents, start.job) if start is not None else ()
    left = {each.proposal for each in kept[:1] if each.table == table.name and has_left_main(each, table)}
    counts = authoritative(kept, now, left)
    if start is None or counts is None or started_from([counts], start):
        return proposal
    says = (
        f"{counts.path} (checkpoint {counts.checkpoint}, taken in {counts.incident or 'a private incident'}), until "
        f"{counts.until:%Y-%m-%d}. This proposal starts the job from {start.path} instead."
    )
    terms = (*proposal.preview.recorded, Term(name="Authoritative savepoint", says=says))
    return proposal.model_copy(update={"preview": proposal.preview.model_copy(update={"recorded": terms})})


def _kept(incident: Incident, view: ProposalView) -> Iterable[KeptSavepoint]:
    for index, effect in enumerate(view.proposal.effects):
        ended = view.done.get(index)
        if not isinstance(effect, KeepSavepoint) or ended is None or ended.how != "done":
            continue
        began = view.execution_started_at or view.proposal.proposed_at
        yield KeptSavepoint(
            incident=None if incident.is_private else incident.id,
            proposal=view.proposal.id,
            table=effect.table,
            job=effect.job,
            taken_at=began,
            path=ended.result["savepoint"],
            checkpoint=ended.result["checkpoint"],
            before=_head_before(view.proposal),
            snapshot=ended.result["snapshot"],
            tag=ended.result["tag"],
            code=ended.result["code"],
            plan=effect.plan,
            is_released=view.proposal.id in incident.released,
        )


def _head_before(proposal: Proposal) -> SnapshotId | None:
    return next((each.head for each in proposal.requirements if isinstance(each, HeadDescends)), None)


def recorded_terms(
    plan: SavepointPlanned | None, table: TableState, code: str | None, keeps: timedelta | None
) -> tuple[Term, ...]:
    """What a yes covers, and the record keeps word for word. `code`: the version that Flink tells of the run. `keeps`:
    how long the contract keeps snapshots."""
    schema = table.by_id[table.head].schema_id if table.head is not None else None
    head = f"{table.head} is the head now{f', schema {schema}' if schema is not None else ''}"
    days = f"until {plan.until:%Y-%m-%d}" if plan else f"for {UNPLANNED.days} days"
    contract = f"The contract keeps snapshots for {span(keeps)}." if keeps else "The contract names no retention."
    if plan is None:
        says = f"none. To add a reason and an end, reject this and {HOW_TO_PLAN}."
        why = Term(name="Plan", says=says)
        runs = f"{code or 'not known to Flink'} before; after: not given."
    else:
        why = Term(name="Reason", says=plan.reason)
        other = f" But Flink says that {code} runs now." if code and code != plan.code_before else ""
        runs = f"{plan.code_before} before, {plan.code_after} after.{other}"
    return (
        why,
        Term(name="Code", says=runs),
        Term(name="Snapshots", says=f"{head}. The snapshot that the stop commits is added later."),
        Term(
            name="Retention",
            says=f"The tag keeps the snapshot {days}, or until the table has no open incident. {contract}",
        ),
        *([Term(name="Over by", says=f"{clock_time(plan.over_by)}, as expected.")] if plan and plan.over_by else []),
        Term(name="Authoritative", says=f"{days}. A proposal that starts from another point names both."),
    )


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
