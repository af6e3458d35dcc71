"""To the responder, aloud: an all-clear was not sent, as the table came in doubt, and nobody sends it by itself."""

from slack_sdk.models.blocks import Block

from bot.domain.given_up import given_up_from
from bot.domain.incident import Incident
from bot.domain.notice import WAYS
from bot.slack.blocks.parts import section
from bot.slack.text import clipped, code, mrkdwn, person

_NAMED, _WHY = 20, 600


def given_up_message(incident: Incident, first: int) -> tuple[str, list[Block]]:
    """(notification text, blocks): what, to whom, why, and which command sends it once the doubt is over."""
    ends = given_up_from(incident, first)
    ways: dict[str, list[str]] = {}
    for each in ends:
        ways.setdefault(incident.notices[each.key].notice.consumer, []).append(WAYS[each.to.partition(":")[0]])
    notice, asks = incident.notices[ends[0].key].notice, ends[0].asks
    what = f"“{notice.title or notice.kind.replace('_', ' ')}”"
    named = [f"{code(name)} ({', '.join(by)})" for name, by in list(ways.items())[:_NAMED]]
    more = [f"{len(ways) - _NAMED} more"] if len(ways) > _NAMED else []
    who = f"{person(asks)}: " if asks else ""
    there = " It may have arrived all the same." if any(each.may_be_there for each in ends) else ""
    text = f"{incident.id}: {what} was not sent to {', '.join(list(ways)[:_NAMED])}"
    return text, [
        section(
            f":no_entry: {who}{mrkdwn(what)} was *not sent* to {', '.join([*named, *more])}.{there} "
            f"{mrkdwn(clipped(ends[0].doubt, _WHY))}"
        ),
        section(f"Waterline does not send it again. When that is resolved, type {code(ends[0].command)}"),
    ]
