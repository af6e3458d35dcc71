"""The savepoints of a job that were proven to pair and kept: which one counts now, and for which code."""

from collections.abc import Iterable, Set
from datetime import datetime, timedelta

from bot.domain.effects import KeepSavepoint, StartJob
from bot.domain.execution import ProposalView
from bot.domain.ids import IncidentId, ProposalId, SnapshotId, TableName
from bot.domain.incident import Incident, shown_in
from bot.domain.paths import may_be_same
from bot.domain.proposal import Proposal, Term
from bot.domain.record import Record, Utc
from bot.domain.requirements import HeadDescends
from bot.domain.savepoint_entries import SavepointPlanned
from bot.domain.sentences import clock_time, counted, span
from bot.domain.table import TableState

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
        says = f"none. To add a reason and an end, reject this and type `/waterline savepoint {table.name}`."
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
