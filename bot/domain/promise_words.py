"""What an entry about a promise says, as one sentence."""

from bot.domain.promise_entries import PromiseReminded


def promise_sentence(body: PromiseReminded) -> str:
    """For a reader who was not there; who and when stand beside it."""
    match body:
        case PromiseReminded(what="review"):
            return f"{_people(body)} reminded: {len(body.terms)} review items are due on {body.due:%Y-%m-%d}."
        case PromiseReminded(what="thaw"):
            return f"{_people(body)} asked whether maintenance, frozen since {body.due:%Y-%m-%d %H:%M} UTC, can go on."
        case PromiseReminded(what="planned-end"):
            return f"{_people(body)} asked whether planned work is over: consumers wait for its end."
        case PromiseReminded(what="standing-job"):
            return f"{_people(body)} asked how the repair goes on: its job stands still since {body.due:%H:%M} UTC."
        case _:
            return f"{_people(body)} reminded: the next update to consumers is due at {body.due:%H:%M} UTC."


def _people(body: PromiseReminded) -> str:
    named = ", ".join(f"<@{user}>" for user in body.people)
    return f"{named} {'was' if len(body.people) == 1 else 'were'}"
