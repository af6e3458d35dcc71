"""Asks how a repair goes on whose job stands still."""

from slack_sdk.models.blocks import Block

from bot.domain.entries import PromiseReminded
from bot.domain.incident import Incident
from bot.domain.rehearsals import Settled, StandingJob, standing_job
from bot.domain.sentences import clock_time
from bot.slack.blocks.parts import context, section
from bot.slack.text import mrkdwn

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
    text = f"{incident.id}: {standing.job} has been stopped since {since}"
    if standing.waits_for is None:
        return text, [section(_refused(standing, since, who))]
    if standing.settled is not None:
        return text, [section(_not_started(standing, standing.settled, since, who))]
    told = (
        f":pause_button: {who}: {mrkdwn(standing.job)} has been stopped since {since} "
        f"for “{mrkdwn(standing.waits_for.proposal.title)}”. No new rows arrive until the repair is published or "
        "cancelled."
    )
    if standing.is_proven:
        advice = (
            f"The repair is verified. Propose to publish it (`/waterline propose publish_repair`), or {_OR_GIVE_UP}."
        )
    else:
        advice = f"The repair is not verified yet. Click *Verify again* on its proposal, or {_OR_GIVE_UP}."
    return text, [section(f"{told}\n{advice}")]


_IF_STARTED = "If somebody already started it, diagnose again to end this reminder."


def _refused(standing: StandingJob, since: str, who: str) -> str:
    return (
        f":pause_button: {who}: {mrkdwn(standing.job)} has been stopped since {since}. "
        f"“{mrkdwn(standing.stopped_by.proposal.title)}” stopped the job and could not finish. It may still be down.\n"
        "Click “Propose to undo it” on its message, or collect evidence again and diagnose to see where to restore "
        f"from. {_IF_STARTED}"
    )


def _not_started(standing: StandingJob, settled: Settled, since: str, who: str) -> str:
    return (
        f":pause_button: {who}: {mrkdwn(standing.job)} has been stopped since {since} by "
        f"“{mrkdwn(standing.stopped_by.proposal.title)}”. That repair is {settled}. The job may still be down.\n"
        f"Collect evidence again and diagnose to see where to restore from. {_IF_STARTED}"
    )
