"""Journal -> outbox: which messages exist and which of them show something that has changed.

Messages are views over the record. The projection may run twice over the same entry: keys make it idempotent.
"""

import threading

from bot.incident import entries as e
from bot.incident.incident import Incident
from bot.incident.journal import Entry
from bot.incident.trust_claims import corrections_due
from bot.observation.ids import EvidenceId, IncidentId
from bot.ports import Cursor, Outbox, Post
from bot.service.incident_store import IncidentStore
from bot.slack.blocks.evidence import change_before, is_of_the_bot
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
        """What is not yet projected, also of closed incidents: a replica may have ended before. Two small queries."""
        seen = self._cursor.all(_NAME)
        for incident in (each for each in self._store.all() if each.seq > seen.get(each.id, 0)):
            self.catch_up(incident.id)

    def catch_up(self, incident_id: IncidentId) -> None:
        with self._lock:
            seen = self._cursor.get(_NAME, incident_id)
            incident = self._store.get(incident_id)
            for entry in incident.entries[seen:]:
                self._project(incident, entry)
            if incident.seq > seen:
                self._outbox.touch(card_key(incident.id))
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
                self._in_channel(incident, f"proposal/{body.proposal.id}")
            case e.ExecutionStarted():
                key = f"{incident.id}/proposal/{body.proposal}"
                self._in_thread(incident, f"execution/{body.proposal}", of=key)
                self._outbox.touch(key)
            case (
                e.ProposalApproved()
                | e.GlassBroken()
                | e.VetoTimeEnded()
                | e.ApprovalReminded()
                | e.ProposalEnded()
                | e.OutcomeSettled()
            ):
                self._decided(incident, body)
            case e.EffectStarted() | e.EffectEnded() | e.ExecutionEnded() | e.VerificationRequested() | e.Verified():
                self._outbox.touch(f"{incident.id}/proposal/{body.proposal}")
                self._outbox.touch(f"{incident.id}/execution/{body.proposal}")
                if isinstance(body, e.ExecutionEnded):
                    self._touch_promises(incident)
            case e.FindingAssigned() | e.FindingSettled():
                self._in_thread(incident, f"line/{entry.seq}")
                opened = [each.seq for each in incident.entries if isinstance(each.body, e.ReviewOpened)]
                self._outbox.touch(f"{incident.id}/line/{opened[-1]}")
                self._touch_promises(incident)
            case e.NoticeQueued():
                notice = body.notice
                key = notice_post(incident.id, notice.key(incident.id))
                self._touch_promises(incident)
                for name in (name for name in incident.held if notice in incident.previews[name]):
                    self._outbox.touch(f"{incident.id}/held/{name}")
                if notice.channel:
                    self._outbox.put(Post(key=key, incident=incident.id, channel=notice.channel, text=notice.text))
            case e.NoticesHeld():
                self._in_channel(incident, f"held/{body.name}")
            case e.WaterlineMoved() | e.LateRunsSeen() if corrections_due(incident):
                self._in_channel(incident, f"line/{entry.seq}")
            case e.NoticeAnswered():
                self._outbox.touch(notice_post(incident.id, body.key))
                if body.answer == "needs-help":
                    self._in_channel(incident, f"line/{entry.seq}")
            case e.NoticeEnded() if body.how == "failed" or is_first_asked(incident, entry, body):
                self._in_channel(incident, f"line/{entry.seq}")
            case e.NoticeEnded() if body.how == "overtaken":
                self._in_thread(incident, f"line/{entry.seq}")
            case e.NoticeRetried():
                self._take_up(incident, body)
            case e.DeliveryDelayed() if body.to.startswith("slack:"):
                self._in_channel(incident, f"line/{entry.seq}")
            case e.PromiseReminded():
                self._in_thread(incident, f"promise/{entry.seq}")
            case e.IncidentClosed() | e.MaintenanceMarked():
                self._in_thread(incident, f"line/{entry.seq}")
                self._touch_promises(incident)
                for proposal in incident.proposals if not incident.is_open else ():
                    self._outbox.touch(f"{incident.id}/proposal/{proposal}")
            case e.ResponderAssigned() if body.user != entry.by:
                self._in_channel(incident, f"line/{entry.seq}")
            case (
                e.NoteAdded()
                | e.StepSkipped()
                | e.RunbookChanged()
                | e.SeverityChanged()
                | e.PlanDeclared()
                | e.PlanWithdrawn()
                | e.SavepointPlanned()
                | e.SavepointReleased()
                | e.ReviewOpened()
                | e.CorrectionDeclined()
                | e.DiagnosisEnded(how="same" | "failed")
            ):
                self._in_thread(incident, f"line/{entry.seq}")
            case e.ResponderAssigned() if body.note:
                self._in_thread(incident, f"line/{entry.seq}")
            case _:
                pass  # the card shows it, or the record alone

    def _touch_promises(self, incident: Incident) -> None:
        """Reminders show what became of what they remind of."""
        for entry in incident.entries:
            if isinstance(entry.body, e.PromiseReminded):
                self._outbox.touch(f"{incident.id}/promise/{entry.seq}")

    def _decided(self, incident: Incident, body: e.ApprovalEntry) -> None:
        """The proposal shows it; reminders and the emergency message follow it."""
        proposal = f"{incident.id}/proposal/{body.proposal}"
        match body:
            case e.ApprovalReminded():
                self._in_thread(incident, f"reminder/{body.proposal}/{body.number}", of=proposal)
                return
            case e.GlassBroken():
                self._in_channel(incident, f"emergency/{body.proposal}")
        self._outbox.touch(proposal)
        if incident.proposals[body.proposal].glass is not None:
            self._outbox.touch(f"{incident.id}/emergency/{body.proposal}")
        if isinstance(body, e.OutcomeSettled):
            self._outbox.touch(f"{incident.id}/execution/{body.proposal}")
        for number in range(1, incident.proposals[body.proposal].reminders + 1):
            self._outbox.touch(f"{incident.id}/reminder/{body.proposal}/{number}")

    def _take_up(self, incident: Incident, body: e.NoticeRetried) -> None:
        """Only while it is wanted: seen a second time, it may have been sent since."""
        view = incident.notices[body.key]
        delivery = view.delivery(body.to)
        if delivery is None or delivery.address.by != "slack" or delivery.ended is not None:
            return
        key, channel = notice_post(incident.id, body.key), view.notice.channel
        is_new = self._outbox.put(Post(key=key, incident=incident.id, channel=channel, text=view.notice.text))
        if not is_new and len(delivery.retried) == body.number:
            self._outbox.again(key)

    def _answered(self, incident: Incident, run: EvidenceId) -> None:
        """What the bot asked is one message between two changes, brought up to date; what a person asked for by name is
        one of its own. Commits that show something new are drawn, whoever asked."""
        view = incident.runs[run]
        if is_of_the_bot(view):
            name = f"answers/{change_before(incident, view)}"
            self._in_thread(incident, name)
            self._outbox.touch(f"{incident.id}/{name}")
        elif view.branch is None:
            self._in_thread(incident, f"evidence/{run}")
        if has_picture(incident, run):
            self._in_thread(incident, f"{PICTURE}/{run}")

    def _in_channel(self, incident: Incident, name: str) -> None:
        """What somebody must act on stands in the channel itself; what the card shows takes no message."""
        key = f"{incident.id}/{name}"
        self._outbox.put(Post(key=key, incident=incident.id, channel=incident.opened.channel))

    def _in_thread(self, incident: Incident, name: str, *, of: str | None = None) -> None:
        thread = of or card_key(incident.id)
        key = f"{incident.id}/{name}"
        self._outbox.put(Post(key=key, incident=incident.id, channel=incident.opened.channel, thread_of=thread))


def is_first_asked(incident: Incident, entry: Entry, ended: e.NoticeEnded) -> bool:
    """Whether it asks somebody to look at an all-clear that is not sent, and none has since the last was sent."""
    for earlier in reversed(incident.entries[: entry.seq - 1]):
        match earlier.body:
            case e.NoticeQueued() | e.NoticeRetried():
                break
            case e.NoticeEnded(how="overtaken", asks=asked) if asked is not None:
                return False
    return ended.asks is not None


def notice_post(incident_id: IncidentId, key: str) -> str:
    """Key of the post that carries a notice."""
    return f"{incident_id}/notice/{key}"


def card_key(incident_id: IncidentId) -> str:
    return f"{incident_id}/card"
