"""Looks in lineage for the runs of consumers who say that they ran again: at once, and now and then for a day."""

from datetime import datetime, timedelta
from functools import partial

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
from bot.service.observing import Observer

LOOKS = tuple(timedelta(minutes=each) for each in (1, 5, 15, 60, 6 * 60, 24 * 60))
"""After an answer it is looked again then: lineage comes when a run has ended, or later. One look serves all answers of
an incident: the table's metadata, and the events since the oldest repair."""
FOLLOWED_EVERY_S = 20.0
"""How soon it is seen what another process has put on record. A look is a minute after the answer or later."""
_CLOCKS_DIFFER = timedelta(minutes=5)
_WORK = "Looking in lineage for runs of consumers"
_Pending = tuple[NoticeView, AnswerView]


class Reruns:
    """One timer an incident, set anew after each of its entries, after each look, and at the start.

    Where this process did neither (another replica took the answer or made the look, and died; the record was away)
    the next moment is found by `follow`.
    """

    def __init__(
        self, store: IncidentStore, observer: Observer, background: Background, clock: Clock, timers: Timers
    ) -> None:
        self._store = store
        self._observer = observer
        self._background = background
        self._clock = clock
        self._timers = timers
        self._next: dict[IncidentId, datetime] = {}
        """The moments of the timers that are set here and have not come."""

    def start(self) -> None:
        """Set what is to come, and follow the journal from now on."""
        self._store.on_change(self._set)
        for incident in self._store.all():
            self._set(incident.id)
        self._timers.every("reruns", FOLLOWED_EVERY_S, self.follow)

    def follow(self) -> None:
        """Set a timer where there is none or only a later one. A look that another replica may be at is not made
        twice at once: what is set is the next moment."""
        for incident in self._store.all():
            due, known = self._due(incident, at_once=False), self._next.get(incident.id)
            if due is not None and (known is None or due < known):
                self._at(incident.id, due)

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

    def _set(self, incident_id: IncidentId, at_once: bool = True) -> None:
        due = self._due(self._store.get(incident_id), at_once)
        if due is not None:
            self._at(incident_id, due)
        else:
            self._next.pop(incident_id, None)
            self._timers.cancel(_key(incident_id))

    def _due(self, incident: Incident, at_once: bool) -> datetime | None:
        now = self._clock.now()
        return min(
            (due for _, answer in open_answers(incident) if (due := _next_look(answer, now, at_once))), default=None
        )

    def _at(self, incident_id: IncidentId, due: datetime) -> None:
        self._next[incident_id] = due
        self._timers.at(_key(incident_id), due, partial(self._come, incident_id))

    def _come(self, incident_id: IncidentId) -> None:
        self._next.pop(incident_id, None)
        self._background.submit(incident_id, _WORK, partial(self._look, incident_id))

    def _look(self, incident_id: IncidentId) -> None:
        try:
            self.settle(incident_id)
        finally:
            self._set(incident_id, at_once=False)


def _key(incident_id: IncidentId) -> str:
    return f"reruns/{incident_id}"


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
