"""Reminders of what was promised to consumers, and of the items of a review."""

from slack_sdk.models.blocks import Block, SectionBlock

from bot.domain.doubt import doubted_since
from bot.domain.entries import NoticeQueued, PromiseReminded
from bot.domain.incident import Incident
from bot.domain.journal import Entry
from bot.domain.notice import HOW_TO_CORRECT, PLANNED
from bot.domain.planned_work import stop_for_work
from bot.domain.promises import BESIDE, announcement
from bot.domain.review import review_items
from bot.domain.sentences import clock_time
from bot.slack.blocks.freezes import reminder_of_freeze
from bot.slack.blocks.parts import actions, button, clock, context, section
from bot.slack.blocks.standing_jobs import reminder_of_standing_job
from bot.slack.ids import Click
from bot.slack.text import as_sentence, mrkdwn, person

_TERMS = 5
_LEFT_TO_PEOPLE = ("next-update", "planned-end")
"""What Waterline cannot do for a table that is configured no more; the others it can."""


def reminder_of_promise(incident: Incident, entry: Entry) -> tuple[str, list[Block]]:
    """(notification text, blocks); once it is done, it says only that. Of a table that is configured no
    more it says so, as long as something is left to be done by hand."""
    body = entry.body
    assert isinstance(body, PromiseReminded)
    text, blocks = _reminder(incident, entry, body)
    if body.is_unconfigured and body.what in _LEFT_TO_PEOPLE and isinstance(blocks[0], SectionBlock):
        table = mrkdwn(incident.opened.table)
        no_more = f"{table} is no longer configured, so Waterline does not monitor it and cannot preview notices."
        blocks.append(context(f":grey_question: {no_more} Do this by hand, or configure it again."))
    return text, blocks


def _reminder(incident: Incident, entry: Entry, body: PromiseReminded) -> tuple[str, list[Block]]:
    who = " ".join(person(user) for user in body.people)
    match body.what:
        case "review":
            return _of_review(incident, body, who)
        case "next-update":
            return _of_next_word(incident, entry, body, who)
        case "thaw":
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
    return text, [said] if body.is_unconfigured else [said, actions([send])]


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
