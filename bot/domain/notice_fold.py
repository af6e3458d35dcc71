"""What each entry about consumers does to the incident."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, assert_never

from bot.domain import notice_entries as n
from bot.domain.approval import Approval
from bot.domain.ids import UserId
from bot.domain.told import AnswerView, follow, queued, take_up

if TYPE_CHECKING:
    from bot.domain.incident import Incident
    from bot.domain.journal import Entry
    from bot.domain.notice import Notice


@dataclass
class HeldView:
    """Notices that wait for approval, or did."""

    name: str
    held: n.NoticesHeld
    asked_by: UserId
    asked_at: datetime
    shown_at: datetime
    """When the texts were made."""
    word_by: datetime | None = None
    """The earliest next word that they promise; None: they promise none."""
    approvals: list[Approval] = field(default_factory=list)
    decided: n.NoticesDecided | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None
    reminders: int = 0
    reminded_at: datetime | None = None
    expired: n.NoticesExpired | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether nobody has decided, and its end was not told yet."""
        return self.decided is None and self.expired is None

    @property
    def said_yes(self) -> tuple[UserId, ...]:
        """Who has approved, oldest first."""
        return tuple(given.by for given in self.approvals)


def next_word_by(notices: Iterable["Notice"]) -> datetime | None:
    """The earliest next word that they promise; None: they promise none."""
    promised = [each.data.next_word_at for each in notices if each.data is not None]
    return min((at for at in promised if at is not None), default=None)


def apply_notice(incident: "Incident", entry: "Entry", body: n.NoticeEntry) -> None:
    """Follow who was told, and what they said."""
    match body:
        case n.NoticeQueued():
            key = body.notice.key(incident.id)
            incident.notices[key] = queued(body.notice, key, entry.at, entry.seq)
            _told_late(incident, (body.notice,))
        case n.DeliveryTried() | n.DeliveryDelayed() | n.NoticeEnded():
            follow(incident.notices[body.key], body, entry.at)
        case n.NoticeRetried():
            take_up(incident.notices[body.key], body, entry.by, entry.at)
        case n.NoticeAnswered():
            incident.notices[body.key].answers.append(
                AnswerView(answer=body.answer, text=body.text, by=entry.by, at=entry.at)
            )
        case n.CorrectionWaits():
            incident.uncorrected = frozenset(body.consumers)
        case n.ReadersNoted():
            incident.readers = body
        case n.SeverityChanged():
            incident.severity_now = body.severity
        case _:
            _apply_held(incident, entry, body)


def _apply_held(
    incident: "Incident",
    entry: "Entry",
    body: n.NoticesHeld | n.NoticesDecided | n.NoticesReminded | n.NoticesExpired,
) -> None:
    match body:
        case n.NoticesHeld():
            word_by = next_word_by(incident.previews.get(body.name, ()))
            incident.held[body.name] = HeldView(
                name=body.name, held=body, asked_by=UserId(entry.by), asked_at=entry.at,
                shown_at=incident.previewed_at.get(body.name, entry.at), word_by=word_by,
            )  # fmt: skip
            _told_late(incident, incident.previews.get(body.name, ()))
        case n.NoticesDecided():
            view = incident.held[body.name]
            if body.yes:
                view.approvals.append(Approval(by=UserId(entry.by), at=entry.at, digest=body.name, teams=body.teams))
            if body.complete:
                view.decided, view.decided_by, view.decided_at = body, entry.by, entry.at
        case n.NoticesReminded():
            held = incident.held[body.name]
            held.reminders, held.reminded_at = body.number, entry.at
        case n.NoticesExpired():
            incident.held[body.name].expired = body
        case _:
            assert_never(body)


def _told_late(incident: "Incident", notices: Iterable["Notice"]) -> None:
    """Nobody owes those a correction any more who are sent one, or the closing message anew, or whose correction people
    are asked about: their no is an answer."""
    told = {notice.consumer for notice in notices if notice.kind == "recovered" or asks_to_run_again(notice)}
    incident.uncorrected -= told


def asks_to_run_again(notice: "Notice") -> bool:
    """Whether it is a correction of a table that was proven: while it is in doubt nobody is asked to run again."""
    return notice.kind == "correction" and notice.data is not None and notice.data.stage == "proven"
