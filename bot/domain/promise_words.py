"""What an entry about a promise says, as one sentence."""

from typing import assert_never

from bot.domain.promise_entries import HandedOver, HandoverTaken, PromiseEntry, PromiseReminded, PromiseSnoozed


def promise_sentence(body: PromiseEntry) -> str:
    """For a reader who was not there; who and when stand beside it."""
    match body:
        case PromiseReminded(what="review"):
            return f"{_people(body)} reminded: {len(body.terms)} review items are due on {body.due:%Y-%m-%d}."
        case PromiseReminded(what="handover"):
            return f"{_people(body)} asked who goes on: nobody has answered the hand-over."
        case PromiseReminded(what="thaw"):
            return f"{_people(body)} asked whether maintenance, frozen since {body.due:%Y-%m-%d %H:%M} UTC, can go on."
        case PromiseReminded(what="planned-end"):
            return f"{_people(body)} asked whether planned work is over: consumers wait for its end."
        case PromiseReminded(what="standing-job"):
            return f"{_people(body)} asked how the repair goes on: its job stands still since {body.due:%H:%M} UTC."
        case PromiseReminded():
            return f"{_people(body)} reminded: consumers expect word by {body.due:%H:%M} UTC."
        case PromiseSnoozed():
            return f"The next reminder was put off until {body.until:%H:%M} UTC."
        case HandedOver():
            note = f" {body.note.rstrip('.')}." if body.note else ""
            return f"Handed over to <@{body.to}>.{note}"
        case HandoverTaken():
            return "Has it: the hand-over is answered."
        case _:
            assert_never(body)


def _people(body: PromiseReminded) -> str:
    named = ", ".join(f"<@{user}>" for user in body.people)
    return f"{named} {'was' if len(body.people) == 1 else 'were'}"
