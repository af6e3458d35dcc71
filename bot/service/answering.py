"""What consumers answer to a notice in Slack; the responder is asked to look at a call for help."""

from bot.domain.entries import Body, NoticeAnswered
from bot.domain.errors import Refused
from bot.domain.ids import IncidentId
from bot.domain.incident import Incident
from bot.domain.notice import Answer
from bot.domain.told import NoticeView
from bot.service.incident_store import IncidentStore

_SAID = {
    "acknowledged": "that you have seen it",
    "re-ran": "that you have run again",
    "needs-help": "that you need help with this",
}
_NOTED = {
    "acknowledged": "Thank you. Recorded: you have seen this.",
    "re-ran": "Thank you. Recorded: you have run again.",
    "needs-help": "The responders are notified and answer in this channel.",
}


class Answering:
    """Puts answers on record. An incident that is closed still takes them: people come back in the morning."""

    def __init__(self, store: IncidentStore) -> None:
        self._store = store

    def answer(self, incident_id: IncidentId, seq: int, answer: Answer, *, by: str, text: str = "") -> str:
        """One answer to the notice that entry `seq` queued; returns what the person reads. Raises Refused when a call
        for help says nothing, or when the same person said the same before."""
        if answer == "needs-help" and not text.strip():
            raise Refused("Your request is empty.", "", "Write one sentence: what is blocked?")

        def decide(incident: Incident) -> list[Body]:
            view = notice_of(incident, seq)
            if answer not in view.notice.answers:
                raise Refused("This notice does not ask for that.", "", "Use one of its buttons.")
            if _is_known(view, answer, by, text.strip()):
                more = (
                    "If it is worse now, describe what changed."
                    if answer == "needs-help"
                    else ("Nothing more is needed.")
                )
                raise Refused(f"It is on record already {_SAID[answer]}.", "", more)
            asks = incident.responder if answer == "needs-help" else None
            return [NoticeAnswered(key=view.key, answer=answer, text=text.strip(), asks=asks)]

        self._store.write(incident_id, by=by, decide=decide)
        return _NOTED[answer]


def _is_known(view: NoticeView, answer: Answer, by: str, text: str) -> bool:
    """A call for help in other words is another one."""
    same = [each for each in view.answers if each.by == by and each.answer == answer]
    return any(each.text == text for each in same) if answer == "needs-help" else bool(same)


def notice_of(incident: Incident, seq: int) -> NoticeView:
    """The notice that entry `seq` queued. Raises Refused."""
    view = next((each for each in incident.notices.values() if each.seq == seq), None)
    if view is None:
        raise Refused("This notice is not part of the incident.", "", "Use the buttons of the newest notice.")
    return view
