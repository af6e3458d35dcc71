"""What the watch and the alerts have seen: kept once, told once, muted, and known to be over."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ulid import ULID

from bot.incident.approval import People
from bot.incident.incident import Incident
from bot.incident.watch import (
    SILENT,
    Ended,
    Memory,
    Muted,
    ReportedFinding,
    WatchFinding,
    finding_id,
    goes_on,
    open_findings,
    recall,
    taken_over_by,
)
from bot.observation.errors import UnknownTable
from bot.observation.ids import IncidentId, TableName, UserId
from bot.observation.sentences import clock_time
from bot.observation.table import TableState
from bot.ports import Clock, Outbox, Post, WatchNotes
from bot.service.incident_store import IncidentStore

_STILL_TOLD = timedelta(days=1)


@dataclass(frozen=True)
class FindingStatus:
    reported: ReportedFinding
    ended: Ended | None
    mute: Muted | None
    """What silences it now."""
    incident: Incident | None
    """The first one since on its table that looks into it: one that put the table in doubt at that time or later."""
    beside: Incident | None = None
    """One that is open on its table and has not looked into it: planned work, or one whose table is proven."""

    def has_long_been_over(self, now: datetime) -> bool:
        """Whether it ended a day ago or earlier: who was not told by then has nothing to do about it."""
        return self.ended is not None and now - self.ended.at >= _STILL_TOLD


_NOBODY = People()


@dataclass(eq=False)
class FindingStore:
    """Every table's memory, and the messages that come of it. What is put into the outbox twice is there once."""

    _notes: WatchNotes
    _outbox: Outbox
    _store: IncidentStore
    _clock: Clock
    _channels: Mapping[TableName, str]
    mention: People = _NOBODY
    """Who is to be notified of what is urgent."""

    @property
    def tables(self) -> tuple[TableName, ...]:
        """Those that have a channel in which something can be told."""
        return tuple(self._channels)

    def channel(self, table: TableName) -> str:
        return self._channels[table]

    def memory(self, table: TableName) -> Memory:
        return recall(self._notes.of(table))

    def status(self, finding: str) -> FindingStatus | None:
        """One finding by its id; None if there is none."""
        found = self._notes.find(f"sighted/{finding}")
        if not isinstance(found, ReportedFinding):
            return None
        memory = self.memory(found.table)
        incident, now_open = self._incident_of(found), self._store.open_on(found.table)
        return FindingStatus(
            reported=found,
            ended=memory.ended.get(found.id),
            mute=memory.mute_at(self._clock.now()),
            incident=incident,
            beside=now_open if incident is None or now_open is None or now_open.id != incident.id else None,
        )

    def goes_on(self, table: TableName, finding: WatchFinding, memory: Memory, state: TableState | None) -> bool:
        """Whether this very thing was told, or left by an incident, and has not come again since."""
        return goes_on(finding, memory, [each for each in self._store.all() if each.opened.table == table], state)

    def see(
        self, table: TableName, finding: WatchFinding, *, occasion: str | None = None, is_again: bool = False
    ) -> bool:
        """Keep a finding and tell it when its time has come; False if this very thing is known and goes on.

        `occasion`: what sets it apart from earlier ones, where somebody else counts them (an alert its start).
        `is_again`: it is known, and has come again.
        """
        memory = self.memory(table)
        if occasion is None and not is_again and memory.known(finding) is not None:
            return False
        return self._notes.add(
            ReportedFinding(
                id=finding_id(table, finding, memory.occasions(finding) if occasion is None else occasion),
                table=table,
                channel=self._channels[table],
                finding=finding,
                at=self._clock.now(),
            )
        )

    def newest_unopened(self, table: TableName) -> WatchFinding | None:
        """What lasts on the table without an incident: the urgent first, then the newest."""
        open_ones = [each for each in self.memory(table).lasting if self._incident_of(each) is None]
        newest = max(open_ones, key=lambda each: (each.finding.is_urgent, each.at), default=None)
        return newest.finding if newest is not None else None

    def end(self, reported: ReportedFinding, why: str) -> None:
        """It is over: said in its thread, if it was told at all."""
        at = self._clock.now()
        if not self._notes.add(Ended(finding=reported.id, table=reported.table, at=at, why=why)):
            return
        told = self._outbox.find(post_key(reported.id))
        if told is not None:
            self._outbox.touch(told.key)
            reply = f"Over since {clock_time(at, reported.at, seconds=True)}: {why}"
            self._put(f"{told.key}/over", told.channel, told.thread_of or told.key, told.incident, reply)

    def mute(self, table: TableName, span: timedelta, *, by: UserId) -> Muted:
        """Post nothing about the table for a while. Raises UnknownTable."""
        self.must_know(table)
        return self._mute(table, span, by=by)

    def unmute(self, table: TableName, *, by: UserId) -> bool:
        """Post about the table again from now on; False if it was not muted. Raises UnknownTable."""
        self.must_know(table)
        if self.memory(table).mute_at(self._clock.now()) is None:
            return False
        self._mute(table, timedelta(0), by=by)
        return True

    def _mute(self, table: TableName, span: timedelta, *, by: UserId) -> Muted:
        at = self._clock.now()
        note = Muted(id=str(ULID()), table=table, until=at + span, by=by, at=at)
        self._notes.add(note)
        for reported in self.memory(table).lasting:
            self._outbox.touch(post_key(reported.id))
        return note

    def shows_mute(self, finding: str) -> None:
        """Its message is made anew, also where it is over: there the mute is ended."""
        self._outbox.touch(post_key(finding))

    def must_know(self, table: TableName) -> None:
        """Raises UnknownTable where nothing can be told of it."""
        if table not in self._channels:
            raise UnknownTable(
                f"Waterline is not set up for a table {table}.",
                f"It watches {', '.join(self._channels) or 'none'}.",
                "Use one of these names.",
            )

    def post_due(self, table: TableName) -> None:
        """Put into the outbox what is to be posted now: nothing while the table is muted, nor what has an incident
        already. An alert that comes during an incident goes into its thread, and what a planned stop looks like into
        that of the planned work."""
        memory, now_open = self.memory(table), self._store.open_on(table)
        if memory.mute_at(self._clock.now()) is not None:
            return
        planned = now_open if now_open is not None and now_open.runbook.is_planned else None
        for reported in memory.lasting:
            if self.is_told(reported.id):
                continue
            incident = self._incident_of(reported)
            if incident is None and planned is not None and reported.finding.code in SILENT:
                self._post_in(planned, reported)
            elif incident is None:
                self._put(post_key(reported.id), reported.channel, None, None)
            elif incident.is_open and not reported.finding.is_of_watch:
                self._post_in(incident, reported)

    def incident_changed(self, incident: Incident) -> None:
        """It was opened, has ended, or its table was proven: what is told of the table shows it, except what an earlier
        one was opened on."""
        for reported in self.memory(incident.opened.table).lasting:
            shown = self._incident_of(reported)
            if shown is None or shown.id == incident.id:
                self._outbox.touch(post_key(reported.id))

    def _post_in(self, incident: Incident, reported: ReportedFinding) -> None:
        self._put(post_key(reported.id), incident.opened.channel, f"{incident.id}/card", incident.id)

    def _put(
        self, key: str, channel: str, thread: str | None, incident: IncidentId | None, text: str | None = None
    ) -> None:
        self._outbox.put(Post(key=key, incident=incident, channel=channel, thread_of=thread, text=text))

    def is_told(self, finding: str) -> bool:
        """Whether its message is in the outbox; else its table is muted."""
        return self._outbox.find(post_key(finding)) is not None

    def _incident_of(self, reported: ReportedFinding) -> Incident | None:
        return taken_over_by(reported, self._store.all())


def post_key(finding: str) -> str:
    return f"watch/{finding}"


class WatchFindings:
    """Reads what the watch keeps. Of a table that it does not follow (any more) nothing is told: nobody would see that
    it is over."""

    def __init__(self, notes: WatchNotes, followed: Collection[TableName]) -> None:
        self._notes = notes
        self._followed = frozenset(followed)

    def of(self, table: TableName, incidents: Sequence[Incident]) -> tuple[ReportedFinding, ...]:
        """See `open_findings`; `incidents`: those of this table. Raises CouldNotLook. Cost: one query."""
        if table not in self._followed:
            return ()
        return open_findings(recall(self._notes.of(table)), incidents)
