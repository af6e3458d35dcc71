"""What a new responder is told, and the question whether they have it."""

from datetime import datetime

from slack_sdk.models.blocks import Block

from bot.domain.clock_time import clock_time
from bot.domain.doubt import beside_trusted
from bot.domain.entries import HandedOver, PromiseReminded
from bot.domain.execution import UNDECIDED
from bot.domain.handovers import Handover, handovers
from bot.domain.ids import short
from bot.domain.incident import Incident
from bot.domain.journal import Entry
from bot.domain.spans import span
from bot.domain.timeline import sentence
from bot.service.walking import current_step
from bot.slack.blocks.parts import actions, button, clock, context, section
from bot.slack.ids import Click
from bot.slack.text import addressed, as_sentence, clipped, mrkdwn, person, room

_LINES = 5


def handover_message(
    then: Incident, entry: Entry, next_word: datetime | None, handed: Handover
) -> tuple[str, list[Block]]:
    """Where the incident stood when it was handed over, `then` being the incident up to this entry; and as long as
    nobody has answered, the question."""
    body = entry.body
    assert isinstance(body, HandedOver)
    step = current_step(then)
    lines = [f"*Step:* {mrkdwn(step.title) if step is not None else 'the runbook is at its end'}"]
    lines.append(f"*Trusted up to:* {short(then.trusted)} ({beside_trusted(then)})")
    decisive = then.diagnosis.decisive if then.diagnosis is not None else None
    lines.append(f"*Diagnosis:* {mrkdwn(f'{decisive[0].code}: {decisive[1].headline}') if decisive else 'none yet'}")
    view = then.current_proposal
    if view is not None:
        waits = ", and waits" if view.state in UNDECIDED else ""
        lines.append(f"*Proposal:* “{mrkdwn(view.proposal.title)}” is {view.state.value}{waits}")
    running = [run.task.replace("_", " ") for run in then.runs.values() if run.is_running]
    if running:
        lines.append(f"*Running now:* {mrkdwn(', '.join(running))}")
    if next_word is not None:
        lines.append(f"*Promised:* consumers expect word by {clock_time(next_word, entry.at)}")
    if then.is_frozen:
        lines.append("*Maintenance* of the table is frozen until the incident ends")
    age = span(entry.at - then.opened_at)
    head = (
        f":handshake: {person(body.to)}, {then.id} on {mrkdwn(then.opened.table)} is yours now; "
        f"{person(entry.by)} handed it over. It has been open for {age}, in {room(then.opened.channel)}."
    )
    note = [section(f"> {mrkdwn(as_sentence(body.note))}")] if body.note else []
    newest = then.entries[:-1][-_LINES:]
    last = "\n".join(f"{each.at:%H:%M} {addressed(clipped(sentence(each), 160), set())}" for each in newest)
    text = f"{then.id} was handed over"
    where = [section(head), *note, section("\n".join(lines)), context(f"*Last entries*\n{last}")]
    return text, [*where, *_answer(then, handed)]


def question_of_handover(incident: Incident, entry: Entry) -> tuple[str, list[Block]]:
    """A reminder: whoever was named is asked, later everybody; once it is answered it says only that."""
    body = entry.body
    assert isinstance(body, PromiseReminded)
    handed = next(each for each in reversed(handovers(incident)) if each.seq < entry.seq)
    if handed.ended is not None:
        who = person(incident.responder)
        said = f"{who} goes on." if incident.is_open else f"{incident.id} is closed."
        return f"{incident.id}: the hand-over is answered", [context(f":white_check_mark: {said}")]
    silent = span(entry.at - handed.at)
    told = f"{person(handed.by)} handed {incident.id} over at {clock_time(handed.at, entry.at)}"
    if entry.at < body.due:
        text = f"{incident.id} waits for your word"
        said = f":handshake: {person(handed.to)}, do you have it? {told}, and you have not been seen since."
    else:
        text = f"Nobody has taken {incident.id} over"
        said = (
            f":warning: *Who goes on?* {told} to {person(handed.to)}, and nothing was heard for {silent}. "
            f"{person(handed.by)}, it is with you until somebody takes it."
        )
    return text, [section(said), *_answer(incident, handed)]


def _answer(incident: Incident, handed: Handover) -> list[Block]:
    """Any act of theirs says the same as the button."""
    if handed.ended is None:
        return [actions([button("Take it", Click.TAKE, incident.id, style="primary")])]
    if handed.is_taken:
        return [context(f":white_check_mark: {person(handed.to)} has it since {clock(handed.ended.at)}.")]
    return []
