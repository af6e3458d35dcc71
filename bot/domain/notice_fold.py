"""What each entry about consumers does to the incident."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, assert_never

from bot.domain import notice_entries as n
from bot.domain.delivery_status import AnswerView, follow, queued, take_up
from bot.domain.ids import UserId

if TYPE_CHECKING:
    from bot.domain.incident import Incident
    from bot.domain.journal import Entry
    from bot.domain.notice import Notice


@dataclass
class HeldView:
    """Notices that a second person sends, or has sent."""

    name: str
    held: n.NoticesHeld
    asked_by: UserId
    asked_at: datetime
    sent_by: str | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether nobody has sent them."""
        return self.sent_by is None


def next_word_by(notices: Iterable["Notice"]) -> datetime | None:
    """The earliest next word that they promise; None: they promise none."""
    promised = [each.data.next_word_at for each in notices if each.data is not None]
    return min((at for at in promised if at is not None), default=None)


def apply_notice(incident: "Incident", entry: "Entry", body: n.NoticeEntry) -> None:  # noqa: C901 - one case a kind
    """Follow who was told, and what they said."""
    match body:
        case n.NoticeQueued():
            key = body.notice.key(incident.id)
            incident.notices[key] = queued(body.notice, key, entry.at, entry.seq)
            _told_late(incident, (body.notice,))
            for view in incident.held.values():
                if body.notice in incident.previews.get(view.name, ()):
                    view.sent_by = entry.by
        case n.DeliveryTried() | n.DeliveryDelayed() | n.NoticeEnded():
            follow(incident.notices[body.key], body, entry.at)
        case n.NoticeRetried():
            take_up(incident.notices[body.key], body, entry.by, entry.at)
        case n.NoticeAnswered():
            incident.notices[body.key].answers.append(
                AnswerView(answer=body.answer, text=body.text, by=entry.by, at=entry.at)
            )
        case n.LateRunsSeen():
            incident.late_runs[body.consumer] = frozenset(body.runs)
        case n.CorrectionDeclined():
            for consumer in body.consumers:
                runs = incident.late_runs.pop(consumer, frozenset())
                incident.declined_runs[consumer] = incident.declined_runs.get(consumer, frozenset()) | runs
                incident.declined_at[consumer] = entry.seq
        case n.ReadersNoted():
            incident.readers = body
        case n.SeverityChanged():
            incident.severity_now = body.severity
        case n.NoticesHeld():
            incident.held[body.name] = HeldView(name=body.name, held=body, asked_by=UserId(entry.by), asked_at=entry.at)
            _told_late(incident, incident.previews.get(body.name, ()))
        case _:
            assert_never(body)


def _told_late(incident: "Incident", notices: Iterable["Notice"]) -> None:
    """No correction is due any more to those who are sent one, or the closing message anew, or whose correction waits
    for a second person."""
    for notice in notices:
        if notice.kind == "recovered" or asks_to_run_again(notice):
            incident.late_runs.pop(notice.consumer, None)


def asks_to_run_again(notice: "Notice") -> bool:
    """Whether it is a correction of a table that was proven: while it is in doubt nobody is asked to run again."""
    return notice.kind == "correction" and notice.data is not None and notice.data.stage == "proven"
