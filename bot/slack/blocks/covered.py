"""What a yes covers beside effects and preview: what must hold, and the evidence that is cited."""

from collections.abc import Mapping

from slack_sdk.models.blocks import SectionBlock

from bot.domain.evidence import Task
from bot.domain.execution import ProposalView
from bot.domain.incident import Incident, cited
from bot.domain.requirement_words import requirement_sentence
from bot.slack.blocks.parts import sections
from bot.slack.text import mrkdwn, short_paths


def covered(incident: Incident, view: ProposalView, tasks: Mapping[str, Task]) -> list[SectionBlock]:
    """Shown whole while it can be decided, as paragraphs."""
    proposal = view.proposal
    must = "\n".join(f"• {mrkdwn(short_paths(requirement_sentence(each)))}" for each in proposal.requirements)
    told = " · ".join(mrkdwn(each) for each in cited(proposal, incident.runs, tasks)) or "none: people asked for it"
    holds = sections(f"*Carried out only while this holds*\n{must}") if must else []
    return [*holds, *sections(f"*Evidence:* {told}")]
