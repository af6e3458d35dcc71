"""What a click on Send writes, and what keeps previewed notices from being sent: who sends them, what was said or has
happened since they were previewed, and what they promise by the clock. Pure.

Which notices are sent by themselves, and who is left to be told.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from bot.incident.approval import ApprovalPolicy, mentions
from bot.incident.decisions import Membership, is_approver
from bot.incident.delivery import next_word_by
from bot.incident.doubt import doubted_since
from bot.incident.entries import Body, NoticeQueued, NoticesHeld, NoticesPreviewed, StepDone
from bot.incident.incident import Incident
from bot.incident.journal import WATERLINE
from bot.incident.notice import HOW_TO_CORRECT, WARNS, Notice
from bot.incident.savepoints import refuse_untimely
from bot.incident.setup import TableSetup
from bot.observation.errors import Refused
from bot.observation.ids import StepId, UserId
from bot.observation.readers import Consumer
from bot.observation.sentences import clock_time
from bot.service.notices.rules import (
    asked_to_send,
    cleared,
    refuse_after_close,
    refuse_false_comfort,
    refuse_old_all_clear,
    said_better,
)


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
        refuse_untimely(incident, notice.data.work if notice.data is not None else None)
        refuse_old_all_clear(incident, notice.kind, seen)
        _refuse_contradiction(incident, notice, seen)


def sent_or_held(
    incident: Incident, name: str, notices: tuple[Notice, ...], policy: ApprovalPolicy | None, step: StepId | None,
    *, by: str, membership: Membership, now: datetime,
) -> list[Body]:  # fmt: skip
    """What a click on Send writes. Where a policy names who sends such notices, the first click asks them, and only
    one of them who is not the first sends what was previewed. Raises Refused for what may not be sent (any more)."""
    held = incident.held.get(name)
    is_sent = all(n.key(incident.id) in incident.notices for n in notices)
    if held is not None and by == WATERLINE and not is_sent:
        return []
    refuse_to_send(incident, name, notices)
    refuse_overdue(incident, name, notices, now)
    if is_sent or (held is None and policy is None):
        return queued(incident, name, notices, step)
    if held is None:
        assert policy is not None
        return [NoticesHeld(name=name, policy=policy, step=step)]
    who = mentions(held.held.policy.approvers, (held.asked_by,))
    if by == held.asked_by:
        raise Refused("You asked to send these notices, so somebody else must send them.", "", f"Ask {who}.")
    may = is_approver(held.held.policy, UserId(by), membership)
    if may is None:
        raise Refused(
            "Slack did not say whether you may send these notices.", f"The table's policy names {who}.", "Try again."
        )
    if not may:
        raise Refused("You may not send these notices.", f"The table's policy names {who}.", "Ask one of them.")
    return queued(incident, name, notices, held.held.step)


def queued(incident: Incident, name: str, notices: tuple[Notice, ...], step: StepId | None) -> list[Body]:
    """Those that were queued before are left alone; the step that asked for them is done. Raises Refused for what may
    not be sent any more since it was previewed."""
    refuse_to_send(incident, name, notices)
    new = [n for n in notices if n.key(incident.id) not in incident.notices]
    bodies: list[Body] = [NoticeQueued(notice=n) for n in new]
    if step is not None and step not in incident.outcomes:
        names = ", ".join(n.consumer for n in notices) or "nobody, because no consumer is declared"
        bodies.append(StepDone(step=step, key="sent", why=f"sent to {names}"))
    return bodies


def _refuse_other_text(incident: Incident, notice: Notice) -> None:
    known = incident.notices.get(notice.key(incident.id))
    if known is not None and known.notice != notice:
        raise Refused(
            f"“{notice.title or notice.kind}” was sent to {notice.consumer} with a different text since this preview.",
            "This preview differs from what they got.",
            "Preview it again if it is still needed. Nothing was sent.",
        )


def _refuse_other_severity(incident: Incident, notice: Notice) -> None:
    if notice.severity not in {None, incident.severity}:
        raise Refused(
            "The severity has changed since this preview.",
            f"It says {notice.severity}; the incident is now {incident.severity}.",
            "Preview it again. Nothing was sent.",
        )


def _refuse_contradiction(incident: Incident, notice: Notice, seen: int | None) -> None:
    if notice.kind in WARNS and notice.consumer in cleared(incident):
        raise _cleared(f"{notice.consumer} has")
    said = said_better(incident, notice, seen)
    if said is not None:
        raise Refused(
            f"{notice.consumer} got another notice since this preview.",
            f"“{said.title or said.kind}” followed, so this notice may be out of date.",
            "Preview it again. Nothing was sent.",
        )


def refuse_overdue(incident: Incident, name: str, notices: Sequence[Notice], now: datetime) -> None:
    """Raises Refused where the next word that they promise is due, or nearly, or another time that they name has come:
    a form may have been left open for long. What was sent before is left alone, and so is what was made just now."""
    shown_at = incident.previewed_at.get(name)
    new = [notice for notice in notices if notice.key(incident.id) not in incident.notices]
    word_by = next_word_by(new)
    if word_by is not None and (word_by <= now or (shown_at and _promises_until(shown_at, word_by) <= now)):
        is_over = "over" if word_by <= now else "nearly due"
        raise _too_old(f"It promises the next update by {clock_time(word_by, now)}, which is {is_over}.")
    for over_by in (notice.data.over_by for notice in new if notice.data is not None):
        if over_by is not None and over_by <= now:
            raise _too_old(f"It says that the work is over by {clock_time(over_by, now)}, which has passed.")


def _too_old(found: str) -> Refused:
    return Refused("This preview is too old.", found, "Preview it again. Nothing was sent.")


def _promises_until(shown_at: datetime, word_by: datetime) -> datetime:
    """From then on (inclusive) a text is not sent that was made at `shown_at` and promises the next word by `word_by`:
    a third of that time is left at least, else word would be due as soon as the promise is read."""
    return shown_at + (word_by - shown_at) * 2 / 3


def owes_warning(incident: Incident, setup: TableSetup, now: datetime) -> bool:
    """Whether consumers are still unwarned although the responder has had time to look at the preview; where none is
    declared, whether nobody has looked yet who else was seen reading.

    Of a private incident nobody is told unless a responder asks for it, of planned work only if it went wrong, and
    never after an all-clear that holds.
    """
    doubted = doubted_since(incident)
    if doubted is None or incident.is_private or now < doubted + timedelta(minutes=setup.warn_after_minutes):
        return False
    if not setup.consumers:
        return incident.readers is None
    warned = any(view.notice.kind in WARNS for view in incident.notices.values())
    asked = asked_to_send(incident, "warning")
    return not warned and not asked and not cleared(incident)


def owes_severity(incident: Incident, setup: TableSetup) -> bool:
    """Whether consumers who are declared, and wait for the end, were told of another severity than the present one.
    Never of a private incident, nor of planned work in which nothing was found: an update would call it in question."""
    if not incident.is_open or incident.is_private or doubted_since(incident) is None:
        return False
    said = {view.notice.consumer: view.notice.severity for view in incident.notices.values() if view.notice.severity}
    waiting = {each.name for each in setup.consumers} - cleared(incident)
    is_wrong = any(severity != incident.severity for name, severity in said.items() if name in waiting)
    return is_wrong and not asked_to_send(incident, "update")


def left_to_tell(incident: Incident, setup: TableSetup, kind: str) -> tuple[Consumer, ...]:
    """The declared consumers for whom such a notice has a meaning: nobody is warned after an all-clear that holds.
    Raises Refused where all of them have had it."""
    if kind not in WARNS:
        return setup.consumers
    done = cleared(incident)
    left = tuple(each for each in setup.consumers if each.name not in done)
    if setup.consumers and not left:
        raise _cleared("The consumers have")
    return left


def _cleared(who_has: str) -> Refused:
    return Refused(
        f"{who_has} a valid all-clear.",
        "This notice would call the table under review again.",
        f"If that is wrong, type {HOW_TO_CORRECT}. Nothing was sent.",
    )
