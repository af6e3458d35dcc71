"""Looks in lineage again after the closing message: events often come late. Whoever has a run that read wrong rows and
that no notice named is due for a correction; a person sends it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.incident.delivery import asks_to_run_again
from bot.incident.entries import Body, LateRunsSeen, NoticeQueued, NoticesHeld, NoticesPreviewed, ReadersNoted
from bot.incident.incident import Incident
from bot.incident.journal import WATERLINE, Entry
from bot.incident.notice import Notice, NoticeData
from bot.incident.waterline import last_taken_back
from bot.notices.affecting import affected_commits
from bot.notices.reading import ManyReaders, ReadAbove, Reading, ReadThrough, reading_of
from bot.observation.errors import CouldNotLook
from bot.observation.ids import IncidentId
from bot.observation.looked import NotSeen
from bot.ports import Clock
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer, readers_since

_EVERY = timedelta(minutes=15)
_FOR = timedelta(days=2)
"""After the closing message."""


class LateReaders:
    """Puts on record whose runs were seen late. It sends nothing."""

    def __init__(self, store: IncidentStore, observer: Observer, clock: Clock) -> None:
        self._store = store
        self._observer = observer
        self._clock = clock
        self._looked: dict[IncidentId, datetime] = {}
        """When this process looked last; of looks before its start nothing is known."""

    def look_in_turn(self, incident_id: IncidentId) -> None:
        """As `look`, unless the last look here is young."""
        now, looked = self._clock.now(), self._looked.get(incident_id)
        if looked is None or now >= looked + _EVERY:
            self._looked[incident_id] = now
            self.look(incident_id)

    def look(self, incident_id: IncidentId) -> None:
        """Look once. Raises CouldNotLook (also where only a part could be seen: what was seen is on record first),
        UnknownTable."""
        incident = self._store.get(incident_id)
        told = runs_told(incident)
        if told:
            self._look(incident, told)

    def _look(self, incident: Incident, told: Mapping[str, "RunsTold"]) -> None:
        table = self._observer.table(incident.opened.table)
        since = readers_since(table, incident.window)
        reads, far = self._observer.reads_since(table, since), self._observer.far_reads_since(table, since)
        wrong = affected_commits(incident, table)
        lacking = {
            each.name: told[each.name].lacks(reading_of(each, wrong, reads, far))
            for each in self._observer.setup(incident.opened.table).consumers
            if each.name in told
        }
        self._note(incident.id, {name: runs for name, runs in lacking.items() if runs}, told)
        for looked in (reads, far):
            if isinstance(looked, NotSeen):
                raise CouldNotLook(f"Not all readers of {table.name} could be seen.", looked.reason, looked.remedy)

    def _note(
        self, incident_id: IncidentId, lacking: Mapping[str, tuple[str, ...]], told: Mapping[str, "RunsTold"]
    ) -> None:
        """Only what is new: a run that is seen no more stays due, for somebody has read wrong rows."""

        def decide(now: Incident) -> list[Body]:
            still = {name: each.seq for name, each in runs_told(now).items()}
            new: list[Body] = []
            for name, runs in lacking.items():
                known = now.late_runs.get(name, frozenset()) | now.declined_runs.get(name, frozenset())
                if still.get(name) == told[name].seq and not known >= set(runs):
                    new.append(LateRunsSeen(consumer=name, runs=runs, asks=now.responder))
            return new

        self._store.write(incident_id, by=WATERLINE, decide=decide)


def may_be_read_late(incident: Incident, now: datetime) -> bool:
    """Whether a closing message is new enough. Old incidents are not walked."""
    is_young = now < incident.entries[-1].at + _FOR
    return is_young and any(now < told.closed_at + _FOR for told in runs_told(incident).values())


@dataclass(frozen=True)
class RunsTold:
    """Of one consumer, since the table is trusted."""

    closed_at: datetime
    """When its closing message was queued."""
    seq: int
    """Of the entry that told it last: by that message, or by a correction of it."""
    runs: frozenset[str]
    """Run ids that it was told; empty: that none was seen."""
    readers: Mapping[str, int]
    """The same for a channel: consumer -> how many runs of it."""

    def lacks(self, reading: Reading) -> tuple[str, ...]:
        """Ids of runs that are seen now and were not told; of a channel, `CONSUMER (N runs)`."""
        match reading:
            case ReadAbove() | ReadThrough():
                return tuple(sorted({run.run_id for run in reading.runs} - self.runs))
            case ManyReaders():
                more = (each for each in reading.consumers if each.runs > self.readers.get(each.consumer, 0))
                return tuple(f"{each.consumer} ({each.runs} runs)" for each in more)
        return ()


def runs_told(incident: Incident) -> dict[str, RunsTold]:
    """Consumer -> what it was told, where its closing message, or the newest correction of it, says which runs were
    seen, or that none was: not of whom lineage could not tell. A correction that waits for a second person counts.

    Not where nothing was affected, for no run can have read it.
    """
    if not any(view.notice.kind == "recovered" for view in incident.notices.values()):
        return {}
    again = last_taken_back(incident)
    since = again.seq if again is not None else 0
    closed: dict[str, datetime] = {}
    last: dict[str, tuple[Entry, Notice]] = {}
    for entry in incident.entries:
        for notice in _told_by(entry, incident) if entry.seq > since else ():
            if notice.kind == "recovered":
                closed[notice.consumer] = entry.at
            if notice.consumer in closed:
                last[notice.consumer] = entry, notice
    found = {name: _told(incident, closed[name], *told) for name, told in last.items()}
    return {name: told for name, told in found.items() if told is not None}


def _told_by(entry: Entry, incident: Incident) -> Iterator[Notice]:
    """Closing messages that were sent; corrections of a table that is proven, for no other asks to run again, also
    where people were asked whether they may be sent, for their no is an answer."""
    match entry.body:
        case NoticeQueued(notice=notice) if notice.kind == "recovered" or asks_to_run_again(notice):
            yield notice
        case NoticesHeld(name=name):
            yield from (notice for notice in incident.previews[name] if asks_to_run_again(notice))


def _told(incident: Incident, closed_at: datetime, entry: Entry, notice: Notice) -> RunsTold | None:
    data = notice.data
    if data is None or data.rerun is None or not data.affected_snapshots:
        return None
    if data.reading == "many":
        noted = _noted(incident, entry, notice)
        readers = {each.consumer: each.runs for each in noted.observed} if noted is not None else None
        return RunsTold(closed_at, entry.seq, frozenset(), readers) if readers is not None else None
    return RunsTold(closed_at, entry.seq, frozenset(data.affected_runs), {}) if _is_definite(data) else None


def _is_definite(data: NoticeData) -> bool:
    return bool(data.affected_runs) or (data.rerun is not None and data.rerun.needed is False)


def _noted(incident: Incident, entry: Entry, notice: Notice) -> ReadersNoted | None:
    """Who was seen when the text was made: what was noted with its last preview, or right before it was sent."""
    before = reversed(incident.entries[: entry.seq - 1])
    shown = (e.seq for e in before if isinstance(e.body, NoticesPreviewed) and notice in e.body.notices)
    until = next((seq + 1 for seq in shown), entry.seq)
    noted = (e.body for e in reversed(incident.entries) if e.seq <= until and isinstance(e.body, ReadersNoted))
    return next(noted, None)
