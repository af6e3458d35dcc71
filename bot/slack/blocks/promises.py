"""Reminders of what was promised to consumers, and of the items of a review.

Asks whether a table's maintenance still has to stand still.

Asks how a repair goes on whose job stands still.
"""

from datetime import timedelta

from slack_sdk.models.blocks import Block

from bot.incident.doubt import doubted_since
from bot.incident.entries import NoticeQueued, PromiseReminded
from bot.incident.incident import Incident
from bot.incident.journal import Entry
from bot.incident.notice import BESIDE, HOW_TO_CORRECT, PLANNED
from bot.incident.promises import announcement
from bot.incident.review import review_items
from bot.incident.savepoints import stop_for_work
from bot.incident.staged_repairs import standing_job
from bot.observation.sentences import clock_time, span
from bot.slack.blocks.parts import actions, button, clock, context, section
from bot.slack.ids import Click
from bot.slack.text import as_sentence, mrkdwn, person

_TO_RESTORE = (
    "Collect evidence again and diagnose to see where to restore from. If somebody already started it, diagnose again "
    "to end this reminder."
)
_OR_GIVE_UP = "cancel it: `/waterline propose drop_repair_branch`"


def reminder_of_standing_job(incident: Incident, body: PromiseReminded, who: str) -> tuple[str, list[Block]]:
    """(notification text, blocks); once the job is started, or a run of it was alive when the repair was published or
    given up, it says only that the job waits no more for it."""
    standing = standing_job(incident)
    if standing is None or standing.since != body.due:
        return f"{incident.id}: no job waits for the repair", [
            context(":white_check_mark: No job waits for this repair now.")
        ]
    since = clock_time(standing.since)
    stopped = f":pause_button: {who}: {mrkdwn(standing.job)} has been stopped since {since}"
    by, waits_for = f"“{mrkdwn(standing.stopped_by.proposal.title)}”", standing.waits_for
    if waits_for is None:
        told = (
            f"{stopped}. {by} stopped the job and could not finish. It may still be down.\nClick “Propose to undo it” "
            f"on its message, or restore the job. {_TO_RESTORE}"
        )
    elif standing.settled is not None:
        told = f"{stopped} by {by}. That repair is {standing.settled}. The job may still be down.\n{_TO_RESTORE}"
    else:
        verified = "The repair is verified. Propose to publish it (`/waterline propose publish_repair`)"
        unverified = "The repair is not verified yet. Click *Verify again* on its proposal"
        told = (
            f"{stopped} for “{mrkdwn(waits_for.proposal.title)}”. No new rows arrive until the repair is published or "
            f"cancelled.\n{verified if standing.is_proven else unverified}, or {_OR_GIVE_UP}."
        )
    return f"{incident.id}: {standing.job} has been stopped since {since}", [section(told)]


_TO_CHOOSE = (
    "• Recovery finished: type `/waterline unfreeze`, or close the incident. Both restore the old settings.\n"
    "• Recovery still running: leave it. Waterline asks again in a day."
)


def reminder_of_freeze(incident: Incident, entry: Entry, body: PromiseReminded, who: str) -> tuple[str, list[Block]]:
    """(notification text, blocks); once maintenance goes on, it says only that."""
    table = mrkdwn(incident.opened.table)
    if incident.frozen_at != body.due:
        return f"Maintenance of {incident.opened.table} is running again", [
            context(f":white_check_mark: Maintenance of {table} is no longer frozen.")
        ]
    lasted = timedelta(minutes=round((entry.at - body.due).total_seconds() / 60))
    hours = f"{round(lasted.total_seconds() / 3600)} h" if lasted >= timedelta(hours=1) else span(lasted)
    text = f"{incident.id}: maintenance of {incident.opened.table} has been frozen for {hours}"
    said = (
        f":snowflake: {who}: snapshot expiry and orphan cleanup of {table} are paused for {hours} by {incident.id}, "
        "since "
        f"{clock_time(body.due, entry.at)}. Files pile up meanwhile."
    )
    return text, [section(f"{said}\n{_TO_CHOOSE}")]


_TERMS = 5


def reminder_of_promise(incident: Incident, entry: Entry) -> tuple[str, list[Block]]:
    """(notification text, blocks); once it is done, it says only that."""
    body = entry.body
    assert isinstance(body, PromiseReminded)
    who = " ".join(person(user) for user in body.people)
    match body.what:
        case "review":
            return _of_review(incident, body, who)
        case "next-update":
            return _of_next_word(incident, entry, body, who)
        case "unfreeze":
            return reminder_of_freeze(incident, entry, body, who)
        case "planned-end":
            return reminder_of_planned_work(incident, body, who)
        case "standing-job":
            return reminder_of_standing_job(incident, body, who)


def _of_next_word(incident: Incident, entry: Entry, body: PromiseReminded, who: str) -> tuple[str, list[Block]]:
    since = [each for each in incident.entries if each.seq > entry.seq]
    words = ((e.at, e.body.notice.kind) for e in since if isinstance(e.body, NoticeQueued))
    told = next((at for at, kind in words if kind not in BESIDE), None)
    if told is not None:
        return f"{incident.id}: consumers were notified", [
            context(f":white_check_mark: They were notified at {clock(told)}.")
        ]
    if not incident.is_open:
        return f"{incident.id} is closed", [
            context(f"{incident.id} was closed without this update. You can still notify them: `{HOW_TO_CORRECT}`.")
        ]
    table, at = mrkdwn(incident.opened.table), clock_time(body.due, entry.at)
    when = f"was due at {at}" if entry.at >= body.due else f"is due at {at}"
    text = f"{incident.id}: the next update on {incident.opened.table} {when}"
    said = section(f":alarm_clock: {who}, the next update on {table} {when}. “No news yet” is fine.")
    send = button("Send update…", Click.PREVIEW_NOTICE, incident.id, "update", "", style="primary")
    return text, [said, actions([send])]


def _of_review(incident: Incident, body: PromiseReminded, who: str) -> tuple[str, list[Block]]:
    still = {item.finding.term for item in review_items(incident) if item.is_open}
    terms = [term for term in body.terms if term in still]
    text = f"Items of the review of {incident.id} are due"
    if not terms:
        return text, [context(f":white_check_mark: The items due on {body.due:%Y-%m-%d} are done.")]
    lines = [f"• {mrkdwn(as_sentence(term))}" for term in terms[:_TERMS]]
    lines += [f"_and {len(terms) - _TERMS} more_"] if len(terms) > _TERMS else []
    told = f":alarm_clock: {who}: these items of the review of {incident.id} are due by {body.due:%Y-%m-%d}."
    return text, [
        section("\n".join([told, *lines])),
        context("Resolve them, or set another day, in the review's message."),
    ]


def reminder_of_planned_work(incident: Incident, body: PromiseReminded, who: str) -> tuple[str, list[Block]]:
    """(notification text, blocks); once the end is sent, or the incident is closed, it says only that."""
    told = announcement(incident)
    if told is None:
        return f"{incident.id}: the end of the planned work was sent", [
            context(":white_check_mark: Consumers no longer wait for the end of planned work.")
        ]
    if not incident.is_open:
        return f"{incident.id} is closed", [
            context(f"{incident.id} was closed before the end of its planned work was sent. You can still send it.")
        ]
    text = f"{incident.id}: is the planned work on {incident.opened.table} over?"
    over_by = told.notice.data.over_by if told.notice.data is not None else None
    expected = f" They expect it by {clock_time(over_by, body.moment)}." if over_by is not None else ""
    said = (
        f":alarm_clock: {who}: consumers of {mrkdwn(incident.opened.table)} were notified of planned work at "
        f"{clock_time(told.queued_at, body.moment)}. They wait for its end.{expected} "
    )
    if doubted_since(incident) is not None:
        update = button("Preview an update…", Click.PREVIEW_NOTICE, incident.id, "update", "", style="primary")
        return text, [section(f"{said}This incident questions the table, so send an update."), actions([update])]
    if stop_for_work(incident) is not None:
        over = button("It is over…", Click.PREVIEW_NOTICE, incident.id, f"{PLANNED} over", "", style="primary")
        return text, [section(f"{said}It is over when the job writes again and its rows are counted."), actions([over])]
    off = button("It was cancelled…", Click.TELL_IN_WORDS, incident.id, f"{PLANNED} off", "")
    return text, [section(f"{said}The job has not been stopped. Was the work cancelled?"), actions([off])]
