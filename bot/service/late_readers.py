"""Looks again for those who were told which of their runs read wrong rows: lineage often comes after the closing
message."""

from datetime import datetime, timedelta

from bot.domain.entries import Body, CorrectionWaits
from bot.domain.errors import CouldNotLook
from bot.domain.ids import IncidentId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.looked import NotSeen
from bot.notices.affecting import affected_commits
from bot.notices.readings import reading_of
from bot.ports import Clock, Timers
from bot.service.background import Background
from bot.service.incident_store import IncidentStore
from bot.service.looks import LOOKS, Looks
from bot.service.observing import Observer, readers_since
from bot.service.other_doubts import OtherDoubts
from bot.service.runs_told import runs_told
from bot.service.telling import Preview, Telling

LATE = (
    "a run was seen only now that has read rows that were wrong. It is among those below; what was run again since "
    "our last message need not be run once more."
)
"""The words of the correction."""
_WORK = "Looking in lineage for readers whose events came late"
_AGAIN = timedelta(hours=1)
"""So long after a look that could not see, or after which somebody has to wait."""
_OVERDUE = timedelta(days=7)
"""So long after the closing message a look that was missed is made up for, and lineage is asked again while somebody
waits; later only whether the table is still in doubt."""


class LateReaders:
    """Whoever has a run that was seen late is corrected; as often as runs are found that they were not told, which is
    at most once a look. Nothing but the correction is put on record, and who has to wait for it: nobody is asked to run
    again on a table that another incident has put in doubt since. That is looked at again every hour until they are
    told, by whatever process."""

    def __init__(
        self, store: IncidentStore, observer: Observer, telling: Telling, background: Background, clock: Clock,
        timers: Timers, others: OtherDoubts,
    ) -> None:  # fmt: skip
        self._store = store
        self._observer = observer
        self._telling = telling
        self._clock = clock
        self._others = others
        self._looked: dict[IncidentId, datetime] = {}
        """When this process looked last and saw; of looks before its start nothing is known."""
        self._in_vain: dict[IncidentId, datetime] = {}
        """When it looked last, where it could not see, or somebody has to wait; gone otherwise."""
        self.looks = Looks("late-readers", _WORK, store, background, timers, self._due, self.settle)

    def start(self) -> None:
        """Set what is to come, make up for what was missed, and follow the journal from now on."""
        self.looks.start()

    def settle(self, incident_id: IncidentId) -> None:
        """Look once, and correct what was told to those who are seen now, or put on record that they have to wait.
        Raises CouldNotLook (also where only a part could be seen: whoever was seen is corrected first), UnknownTable;
        it is looked again in an hour then.
        """
        self._in_vain[incident_id] = now = self._clock.now()
        incident = self._store.get(incident_id)
        doubt = self._others.of(incident).doubt if incident.uncorrected else None
        if doubt is None or incident.entries[-1].at + _OVERDUE > now:
            self._look(incident)
        self._looked[incident_id] = now
        if not self._store.get(incident_id).uncorrected:
            del self._in_vain[incident_id]

    def _look(self, incident: Incident) -> None:
        told = runs_told(incident)
        if not told:
            return
        table = self._observer.table(incident.opened.table)
        since = readers_since(table, incident.window)
        reads, far = self._observer.reads_since(table, since), self._observer.far_reads_since(table, since)
        wrong = affected_commits(incident, table)
        late = {
            each.name: told[each.name].seq
            for each in self._observer.setup(incident.opened.table).consumers
            if each.name in told and told[each.name].lacks(reading_of(each, wrong, reads, far))
        }
        doubt = self._others.of(incident).doubt if late else None
        if doubt is not None:
            self._wait(incident.id, frozenset(late), doubt)
        elif late:
            self._correct(incident, late)
        for looked in (reads, far):
            if isinstance(looked, NotSeen):
                raise CouldNotLook(f"Not all readers of {table.name} could be seen.", looked.reason, looked.remedy)
        if not late:
            self._wait(incident.id, frozenset(), "lineage shows no run any more that they were not told")

    def _wait(self, incident_id: IncidentId, consumers: frozenset[str], why: str) -> None:
        """Put on record who waits for a correction, where that is not what the record says."""

        def decide(now: Incident) -> list[Body]:
            same = now.uncorrected == consumers
            return [] if same else [CorrectionWaits(consumers=tuple(sorted(consumers)), why=why)]

        self._store.write(incident_id, by=WATERLINE, decide=decide)

    def _correct(self, incident: Incident, late: dict[str, int]) -> None:
        """`late`: consumer -> the entry that told it less than is seen now."""
        preview = self._telling.preview(incident.id, "correction", LATE)
        theirs = tuple(notice for notice in preview.notices if notice.consumer in late)
        if not theirs:
            return
        self._telling.send(
            incident.id,
            Preview(notices=theirs, readers=preview.readers),
            by=WATERLINE,
            step=None,
            if_still=lambda now: late.items() <= {name: told.seq for name, told in runs_told(now).items()}.items(),
        )

    def _due(self, incident: Incident, at_once: bool) -> datetime | None:
        now, looked = self._clock.now(), self._looked.get(incident.id)
        is_owed = bool(incident.uncorrected)
        if not is_owed and incident.entries[-1].at + _OVERDUE <= now:
            return None  # asked of every incident again and again: nothing in it is young enough to be walked
        closed = {told.closed_at for told in runs_told(incident).values()}
        moments = sorted(each + wait for each in closed if now < each + _OVERDUE for wait in LOOKS)
        following = next((moment for moment in moments if moment > now), None)
        in_vain = self._in_vain.get(incident.id)
        if in_vain is not None and (moments or is_owed):
            again = max(in_vain + _AGAIN, now)
            return again if following is None else min(again, following)
        missed = [moment for moment in moments if moment <= now and (looked is None or looked < moment)]
        if at_once and (missed or is_owed):
            return now
        return following or (now + _AGAIN if is_owed else None)
