"""What keeps previewed notices from being sent: what was said or has happened since they were previewed."""

from collections.abc import Sequence

from bot.domain.doubt import WARNS
from bot.domain.entries import NoticesPreviewed
from bot.domain.errors import Refused
from bot.domain.incident import Incident
from bot.domain.notice import HOW_TO_CORRECT, Notice
from bot.domain.waterline import last_taken_back
from bot.service.outdated import cleared, said_better
from bot.service.planned_telling import refuse_late_announcement, refuse_untimely
from bot.service.telling_rules import ALL_CLEAR, refuse_after_close, refuse_false_comfort


def refuse_to_send(incident: Incident, name: str, notices: Sequence[Notice]) -> None:
    """Raises Refused where another text was sent in the place of one of them, the incident has ended, an all-clear
    does not hold (any more), a consumer was told since what this one would contradict, or it names another severity
    than the present one: that chooses who has to approve, too. What was sent before, word for word, is no reason: it is
    left alone."""
    for notice in notices:
        _refuse_other_text(incident, notice)
    previewed = [e.seq for e in incident.entries if isinstance(e.body, NoticesPreviewed) and e.body.name == name]
    seen = previewed[-1] if previewed else None
    for notice in notices:
        if notice.key(incident.id) in incident.notices:
            continue
        refuse_after_close(incident, notice.kind)
        _refuse_other_severity(incident, notice)
        refuse_false_comfort(incident, notice.kind)
        refuse_untimely(incident, notice.kind)
        refuse_late_announcement(incident, notice.kind, incident.previewed_at.get(name))
        _refuse_old_all_clear(incident, notice.kind, seen)
        _refuse_contradiction(incident, notice, seen)


def _refuse_other_text(incident: Incident, notice: Notice) -> None:
    known = incident.notices.get(notice.key(incident.id))
    if known is not None and known.notice != notice:
        raise Refused(
            f"“{notice.title or notice.kind}” was sent to {notice.consumer} in other words since this was previewed.",
            "What you see here is not what they were told.",
            "Preview it again if it is still to be said. Nothing was sent.",
        )


def _refuse_other_severity(incident: Incident, notice: Notice) -> None:
    if notice.severity not in {None, incident.severity}:
        raise Refused(
            "The severity has changed since this was previewed.",
            f"It says {notice.severity}; the incident is {incident.severity} by now.",
            "Preview it again. Nothing was sent.",
        )


def _refuse_old_all_clear(incident: Incident, kind: str, seen: int | None) -> None:
    """Whatever was proven since: its text names what is trusted no more."""
    again = last_taken_back(incident)
    if kind in ALL_CLEAR and seen is not None and again is not None and seen < again.seq:
        raise Refused(
            "This all-clear is out of date.",
            "It was previewed before the table came under review again.",
            "Preview it again. Nothing was sent.",
        )


def _refuse_contradiction(incident: Incident, notice: Notice, seen: int | None) -> None:
    if notice.kind in WARNS and notice.consumer in cleared(incident):
        raise Refused(
            f"{notice.consumer} was told that all is well, and that holds.",
            "This notice would call the table under review again.",
            f"If what they were told is not right: {HOW_TO_CORRECT}. Nothing was sent.",
        )
    said = said_better(incident, notice, seen)
    if said is not None:
        raise Refused(
            f"{notice.consumer} was told something else since this was previewed.",
            f"“{said.title or said.kind}” followed, so this notice may say what is not so any more.",
            "Preview it again. Nothing was sent.",
        )
