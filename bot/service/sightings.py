"""What the watch and the alerts have seen: kept once, told once, muted, and known to be over."""

import threading
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from itertools import takewhile

from ulid import ULID

from bot.domain.approval import People
from bot.domain.came_again import goes_on
from bot.domain.clock_time import clock_time
from bot.domain.errors import UnknownTable
from bot.domain.ids import IncidentId, TableName, UserId
from bot.domain.incident import Incident
from bot.domain.mute_lengths import refuse_length
from bot.domain.open_findings import taken_over_by
from bot.domain.quiet import QuietHours
from bot.domain.table import TableState
from bot.domain.watch import MESSAGE, SILENT, Ended, Looked, Memory, Muted, Sighted, Sign, recall, sighting_id
from bot.ports import Clock, Outbox, Post, WatchNotes
from bot.service.incident_store import IncidentStore
from bot.service.sight import Sight

_HOLDS = timedelta(days=1)
"""So long what somebody else told is taken to hold, as few say that it is over; and so long a thread is read."""
_NOBODY = People()


class Sightings:
    """Every table's memory, and the messages that come of it. What is put into the outbox twice is there once."""

    def __init__(
        self,
        notes: WatchNotes,
        outbox: Outbox,
        store: IncidentStore,
        clock: Clock,
        channels: Mapping[TableName, str],
        quiet: QuietHours | None = None,
        mention: People = _NOBODY,
    ) -> None:
        self.mention = mention
        """Who is to be notified of what is urgent."""
        self._notes = notes
        self._outbox = outbox
        self._store = store
        self._clock = clock
        self._channels = channels
        self._quiet = quiet
        self._lock = threading.Lock()
        self._posted: set[str] = set()
        """Sightings that this process knows to be in the outbox."""

    @property
    def tables(self) -> tuple[TableName, ...]:
        """Those that have a channel in which something can be told."""
        return tuple(self._channels)

    def channel(self, table: TableName) -> str:
        """Where this table's findings are told."""
        return self._channels[table]

    def memory(self, table: TableName) -> Memory:
        """What is remembered of a table."""
        return recall(self._notes.of(table))

    def sight(self, sighting: str) -> Sight | None:
        """One sighting by its id; None if there is none."""
        found = self._notes.find(f"sighted/{sighting}")
        if not isinstance(found, Sighted):
            return None
        memory = self.memory(found.table)
        incident, now_open = self._incident_of(found), self._store.open_on(found.table)
        return Sight(
            sighted=found,
            ended=memory.ended.get(found.id),
            mute=memory.mute_of(found.sign, self._clock.now()),
            looked=memory.looked.get(found.id),
            incident=incident,
            beside=now_open if incident is None or now_open is None or now_open.id != incident.id else None,
        )

    def goes_on(self, table: TableName, sign: Sign, memory: Memory, state: TableState | None) -> bool:
        """Whether this very thing was told, or left by an incident, and has not come again since."""
        return goes_on(sign, memory, [each for each in self._store.all() if each.opened.table == table], state)

    def see(self, table: TableName, sign: Sign, *, occasion: str | None = None, is_again: bool = False) -> bool:
        """Keep a sign and tell it when its time has come; False if this very thing is known and goes on.

        `occasion`: what sets it apart from earlier ones, where somebody else counts them (an alert its start).
        `is_again`: it is known, and has come again.
        """
        memory = self.memory(table)
        if occasion is None and not is_again and memory.known(sign) is not None:
            return False
        return self._notes.add(
            Sighted(
                id=sighting_id(table, sign, memory.occasions(sign) if occasion is None else occasion),
                table=table,
                channel=self._channels[table],
                sign=sign,
                at=self._clock.now(),
            )
        )

    def end(self, sighted: Sighted, why: str, *, written_at: datetime | None = None) -> None:
        """It is over: said in its thread, if it was told at all. `written_at`: of the message that says so."""
        at = self._clock.now()
        if not self._notes.add(Ended(sighting=sighted.id, table=sighted.table, at=at, why=why, written_at=written_at)):
            return
        told = self._outbox.find(post_key(sighted.id))
        if told is not None:
            self._outbox.touch(told.key)
            reply = f"Over since {clock_time(at, sighted.at, seconds=True)}: {why}"
            self._put(f"{told.key}/over", told.channel, told.thread_of or told.key, told.incident, reply)

    def looked(self, sighted: Sighted, facts: tuple[str, ...]) -> None:
        """Keep what the watch saw when it was told of; its message shows it."""
        if self._notes.add(Looked(sighting=sighted.id, table=sighted.table, at=self._clock.now(), facts=facts)):
            self._outbox.touch(post_key(sighted.id))

    def meanwhile(self, incident: Incident, sign: Sign) -> None:
        """Say it in the incident's thread; once an incident, however often it is asked for."""
        advice = sign.advice[:1].upper() + sign.advice[1:]
        text = f"Meanwhile: {sign.headline} {' '.join(sign.reasons)} What to do: {advice}."
        key = f"{incident.id}/watch/{sign.code}"
        self._put(key, incident.opened.channel, f"{incident.id}/card", incident.id, text)

    def mute(self, table: TableName, code: str | None, span: timedelta, *, by: UserId) -> Muted:
        """Tell no more of it for a while. Raises UnknownTable, Refused."""
        self.must_know(table)
        refuse_length(table, span)
        return self._mute(table, code, span, by=by)

    def unmute(self, table: TableName, code: str | None, *, by: UserId) -> Muted:
        """Tell of it again from now on. Raises UnknownTable."""
        self.must_know(table)
        return self._mute(table, code, timedelta(0), by=by)

    def _mute(self, table: TableName, code: str | None, span: timedelta, *, by: UserId) -> Muted:
        at = self._clock.now()
        note = Muted(id=str(ULID()), table=table, code=code, until=at + span, by=by, at=at)
        self._notes.add(note)
        for sighted in self.memory(table).lasting:
            named = (sighted.sign.muted_as.casefold(), sighted.sign.code.casefold())
            if code is None or code.casefold() in named:
                self._outbox.touch(post_key(sighted.id))
        return note

    def muted(self, table: TableName) -> tuple[Muted, ...]:
        """Every mute of a table that holds now, of the table as a whole first."""
        return self.memory(table).muted_at(self._clock.now())

    def must_know(self, table: TableName) -> None:
        """Raises UnknownTable where nothing can be told of it."""
        if table not in self._channels:
            raise UnknownTable(
                f"Waterline does not watch a table {table}.",
                f"It watches {', '.join(self._channels) or 'none'}.",
                "Use one of these names.",
            )

    def settle(self, table: TableName) -> None:
        """Put into the outbox what is to be told now: not what is muted, waits for the end of quiet hours, or has an
        incident already. An alert that comes meanwhile goes into the incident's thread, and what a planned stop looks
        like into that of the planned work."""
        memory, now, now_open = self.memory(table), self._clock.now(), self._store.open_on(table)
        planned = now_open if now_open is not None and now_open.opened.runbook.is_planned else None
        fresh: set[str] = set()
        for sighted in memory.lasting:
            if self.is_told(sighted.id):
                self._let_go(sighted)
                continue
            if memory.mute_of(sighted.sign, now) is not None:
                continue
            if self._quiet is not None and self._quiet.silence(now, is_urgent=sighted.sign.is_urgent):
                continue
            incident = self._incident_of(sighted)
            if incident is None and planned is not None and sighted.sign.code in SILENT:
                self._post_in(planned, sighted)
            elif incident is None:
                self._put(post_key(sighted.id), sighted.channel, self._thread(sighted, memory, fresh), None)
                fresh.add(sighted.id)
            elif incident.is_open and not sighted.sign.is_of_watch:
                self._post_in(incident, sighted)
            else:
                self._let_go(sighted)

    def incident_changed(self, incident: Incident) -> None:
        """It was opened, has ended, or its table was proven: what is told of the table shows it, except what an earlier
        one was opened on."""
        for sighted in self.memory(incident.opened.table).lasting:
            shown = self._incident_of(sighted)
            if shown is None or shown.id == incident.id:
                self._outbox.touch(post_key(sighted.id))

    def is_past(self, sighted: Sighted) -> bool:
        """Of what is not said to be over: whether it is a day old, or an incident took it over. Nobody reads its thread
        any more."""
        return self._clock.now() - sighted.at >= _HOLDS or self._incident_of(sighted) is not None

    def _let_go(self, sighted: Sighted) -> None:
        """What somebody wrote a day ago lasts no more: nothing is said of that, for nobody knows that it is over."""
        now = self._clock.now()
        if sighted.sign.code == MESSAGE and now - sighted.at >= _HOLDS:
            why = "taken for past, a day after it was written."
            self._notes.add(Ended(sighting=sighted.id, table=sighted.table, at=now, why=why))

    def _thread(self, sighted: Sighted, memory: Memory, fresh: Collection[str]) -> str | None:
        """The key of what was told of the same subject before, as urgent, whose thread is still read now. `fresh`: what
        is told at this moment, however long it had to wait."""
        for each in takewhile(lambda s: s.id != sighted.id, memory.lasting):
            is_alike = each.sign.subject == sighted.sign.subject and each.sign.is_urgent >= sighted.sign.is_urgent
            if is_alike and (each.id in fresh or not self.is_past(each)):
                told = self._outbox.find(post_key(each.id))
                if told is not None and (told.channel, told.incident, told.thread_of) == (sighted.channel, None, None):
                    return told.key
        return None

    def _post_in(self, incident: Incident, sighted: Sighted) -> None:
        self._put(post_key(sighted.id), incident.opened.channel, f"{incident.id}/card", incident.id)

    def _put(
        self, key: str, channel: str, thread: str | None, incident: IncidentId | None, text: str | None = None
    ) -> None:
        self._outbox.put(Post(key=key, incident=incident, channel=channel, thread_of=thread, text=text))

    def is_told(self, sighting: str) -> bool:
        """Whether its message is in the outbox; else it is muted, or waits for the end of quiet hours."""
        with self._lock:
            if sighting in self._posted:
                return True
        found = self._outbox.find(post_key(sighting)) is not None
        if found:
            with self._lock:
                self._posted.add(sighting)
        return found

    def _incident_of(self, sighted: Sighted) -> Incident | None:
        return taken_over_by(sighted, self._store.all())


def post_key(sighting: str) -> str:
    """The key of its message."""
    return f"watch/{sighting}"
