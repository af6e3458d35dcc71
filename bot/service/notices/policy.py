"""Which notices may be sent, how often and by whom; which hold no more, for something newer was said to the same
consumer, or what they say is not so any more; which the bot sends by itself, and who is left to be told. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from bot.incident.approval import ApprovalPolicy, mentions
from bot.incident.decisions import Membership, is_approver
from bot.incident.delivery import DeliveryView, NoticeView, next_word_by
from bot.incident.diagnosis import Remedy
from bot.incident.doubt import accusations, doubted_since, mended_by_others
from bot.incident.effects import MoveTable, PublishBranch
from bot.incident.entries import (
    Body,
    DeliveryTried,
    NoticeEnded,
    NoticeQueued,
    NoticesHeld,
    NoticesPreviewed,
    SeverityChanged,
    StepDone,
)
from bot.incident.incident import Incident
from bot.incident.journal import WATERLINE
from bot.incident.notice import (
    AFTER_CLOSE,
    ALL_CLEAR,
    HOW_TO_CORRECT,
    KINDS,
    NOT_OF_ROWS,
    ONCE,
    PLANNED,
    WARNS,
    Notice,
    NoticeKind,
)
from bot.incident.savepoints import refuse_untimely
from bot.incident.setup import TableSetup
from bot.incident.trust_claims import ALONE, ConcurrentDoubts, refuse_comfort_in_doubt
from bot.incident.waterline import due_waterline, last_taken_back, taken_back
from bot.notices import NoticeTemplate
from bot.observation.errors import Refused
from bot.observation.ids import StepId, UserId
from bot.observation.readers import Consumer
from bot.observation.sentences import clock_time

_OF_THE_TABLE = KINDS.keys() - NOT_OF_ROWS


def unknown_notice(kind: str, known: Iterable[str]) -> Refused:
    return Refused(f"There is no notice {kind}.", f"Known are: {', '.join(known)}.", "Use one of these.")


def is_said_already(kind: str, earlier: Sequence[NoticeView], incident: Incident) -> bool:
    """Whether this consumer was told so once and for all; `earlier`: what it was told of this kind, oldest first."""
    if kind not in ONCE or not earlier or earlier[-1].was_overtaken:
        return False
    again = last_taken_back(incident) if kind in ALL_CLEAR else None
    return again is None or earlier[-1].seq >= again.seq


def refuse_after_close(incident: Incident, kind: str) -> None:
    """Raises Refused where the incident has ended and such a notice is sent only before."""
    if not incident.is_open and kind not in AFTER_CLOSE:
        raise Refused(
            f"Incident {incident.id} is closed.",
            "This notice can be sent only while the incident is open.",
            f"To notify consumers, type {HOW_TO_CORRECT}. Nothing was sent.",
        )


def asked_to_send(incident: Incident, kind: str) -> bool:
    """Whether such a notice waits, or has waited, for a second person since the severity is what it is."""
    changed = [entry.at for entry in incident.entries if isinstance(entry.body, SeverityChanged)]
    since = changed[-1] if changed else incident.opened_at
    return any(v.asked_at >= since and incident.previews[v.name][0].kind == kind for v in incident.held.values())


def refuse_missing_words(template: NoticeTemplate, words: str) -> None:
    """Raises Refused where the template says nothing without the responder's own words."""
    if template.needs_words and not words.strip():
        raise Refused(
            f"“{template.title}” needs your text.",
            f"It is sent {template.when}.",
            f"Type it after the kind: /waterline notify {template.kind} TEXT.",
        )


def refuse_false_comfort(incident: Incident, kind: str) -> None:
    """Nothing of planned work once the table was called in question, also when it is proven since. No all-clear while
    what was proven is being changed or was taken back, and `recovered` only after a proof.
    `no action needed` may not be said while evidence shows damage or where rows were mended since, after a recovery has
    moved main, nor of a table in doubt that the newest diagnosis does not call healthy: its mark and its gate would
    stay under review."""
    if kind == PLANNED and doubted_since(incident) is not None:
        raise Refused(
            "This is not planned work.",
            f"The notice says that nothing is wrong with {incident.opened.table}. This incident questions it, and "
            "consumers may have to run again.",
            "Send /waterline notify update, or recovered once the table is verified. Nothing was sent.",
        )
    if kind in ALL_CLEAR and taken_back(incident) is not None:
        raise Refused(
            "You cannot send an all-clear.",
            "The table is under review again until its new state is verified.",
            f"Send /waterline notify update, or {HOW_TO_CORRECT}. Nothing was sent.",
        )
    if kind == "recovered" and (incident.waterline is None or incident.waterline.status != "trusted"):
        raise Refused(
            "You cannot send the recovery notice.",
            "The table is not verified yet.",
            "Waterline verifies what it ran. To verify manual work, use /waterline propose verify_current_state. "
            "Nothing was sent.",
        )
    if kind != "no_action":
        return
    for view in incident.proposals.values():
        done = (view.proposal.effects[index] for index, ended in view.done.items() if ended.how == "done")
        if any(isinstance(effect, MoveTable | PublishBranch) for effect in done):
            raise Refused(
                "You cannot send the no-action notice.",
                f"This notice says that no row was changed, but “{view.proposal.title}” changed main.",
                "Use /waterline notify recovered: it says for each consumer whether to run again. Nothing was sent.",
            )
    for told in accusations(incident).values():
        raise Refused(
            "You cannot send the no-action notice.",
            f"The newest evidence says otherwise: {told.headline}",
            "Recover the table first, or run the evidence again if it is out of date.",
        )
    _refuse_mended_since(incident)
    _refuse_unless_healthy(incident)


def _refuse_mended_since(incident: Incident) -> None:
    """Main is right now, and was not while somebody read it: their results are wrong all the same."""
    mended = mended_by_others(incident)
    if not mended:
        return
    wrong, right = mended[-1]
    is_proven = incident.waterline is not None and incident.waterline.status == "trusted"
    first = "" if is_proven else "First verify the table: /waterline propose verify_current_state. "
    raise Refused(
        "You cannot send the no-action notice.",
        f"At {clock_time(wrong.at, right.at)} evidence found: {wrong.headline.rstrip('.')}. Only at "
        f"{clock_time(right.at, incident.entries[-1].at)} it found none. Consumers who read before that may have "
        "read wrong rows.",
        f"{first}Use /waterline notify recovered: it says for each consumer whether to run again. Nothing was sent.",
    )


def _refuse_unless_healthy(incident: Incident) -> None:
    owed, told = due_waterline(incident), incident.diagnosis
    mark = owed or incident.waterline
    if (mark is not None and mark.status == "trusted") or doubted_since(incident) is None:
        return
    decisive = told.decisive if told is not None else None
    if decisive is None:
        found = told.nothing_matches if told is not None else "There is no diagnosis yet."
        remedy = "Diagnose again, or verify the table with /waterline propose verify_current_state."
    elif decisive[1].remedy is not Remedy.NOTHING:
        found = f"The newest diagnosis says: {decisive[1].headline.rstrip('.')}."
        remedy = f"Do this: {decisive[1].what_to_do}. When it is verified, use /waterline notify recovered."
    elif owed is not None:
        found = "The newest diagnosis finds nothing wrong, but the last verification failed or is missing."
        remedy = "Verify it with /waterline propose verify_current_state."
    else:
        return
    raise Refused("You cannot send the no-action notice.", found, f"{remedy} Nothing was sent.")


def still_holds(incident: Incident, view: NoticeView, around: ConcurrentDoubts = ALONE) -> bool:
    """Whether the text of a notice still holds, as far as is said what others know of the table."""
    try:
        refuse_now(incident, view, around)
    except Refused:
        return False
    return True


def tried_or_ended(
    incident: Incident, key: str, to: str, number: int, around: ConcurrentDoubts
) -> DeliveryTried | NoticeEnded:
    """The intent of try `number` of one way, or its end where the notice was overtaken while it waited."""
    view = incident.notices[key]
    return overtaken(incident, view, view.deliveries[to], around) or DeliveryTried(key=key, to=to, number=number)


def overtaken(incident: Incident, view: NoticeView, way: DeliveryView, around: ConcurrentDoubts) -> NoticeEnded | None:
    """The end of one way of a notice that holds no more, or not while the table is in doubt; None: it still holds.

    What something newer overtakes needs nobody. An all-clear that falls into a doubt does: the responder is asked."""
    try:
        _refuse_said_since(incident, view)
    except Refused as newer:
        return _given_up(view, way, newer)
    kind = view.notice.kind
    command = f"/waterline notify {'recovered' if kind == PLANNED else kind}"
    try:
        _refuse_untrue_comfort(incident, view)
        command = "/waterline notify again"
        refuse_comfort_in_doubt(view.notice, around)
    except Refused as doubt:
        only_this = f" {view.notice.consumer}" if command.endswith("again") else ""
        end = _given_up(view, way, doubt, f" When that is resolved: {command}{only_this}.")
        return end.model_copy(update={"asks": incident.responder})
    return None


def _given_up(view: NoticeView, way: DeliveryView, why: Refused, later: str = "") -> NoticeEnded:
    there = way.may_be_there
    detail = f"{why.happened} {why.found}{' It may have arrived all the same.' if there else ''}{later}"
    return NoticeEnded(key=view.key, how="overtaken", detail=detail, to=way.address.key, may_be_there=there)


def refuse_now(incident: Incident, view: NoticeView, around: ConcurrentDoubts) -> None:
    """Raises Refused where it is outdated, or somebody else has the table in doubt that it calls trusted."""
    refuse_outdated(incident, view)
    refuse_comfort_in_doubt(view.notice, around)


def refuse_outdated(incident: Incident, view: NoticeView) -> None:
    """Raises Refused where something newer was said, the incident has ended, or an all-clear was taken back."""
    _refuse_said_since(incident, view)
    _refuse_untrue_comfort(incident, view)


def _refuse_said_since(incident: Incident, view: NoticeView) -> None:
    notice = view.notice
    newer = [
        each for each in incident.notices.values() if each.seq > view.seq and each.notice.consumer == notice.consumer
    ]
    said = next((each for each in reversed(newer) if overtakes(each, view)), None)
    if said is not None:
        raise Refused(
            f"{notice.consumer} was sent something newer than this notice.",
            f"“{said.notice.title or said.notice.kind}” followed, so this one is out of date.",
            "If the newer one did not arrive, send that again. Nothing was sent.",
        )
    if _is_for_now(notice) and not incident.is_open:
        raise Refused(
            f"Incident {incident.id} is closed.",
            "This notice describes the open incident.",
            f"To notify consumers, type {HOW_TO_CORRECT}. Nothing was sent.",
        )


def said_better(incident: Incident, notice: Notice, after: int | None) -> Notice | None:
    """The all-clear or correction that this consumer was told after entry `after`, where the notice is of the table as
    well; None: none was, or nobody knows since when."""
    if after is None or notice.kind not in _OF_THE_TABLE:
        return None
    told = (view for view in incident.notices.values() if view.notice.consumer == notice.consumer)
    since = (v.notice for v in told if v.seq > after and v.notice.kind in _OF_THE_TABLE)
    return next((each for each in since if not _is_for_now(each)), None)


def _is_for_now(notice: Notice) -> bool:
    return notice.kind in WARNS or (notice.kind == PLANNED and not notice.ends_work)


def cleared(incident: Incident) -> frozenset[str]:
    """Consumers who were told that they may read the table as usual; it arrived, or will, and still holds: nobody has
    corrected it since, but in details of a table that is proven."""
    last = {
        view.notice.consumer: view
        for view in incident.notices.values()
        if view.notice.kind in ALL_CLEAR or (view.notice.kind == "correction" and not _is_of_proven(view))
    }
    return frozenset(name for name, view in last.items() if _is_comfort(incident, view))


def _is_of_proven(view: NoticeView) -> bool:
    return view.notice.data is not None and view.notice.data.stage == "proven"


def _is_comfort(incident: Incident, view: NoticeView) -> bool:
    try:
        _refuse_untrue_comfort(incident, view)
    except Refused:
        return False
    return view.notice.kind in ALL_CLEAR and not view.was_overtaken


def _refuse_untrue_comfort(incident: Incident, view: NoticeView) -> None:
    refuse_false_comfort(incident, view.notice.kind)
    refuse_old_all_clear(incident, view.notice.kind, view.seq)


def refuse_old_all_clear(incident: Incident, kind: str, seq: int | None) -> None:
    """Whatever was proven since: the text of entry `seq` names what is trusted no more. None: it is of now."""
    again = last_taken_back(incident)
    if kind in ALL_CLEAR and seq is not None and again is not None and seq < again.seq:
        raise Refused(
            "This all-clear is out of date.",
            "It was written before the table came under review again.",
            f"Preview it again: /waterline notify {kind}. Nothing was sent.",
        )


def overtakes(newer: NoticeView, older: NoticeView) -> bool:
    """Whether nobody needs to hear the older one after the newer one; both of one consumer. Whatever else a team sends
    ends by its own kind alone."""
    new, old = newer.notice.kind, older.notice.kind
    does = KINDS.get(new, NoticeKind())
    return new == old or old in does.overtakes or (does.overtakes_all and old in _OF_THE_TABLE)


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


def is_warning_due(incident: Incident, setup: TableSetup, now: datetime) -> bool:
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


def is_severity_update_due(incident: Incident, setup: TableSetup) -> bool:
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
