"""Looks again for those who were told that they need not do anything: lineage often comes after the closing message."""

from datetime import datetime

from bot.domain.entries import NoticeQueued, NoticesHeld
from bot.domain.ids import IncidentId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.notice import Notice
from bot.domain.told import NoticeView
from bot.domain.waterline import last_taken_back
from bot.notices.affecting import affected_commits
from bot.notices.reading import ReadAbove, ReadThrough
from bot.notices.readings import reading_of
from bot.ports import Clock, Timers
from bot.service.background import Background
from bot.service.incident_store import IncidentStore
from bot.service.looks import LOOKS, Looks
from bot.service.observing import Observer, readers_since
from bot.service.telling import Preview, Telling

LATE = "a run of yours was seen only now, and it has read rows that were wrong: please run again, as is said below."
"""The words of the correction."""
_WORK = "Looking in lineage for readers whose events came late"


class LateReaders:
    """Whoever was seen late is corrected, once an incident; who is not told that they need not run again, or was
    corrected since, is not looked after. Nothing but the correction is put on record."""

    def __init__(
        self, store: IncidentStore, observer: Observer, telling: Telling, background: Background, clock: Clock,
        timers: Timers,
    ) -> None:  # fmt: skip
        self._store = store
        self._observer = observer
        self._telling = telling
        self._clock = clock
        self.looks = Looks("late-readers", _WORK, store, background, timers, self._due, self.settle)

    def start(self) -> None:
        """Set what is to come, and follow the journal from now on."""
        self.looks.start()

    def settle(self, incident_id: IncidentId) -> None:
        """Look once, and correct what was told to those who are seen now. Raises CouldNotLook, UnknownTable,
        Refused."""
        incident = self._store.get(incident_id)
        late = self._seen_now(incident, cleared(incident))
        if not late:
            return
        preview = self._telling.preview(incident_id, "correction", LATE)
        theirs = tuple(notice for notice in preview.notices if notice.consumer in late)
        if not theirs:
            return
        self._telling.send(
            incident_id,
            Preview(notices=theirs, readers=preview.readers),
            by=WATERLINE,
            step=None,
            if_still=lambda now: late <= {view.notice.consumer for view in cleared(now)},
        )

    def _seen_now(self, incident: Incident, views: list[NoticeView]) -> frozenset[str]:
        if not views:
            return frozenset()
        names = {view.notice.consumer for view in views}
        table = self._observer.table(incident.opened.table)
        since = readers_since(table, incident.window)
        reads, far = self._observer.reads_since(table, since), self._observer.far_reads_since(table, since)
        wrong = affected_commits(incident, table)
        return frozenset(
            consumer.name
            for consumer in self._observer.setup(incident.opened.table).consumers
            if consumer.name in names and isinstance(reading_of(consumer, wrong, reads, far), ReadAbove | ReadThrough)
        )

    def _due(self, incident: Incident, _at_once: bool) -> datetime | None:
        now = self._clock.now()
        moments = (view.queued_at + each for view in cleared(incident) for each in LOOKS)
        return min((moment for moment in moments if moment > now), default=None)


def cleared(incident: Incident) -> list[NoticeView]:
    """Closing messages that asked for no new run, and that nothing has corrected or overtaken since, nor is going to.

    Not of a private incident: nobody is told of it by itself.
    """
    again = last_taken_back(incident)
    since = again.seq if again is not None else 0
    corrected = {
        (entry.seq, notice.consumer)
        for entry in incident.entries
        for notice in _told_by(entry.body, incident)
        if notice.kind == "correction"
    }
    return [
        view
        for view in incident.notices.values()
        if view.notice.kind == "recovered"
        and not incident.is_private
        and view.seq > since
        and view.notice.data is not None
        and view.notice.data.rerun is not None
        and view.notice.data.rerun.needed is False
        and not any(seq > view.seq and consumer == view.notice.consumer for seq, consumer in corrected)
    ]


def _told_by(body: object, incident: Incident) -> tuple[Notice, ...]:
    """What an entry sends, or asks to send."""
    match body:
        case NoticeQueued():
            return (body.notice,)
        case NoticesHeld():
            return incident.previews[body.name]
    return ()
