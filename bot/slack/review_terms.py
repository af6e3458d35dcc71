"""The form of one term of a review -> one call of the service, and the sentence that answers."""

from bot.domain.errors import Refused
from bot.domain.ids import IncidentId, UserId
from bot.domain.review_items import ReviewItem
from bot.domain.said_moment import end_of_day
from bot.service.reviewing import Reviews
from bot.slack.requests import Submitted


def answer_term(reviews: Reviews, form: Submitted) -> str:
    """Hand it on or settle it, as the form says; a day ends at its last second in UTC. Raises Refused."""
    incident, number = IncidentId(form.about.split("/")[0]), int(form.about.split("/")[1])
    match form.values["way"]:
        case "mended":
            item = reviews.settle(incident, number, "mended", form.values.get("reason", ""), by=form.user)
        case "accepted":
            item = reviews.settle(incident, number, "accepted", form.values.get("reason", ""), by=form.user)
        case _ if words := form.values.get("reason", "").strip():
            raise Refused(
                "Nothing was saved: the form says to hand the term on, and also what was done.",
                f"You wrote: “{words}”.",
                "Open the form again, and choose that it is mended or accepted to keep these words; to hand it on, "
                "leave them out.",
            )
        case _:
            due = end_of_day(form.values["due"])
            item = reviews.assign(incident, number, owner=UserId(form.values["owner"]), due=due, by=form.user)
    return _answer(item)


def _answer(item: ReviewItem) -> str:
    term = item.finding.term.rstrip(".")
    if item.settled is not None:
        return f"“{term}” is {item.settled.how}."
    return f"“{term}” is with <@{item.owner}> until {item.due:%Y-%m-%d}."
