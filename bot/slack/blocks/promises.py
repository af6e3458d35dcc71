"""Reminders of what was promised, and what a new responder is told."""

from datetime import datetime, timedelta

from slack_sdk.models.blocks import Block

from bot.domain.clock_time import clock_time
from bot.domain.entries import HandedOver, NoticeQueued, PromiseReminded, PromiseSnoozed
from bot.domain.execution import ProposalState
from bot.domain.ids import short
from bot.domain.incident import Incident
from bot.domain.journal import Entry
from bot.domain.review_items import review_items
from bot.domain.timeline import sentence
from bot.service.walking import current_step
from bot.slack.blocks.parts import actions, button, clock, context, section
from bot.slack.ids import Click
from bot.slack.text import addressed, as_sentence, clipped, mrkdwn, person, room

SNOOZE_MINUTES = 15
_LINES, _TERMS = 5, 5
_UNDECIDED = {ProposalState.PROPOSED, ProposalState.HELD, ProposalState.APPROVED}


def reminder_of_promise(incident: Incident, entry: Entry) -> tuple[str, list[Block]]:
    """(notification text, blocks); once it is done, or was snoozed, it says only that."""
    body = entry.body
    assert isinstance(body, PromiseReminded)
    who = " ".join(person(user) for user in body.people)
    return _of_review(incident, body, who) if body.what == "review" else _of_next_word(incident, entry, body, who)


def _of_next_word(incident: Incident, entry: Entry, body: PromiseReminded, who: str) -> tuple[str, list[Block]]:
    since = [each for each in incident.entries if each.seq > entry.seq]
    told = next((each.at for each in since if isinstance(each.body, NoticeQueued)), None)
    if told is not None:
        return f"{incident.id}: consumers were told", [context(f":white_check_mark: They were told at {clock(told)}.")]
    if not incident.is_open:
        return f"{incident.id} is closed", [context(f"{incident.id} is closed; nobody waits any more.")]
    is_over = entry.at >= body.due
    when = f"{'expected' if is_over else 'expect'} word by {clock_time(body.due, entry.at)}"
    text = f"{incident.id}: consumers of {incident.opened.table} {when}"
    mark = ":alarm_clock: *Overdue.*" if is_over else ":alarm_clock:"
    said = section(
        f"{mark} {who}: the consumers of {mrkdwn(incident.opened.table)} {when}. “We know no more yet” is word, too."
    )
    snoozed = next((each for each in since if isinstance(each.body, PromiseSnoozed)), None)
    if snoozed is not None and isinstance(snoozed.body, PromiseSnoozed):
        until = clock_time(snoozed.body.until, entry.at)
        return text, [said, context(f":zzz: {person(snoozed.by)} wants to be reminded again at {until}.")]
    return text, [
        said,
        actions(
            [
                button("Preview an update…", Click.PREVIEW_NOTICE, incident.id, "update", "", style="primary"),
                button(f"In {SNOOZE_MINUTES} minutes", Click.SNOOZE, incident.id),
            ]
        ),
    ]


def _of_review(incident: Incident, body: PromiseReminded, who: str) -> tuple[str, list[Block]]:
    still = {item.finding.term for item in review_items(incident) if item.is_open}
    terms = [term for term in body.terms if term in still]
    text = f"The review of {incident.id} is due"
    if not terms:
        return text, [context(f":white_check_mark: What was due on {body.due:%Y-%m-%d} is settled.")]
    lines = [f"• {mrkdwn(as_sentence(term))}" for term in terms[:_TERMS]]
    lines += [f"_and {len(terms) - _TERMS} more_"] if len(terms) > _TERMS else []
    told = f":alarm_clock: {who}: the review of {incident.id} said that this is mended by {body.due:%Y-%m-%d}."
    return text, [
        section("\n".join([told, *lines])),
        context("Settle it, or set another day, from the review's message."),
    ]


def handover_message(then: Incident, entry: Entry, next_word: datetime | None) -> tuple[str, list[Block]]:
    """Where the incident stood when it was handed over: `then` is the incident up to this entry."""
    body = entry.body
    assert isinstance(body, HandedOver)
    step = current_step(then)
    lines = [f"*Step:* {mrkdwn(step.title) if step is not None else 'the runbook is at its end'}"]
    status = "not marked yet" if then.waterline is None else then.waterline.status.replace("-", " ")
    lines.append(f"*Trusted:* {short(then.trusted)}; the table is {status}")
    decisive = then.diagnosis.decisive if then.diagnosis is not None else None
    lines.append(f"*Diagnosis:* {mrkdwn(f'{decisive[0].code}: {decisive[1].headline}') if decisive else 'none yet'}")
    view = then.current_proposal
    if view is not None:
        waits = ", and waits" if view.state in _UNDECIDED else ""
        lines.append(f"*Proposal:* “{mrkdwn(view.proposal.title)}” is {view.state.value}{waits}")
    running = [run.task.replace("_", " ") for run in then.runs.values() if run.is_running]
    if running:
        lines.append(f"*Running now:* {mrkdwn(', '.join(running))}")
    if next_word is not None:
        lines.append(f"*Promised:* consumers expect word by {clock_time(next_word, entry.at)}")
    if then.is_frozen:
        lines.append("*Maintenance* of the table is frozen until the incident ends")
    age = _age(entry.at - then.opened_at)
    head = (
        f":handshake: {person(body.to)}, {then.id} on {mrkdwn(then.opened.table)} is yours now; "
        f"{person(entry.by)} handed it over. It has been open for {age}, in {room(then.opened.channel)}."
    )
    note = [section(f"> {mrkdwn(as_sentence(body.note))}")] if body.note else []
    newest = then.entries[:-1][-_LINES:]
    last = "\n".join(f"{each.at:%H:%M} {addressed(clipped(sentence(each), 160), set())}" for each in newest)
    text = f"{then.id} was handed over"
    return text, [section(head), *note, section("\n".join(lines)), context(f"*Last entries*\n{last}")]


def _age(span: timedelta) -> str:
    minutes = int(span.total_seconds() // 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
