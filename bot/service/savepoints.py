"""Planned savepoints: planned with a reason and an end, and kept in a catalogue.

Takes away the tag of a kept savepoint when its day has passed; never while an incident is open on the table.

Not left to Iceberg's own `max-ref-age-ms`: Spark's expiry obeys it also during an incident, PyIceberg's never does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from bot.actions._support.maintenance import commit_marks
from bot.incident.effects import KeepSavepoint
from bot.incident.entries import Body, SavepointPlanned, SavepointReleased, SavepointReleasing
from bot.incident.execution import AT_WORK, UNFINISHED
from bot.incident.incident import Incident
from bot.incident.savepoints import (
    UNPLANNED,
    KeptSavepoint,
    authoritative,
    has_left_main,
    hidden_among,
    kept_savepoints,
    still_tagged,
    why_not_now,
)
from bot.observation.errors import CouldNotLook, Refused, UnknownTable
from bot.observation.flink import JobRun
from bot.observation.ids import IncidentId, ProposalId, SnapshotId, TableName, UserId
from bot.observation.record import Record
from bot.observation.sentences import clock_time
from bot.observation.table import TableState
from bot.ports import Clock, TableCatalog, TableChange
from bot.service.incident_store import IncidentStore, must_be_open
from bot.service.observing import Observer


class SavepointOffer(Record):
    table: TableName
    job: str
    head: SnapshotId | None
    checkpoint: str
    """Newest checkpoint on main."""
    code: str
    """Version that runs now; empty where Flink does not tell it."""
    until: datetime


class Catalogue(NamedTuple):
    kept: tuple[KeptSavepoint, ...]
    """The newest first."""
    counts: KeptSavepoint | None
    """The authoritative one."""
    left: frozenset[ProposalId] | None
    """By which those were taken whose snapshot main has left: they pair with nothing. None: it could not be looked."""
    hidden: frozenset[ProposalId]
    """By which those were taken of whose incident nothing is shown where the list is read."""
    not_now: Mapping[ProposalId, str]
    """By which those were taken from which a start on main as it is would be wrong: why, a clause."""


@dataclass(eq=False)
class Savepoints:
    _store: IncidentStore
    _observer: Observer
    _clock: Clock

    def offer(self, incident_id: IncidentId) -> SavepointOffer:
        """Look at table and job. Raises UnknownTable, CouldNotLook, Refused for a table without a job, and while a
        savepoint is proposed: nobody fills in a form for nothing."""
        incident = self._store.get(incident_id)
        table = incident.opened.table
        job = self._job_of(table)
        must_be_open(incident)
        must_not_be_proposed(incident)
        observation = self._observer.observe(table)
        live = [run for run in observation.jobs.values if isinstance(run, JobRun) and not run.is_terminal]
        newest = next((s for s in observation.table.chain if s.checkpoint_id is not None), None)
        return SavepointOffer(
            table=table,
            job=job,
            head=observation.table.head,
            checkpoint="none" if newest is None else str(newest.checkpoint_id),
            code=(live[0].code_version or "") if len(live) == 1 else "",
            until=self._clock.now() + UNPLANNED,
        )

    def plan(
        self,
        incident_id: IncidentId,
        *,
        reason: str,
        code_before: str,
        code_after: str,
        until: datetime,
        over_by: datetime | None = None,
        by: UserId,
    ) -> None:
        """Write the plan into an open incident.

        Nothing is stopped: the runbook looks first, and the stop is proposed and approved like any other change.
        `over_by`: when the work is expected to be over. Raises Refused for an end that has passed, and while a
        savepoint is proposed by an earlier plan.
        """
        if until <= self._clock.now():
            raise Refused("This day has passed.", f"Found {until:%Y-%m-%d}.", "Choose a later day. Nothing was done.")
        if over_by is not None and over_by <= self._clock.now():
            found = f"Found {clock_time(over_by, self._clock.now())}."
            raise Refused("This end of the work has passed.", found, "Say a later time. Nothing was done.")
        planned = SavepointPlanned(
            reason=reason, code_before=code_before, code_after=code_after, until=until,
            over_by=over_by,
        )  # fmt: skip

        def decide(now: Incident) -> list[Body]:
            must_be_open(now)
            if now.plan == planned:
                return []
            must_not_be_proposed(now)
            return [planned]

        self._store.write(incident_id, by=by, decide=decide)

    def catalogue(self, table: TableName, channel: str = "") -> Catalogue:
        """All that were kept for the table's job, and how they stand now. Raises UnknownTable, Refused. Cost: the
        metadata of each table that the job writes. `channel`: where the list is read."""
        incidents, job = self._store.all(), self._job_of(table)
        kept, hidden = kept_savepoints(incidents, job), hidden_among(incidents, job, channel)
        try:
            tables = {name: self._observer.table(name) for name in {each.table for each in kept}}
        except (CouldNotLook, UnknownTable):
            return Catalogue(kept, authoritative(kept, self._clock.now()), None, hidden, {})
        left = frozenset(each.proposal for each in kept if has_left_main(each, tables[each.table]))
        not_now = {each.proposal: why for each in kept if (why := why_not_now(each, tables[each.table])) is not None}
        return Catalogue(kept, authoritative(kept, self._clock.now(), left), left, hidden, not_now)

    def _job_of(self, table: TableName) -> str:
        job = self._observer.setup(table).job
        if job is None:
            raise Refused(
                f"No job is configured for {table}.", "A savepoint is of a job.", "Name its `job` in the configuration."
            )
        return job


def must_not_be_proposed(now: Incident) -> None:
    """Raises Refused while a savepoint is proposed: what is approved is the plan as it was shown."""
    of_savepoint = (v for v in now.proposals.values() if any(isinstance(e, KeepSavepoint) for e in v.proposal.effects))
    busy = next((v for v in of_savepoint if v.state in UNFINISHED), None)
    if busy is not None:
        raise Refused(
            "A savepoint is already proposed, so its plan cannot change.",
            f"“{busy.proposal.title}” in {now.id} is {busy.state.value}.",
            "Wait for its end." if busy.state in AT_WORK else "Reject it first. Then plan and propose again.",
        )


_How = Literal["removed", "gone", "elsewhere"]


@dataclass(eq=False)
class SavepointTags:
    """Everything may be done twice, by any replica: the tag itself tells what is done."""

    _store: IncidentStore
    _catalog: TableCatalog
    _clock: Clock

    def release(self, incident_id: IncidentId) -> None:
        """Remove the tags that are due, each with an entry; none while an incident is open on its table. Raises
        CommitRefused, OutcomeUnknown, CouldNotLook, UnknownTable: then the tag stands, and it is tried again."""
        for kept in expired_savepoints(self._store.get(incident_id), self._clock.now()):
            how = self._removed(incident_id, kept) if not self._is_questioned(kept.table) else None
            if how is not None:
                self._note(incident_id, kept, how)

    def _removed(self, incident_id: IncidentId, kept: KeptSavepoint) -> _How | None:
        """What became of the tag; None while an incident is open, which is asked again before each try.

        The intent is written right before the commit: whoever finds the tag missing afterwards knows whose deed it
        was, also when a crash kept the end from the record, or another replica was first.
        """
        snapshot = SnapshotId(int(kept.snapshot))

        def change(table: TableState) -> TableChange | None:
            if self._is_questioned(kept.table) or table.ref(kept.tag) != snapshot:
                return None
            self._intend(incident_id, kept)
            return TableChange(
                expected_uuid=table.uuid,
                expected_head=None,
                expected_refs={kept.tag: snapshot},
                remove_refs=(kept.tag,),
            )

        if commit_marks(self._catalog, kept.table, change) is not None:
            return "removed"
        stands = self._catalog.load(kept.table).ref(kept.tag)
        if stands is None:
            return "removed" if kept.proposal in self._store.get(incident_id).releasing else "gone"
        return None if stands == snapshot else "elsewhere"

    def _is_questioned(self, table: TableName) -> bool:
        return self._store.open_on(table) is not None

    def _intend(self, incident_id: IncidentId, kept: KeptSavepoint) -> None:
        body = SavepointReleasing(proposal=kept.proposal, tag=kept.tag, snapshot=kept.snapshot)
        self._store.append_if(incident_id, [body], lambda now: kept.proposal not in now.releasing)

    def _note(self, incident_id: IncidentId, kept: KeptSavepoint, how: _How) -> None:
        body = SavepointReleased(proposal=kept.proposal, tag=kept.tag, snapshot=kept.snapshot, how=how)
        self._store.append_if(incident_id, [body], lambda now: kept.proposal not in now.released)


def expired_savepoints(incident: Incident, now: datetime) -> tuple[KeptSavepoint, ...]:
    """Those of this incident that have passed their day, and still have their tag."""
    return tuple(kept for kept in still_tagged(incident) if kept.until <= now)
