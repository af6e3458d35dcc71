"""Asks how a repair goes on whose job stands still."""

from slack_sdk.models.blocks import Block

from bot.domain.entries import PromiseReminded
from bot.domain.incident import Incident
from bot.domain.rehearsals import Settled, StandingJob, standing_job
from bot.domain.sentences import clock_time
from bot.slack.blocks.parts import context, section
from bot.slack.text import mrkdwn

_OR_GIVE_UP = "give it up: `/waterline propose drop_repair_branch`"


def reminder_of_standing_job(incident: Incident, body: PromiseReminded, who: str) -> tuple[str, list[Block]]:
    """(notification text, blocks); once the job is started, or a run of it was alive when the repair was published or
    given up, it says only that the job waits no more for it."""
    standing = standing_job(incident)
    if standing is None or standing.since != body.due:
        return f"{incident.id}: no job waits for the repair any more", [
            context(":white_check_mark: No job waits for this repair any more.")
        ]
    since = clock_time(standing.since)
    text = f"{incident.id}: {standing.job} stands still since {since}"
    if standing.waits_for is None:
        return text, [section(_refused(standing, since, who))]
    if standing.settled is not None:
        return text, [section(_not_started(standing, standing.settled, since, who))]
    told = (
        f":pause_button: {who}: {mrkdwn(standing.job)} stands still since {since}, for "
        f"“{mrkdwn(standing.waits_for.proposal.title)}”. No new rows come until the repair is published or given up."
    )
    if standing.is_proven:
        advice = f"It is proven: have its publication approved (`/waterline propose publish_repair`), or {_OR_GIVE_UP}."
    else:
        advice = f"It is not proven yet: look at its proposal and verify it again, or {_OR_GIVE_UP}."
    return text, [section(f"{told}\n{advice}")]


def _refused(standing: StandingJob, since: str, who: str) -> str:
    return (
        f":pause_button: {who}: {mrkdwn(standing.job)} stands still since {since}. "
        f"“{mrkdwn(standing.stopped_by.proposal.title)}” has stopped it and was refused after that. Unless "
        "somebody has started it since, no new rows come.\n"
        "Click “Propose to undo it” on its message: that starts the job from what the stop has left, where that pairs. "
        "Or collect evidence again and diagnose: it says from where the job is restored. Where somebody has started "
        "it, a diagnosis that sees the job run ends this question."
    )


def _not_started(standing: StandingJob, settled: Settled, since: str, who: str) -> str:
    return (
        f":pause_button: {who}: {mrkdwn(standing.job)} stands still since {since}. "
        f"“{mrkdwn(standing.stopped_by.proposal.title)}” has stopped it; that repair is {settled}, and the job was not "
        "started with it. Unless somebody has started it since, no new rows come.\n"
        "Collect evidence again and diagnose: it says from where the job is restored. Where somebody has started it, a "
        "diagnosis that sees the job run ends this question."
    )
