"""What each consumer was told last of the runs that have read wrong rows. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from bot.domain.entries import NoticeQueued, NoticesHeld, NoticesPreviewed, ReadersNoted
from bot.domain.incident import Incident
from bot.domain.journal import Entry
from bot.domain.notice import Notice, NoticeData
from bot.domain.notice_fold import asks_to_run_again
from bot.domain.waterline import last_taken_back
from bot.notices.reading import ManyReaders, ReadAbove, Reading, ReadThrough


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

    def lacks(self, reading: Reading) -> bool:
        """Whether a run is seen now that was not told."""
        match reading:
            case ReadAbove() | ReadThrough():
                return not {run.run_id for run in reading.runs} <= self.runs
            case ManyReaders():
                return any(each.runs > self.readers.get(each.consumer, 0) for each in reading.consumers)
        return False


def runs_told(incident: Incident) -> dict[str, RunsTold]:
    """Consumer -> what it was told, where its closing message, or the newest correction of it, says which runs were
    seen, or that none was: not of whom lineage could not tell, nor while a correction waits for its approval.

    Not where nothing was affected, for no run can have read it; nor of a private incident: nobody is told of it by
    itself.
    """
    if incident.is_private or not any(view.notice.kind == "recovered" for view in incident.notices.values()):
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
    waiting = {
        notice.consumer
        for view in incident.held.values()
        if view.is_waiting
        for notice in incident.previews[view.name]
        if notice.kind == "correction"
    }
    found = {name: _told(incident, closed[name], *told) for name, told in last.items() if name not in waiting}
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
