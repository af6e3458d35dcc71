"""Which notices may be sent, and how often."""

from collections.abc import Iterable, Sequence

from bot.incident.delivery import NoticeView
from bot.incident.diagnosis import Remedy
from bot.incident.doubt import accusations, doubted_since, mended_by_others
from bot.incident.effects import MoveTable, PublishBranch
from bot.incident.entries import SeverityChanged
from bot.incident.incident import Incident
from bot.incident.notice import AFTER_CLOSE, ALL_CLEAR, HOW_TO_CORRECT, ONCE, PLANNED
from bot.incident.waterline import last_taken_back, owed_waterline, taken_back
from bot.notices import NoticeTemplate
from bot.observation.errors import Refused
from bot.observation.sentences import clock_time


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
    owed, told = owed_waterline(incident), incident.diagnosis
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
