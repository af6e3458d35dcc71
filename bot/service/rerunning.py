"""Looks in lineage for the runs of consumers who say that they ran again: at once, and now and then for a day."""

from datetime import datetime, timedelta

from bot.domain.entries import Body, RerunChecked
from bot.domain.errors import CouldNotLook, UnknownTable
from bot.domain.ids import IncidentId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.looked import NotSeen, Seen
from bot.domain.reads import FarRead
from bot.domain.told import AnswerView, NoticeView
from bot.notices.readings import FarReads
from bot.notices.reruns import checked, ran_itself, turn_before
from bot.ports import Clock, Timers
from bot.service.background import Background
from bot.service.incident_store import IncidentStore
from bot.service.looks import LOOKS, Looks
from bot.service.observing import Observer

_CLOCKS_DIFFER = timedelta(minutes=5)
_WORK = "Looking in lineage for runs of consumers"
_Pending = tuple[NoticeView, AnswerView]


class Reruns:
    """One look serves all answers of an incident: the table's metadata, and the events since the oldest repair."""

    def __init__(
        self, store: IncidentStore, observer: Observer, background: Background, clock: Clock, timers: Timers
    ) -> None:
        self._store = store
        self._observer = observer
        self._clock = clock
        self.looks = Looks("reruns", _WORK, store, background, timers, self._due, self.settle)

    def start(self) -> None:
        """Set what is to come, and follow the journal from now on."""
        self.looks.start()

    def settle(self, incident_id: IncidentId) -> None:
        """Look for every answer that is still open; what is found as before is not written again."""
        incident = self._store.get(incident_id)
        pending = open_answers(incident)
        if not pending:
            return
        found = self._found(incident, pending)

        def decide(now: Incident) -> list[Body]:
            known = {each.seq: each.check for view in now.notices.values() for each in view.answers}
            return [check for check in found if known.get(check.answered) != check]

        self._store.write(incident_id, by=WATERLINE, decide=decide)

    def _found(self, incident: Incident, pending: list[_Pending]) -> list[RerunChecked]:
        try:
            table = self._observer.table(incident.opened.table)
        except (CouldNotLook, UnknownTable) as error:
            return [_unknown(view, answer, f"{error.happened} {error.found}") for view, answer in pending]
        since = min(turn_before(incident, view, answer).at for view, answer in pending) - _CLOCKS_DIFFER
        reads = self._observer.reads_since(table, since)
        far: FarReads = Seen[FarRead](source=reads.source, values=())
        if not isinstance(reads, NotSeen) and not all(ran_itself(incident, *each, table, reads) for each in pending):
            far = self._observer.far_reads_since(table, since)
        consumers = self._observer.setup(incident.opened.table).consumers
        many = {consumer.name for consumer in consumers if consumer.kind == "channel"}
        return [
            _unknown(view, answer, f"{view.notice.consumer} stands for everybody in its channel")
            if view.notice.consumer in many
            else checked(incident, view, answer, table, reads, far)
            for view, answer in pending
        ]

    def _due(self, incident: Incident, at_once: bool) -> datetime | None:
        now = self._clock.now()
        return min(
            (due for _, answer in open_answers(incident) if (due := _next_look(answer, now, at_once))), default=None
        )


def open_answers(incident: Incident) -> list[_Pending]:
    """Those who say that they ran again, and of whom no run was seen reading what can be trusted."""
    return [
        (view, answer)
        for view in incident.notices.values()
        for answer in view.answers
        if answer.answer == "re-ran" and (answer.check is None or answer.check.found != "good")
    ]


def _next_look(answer: AnswerView, now: datetime, at_once: bool) -> datetime | None:
    """Now if nobody has looked yet, else the next of the moments; None when they are over."""
    if answer.check is None and at_once:
        return now
    return next((answer.at + each for each in LOOKS if answer.at + each > now), None)


def _unknown(view: NoticeView, answer: AnswerView, reason: str) -> RerunChecked:
    return RerunChecked(key=view.key, answered=answer.seq, found="unknown", reason=reason.strip())
