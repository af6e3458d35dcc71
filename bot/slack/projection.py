"""Journal -> outbox: which messages exist and which of them show something that has changed.

Messages are views over the record. The projection may run twice over the same entry: keys make it idempotent.
"""

import threading

from bot.domain import entries as e
from bot.domain.ids import EvidenceId, IncidentId
from bot.domain.incident import Incident
from bot.domain.journal import Entry
from bot.domain.seal import is_milestone
from bot.ports import Cursor, Outbox, Post
from bot.service.incident_store import IncidentStore
from bot.slack.pictures import KIND as PICTURE
from bot.slack.pictures import has_picture

_NAME = "slack"


class Projection:
    """Puts and touches posts for every new entry of an incident."""

    def __init__(self, store: IncidentStore, outbox: Outbox, cursor: Cursor) -> None:
        self._store = store
        self._outbox = outbox
        self._cursor = cursor
        self._lock = threading.Lock()

    def catch_up_all(self) -> None:
        """At start: what was journalled and not yet projected."""
        for incident in self._store.all():
            self.catch_up(incident.id)

    def catch_up(self, incident_id: IncidentId) -> None:
        """Project every entry after the cursor."""
        with self._lock:
            seen = self._cursor.get(_NAME, incident_id)
            incident = self._store.get(incident_id)
            for entry in incident.entries[seen:]:
                self._project(incident, entry)
                if is_milestone(entry.body):
                    self._in_thread(incident, f"seal/{entry.seq}")
            if incident.seq > seen:
                self._outbox.touch(card_key(incident_id))
                self._cursor.set(_NAME, incident_id, incident.seq)

    def progressed(self, incident_id: IncidentId) -> None:
        """A running task came further: only the card shows it."""
        self._outbox.touch(card_key(incident_id))

    def _project(self, incident: Incident, entry: Entry) -> None:  # noqa: C901 - one case a kind, nothing nested
        body = entry.body
        match body:
            case e.IncidentOpened():
                self._outbox.put(Post(key=card_key(incident.id), incident=incident.id, channel=body.channel))
            case e.EvidenceRecorded() | e.EvidenceEnded():
                self._answered(incident, body.run)
            case e.Diagnosed():
                self._in_thread(incident, f"diagnosis/{entry.seq}")
            case e.ProposalMade():
                key = f"{incident.id}/proposal/{body.proposal.id}"
                self._outbox.put(Post(key=key, incident=incident.id, channel=incident.opened.channel))
            case e.ExecutionStarted():
                key = f"{incident.id}/proposal/{body.proposal}"
                self._in_thread(incident, f"execution/{body.proposal}", of=key)
                self._outbox.touch(key)
            case (
                e.ProposalApproved()
                | e.GlassBroken()
                | e.OwnersPaged()
                | e.VetoTimeEnded()
                | e.ApprovalReminded()
                | e.ProposalEnded()
            ):
                self._decided(incident, body)
            case e.EffectStarted() | e.EffectEnded() | e.ExecutionEnded() | e.Verified():
                self._outbox.touch(f"{incident.id}/proposal/{body.proposal}")
                self._outbox.touch(f"{incident.id}/execution/{body.proposal}")
            case e.FindingAssigned() | e.FindingSettled():
                self._in_thread(incident, f"line/{entry.seq}")
                opened = [each.seq for each in incident.entries if isinstance(each.body, e.ReviewOpened)]
                self._outbox.touch(f"{incident.id}/line/{opened[-1]}")
            case e.NoticeQueued():
                notice = body.notice
                key = notice_post(incident.id, notice.key(incident.id))
                self._touch_promises(incident)
                if notice.channel:
                    self._outbox.put(Post(key=key, incident=incident.id, channel=notice.channel, text=notice.text))
            case e.NoticesHeld():
                key = f"{incident.id}/held/{body.name}"
                self._outbox.put(Post(key=key, incident=incident.id, channel=incident.opened.channel))
            case e.NoticesReminded():
                self._in_thread(
                    incident, f"held-reminder/{body.name}/{body.number}", of=f"{incident.id}/held/{body.name}"
                )
            case e.NoticesExpired():
                self._touch_held(incident, body.name)
                key = f"{incident.id}/held-expired/{body.name}"
                self._outbox.put(Post(key=key, incident=incident.id, channel=incident.opened.channel))
            case e.NoticesDecided():
                self._touch_held(incident, body.name)
                self._in_thread(incident, f"line/{entry.seq}", of=f"{incident.id}/held/{body.name}")
            case e.NoticeAnswered():
                self._outbox.touch(notice_post(incident.id, body.key))
                self._said(incident, entry.seq, aloud=body.answer == "needs-help")
            case e.RerunChecked():
                self._outbox.touch(notice_post(incident.id, body.key))
                self._said(incident, entry.seq, aloud=False)
            case e.NoticeEnded():
                self._said(incident, entry.seq, aloud=body.how == "failed")
            case e.DeliveryTried() | e.ReadersNoted():
                pass
            case e.PromiseReminded():
                self._in_thread(incident, f"promise/{entry.seq}")
            case e.PromiseSnoozed():
                self._touch_promises(incident)
            case e.HandedOver():
                key = f"{incident.id}/handover/{entry.seq}"
                self._outbox.put(Post(key=key, incident=incident.id, channel=incident.opened.channel))
            case (
                e.EvidenceRequested()
                | e.StepDone()
                | e.NoticesPreviewed()
                | e.SavepointReleasing()
                | e.DiagnosisRequested()
                | e.DiagnosisEnded(how="new")
            ):
                pass
            case _:
                self._in_thread(incident, f"line/{entry.seq}")

    def _touch_promises(self, incident: Incident) -> None:
        for entry in incident.entries:
            if isinstance(entry.body, e.PromiseReminded):
                self._outbox.touch(f"{incident.id}/promise/{entry.seq}")

    def _touch_held(self, incident: Incident, name: str) -> None:
        self._outbox.touch(f"{incident.id}/held/{name}")
        for number in range(1, incident.held[name].reminders + 1):
            self._outbox.touch(f"{incident.id}/held-reminder/{name}/{number}")

    def _decided(self, incident: Incident, body: e.ApprovalEntry) -> None:
        """The proposal shows it; people are reminded, and told when nothing is left to decide; owners are paged."""
        proposal = f"{incident.id}/proposal/{body.proposal}"
        match body:
            case e.ApprovalReminded():
                self._in_thread(incident, f"reminder/{body.proposal}/{body.number}", of=proposal)
                return
            case e.GlassBroken():
                for to in body.pages:
                    key = f"{incident.id}/page/{body.proposal}/{to}"
                    self._outbox.put(Post(key=key, incident=incident.id, channel=to))
        self._outbox.touch(proposal)
        for number in range(1, incident.proposals[body.proposal].reminders + 1):
            self._outbox.touch(f"{incident.id}/reminder/{body.proposal}/{number}")

    def _answered(self, incident: Incident, run: EvidenceId) -> None:
        """The first look is one message, brought up to date; what somebody asked for is one of its own. A ledger that
        shows something new is there as table and picture, whoever asked."""
        if incident.runs[run].is_first_look:
            self._in_thread(incident, "first-look")
            self._outbox.touch(f"{incident.id}/first-look")
        else:
            self._in_thread(incident, f"evidence/{run}")
        if has_picture(incident, run):
            self._in_thread(incident, f"evidence/{run}")
            self._in_thread(incident, f"{PICTURE}/{run}")

    def _said(self, incident: Incident, seq: int, *, aloud: bool) -> None:
        """What somebody must act on stands in the channel itself, not in the thread."""
        if aloud:
            key = f"{incident.id}/line/{seq}"
            self._outbox.put(Post(key=key, incident=incident.id, channel=incident.opened.channel))
        else:
            self._in_thread(incident, f"line/{seq}")

    def _in_thread(self, incident: Incident, name: str, *, of: str | None = None) -> None:
        thread = of or card_key(incident.id)
        key = f"{incident.id}/{name}"
        self._outbox.put(Post(key=key, incident=incident.id, channel=incident.opened.channel, thread_of=thread))


def notice_post(incident_id: IncidentId, key: str) -> str:
    """Key of the post that carries a notice."""
    return f"{incident_id}/notice/{key}"


def card_key(incident_id: IncidentId) -> str:
    """Key of the incident's card."""
    return f"{incident_id}/card"
