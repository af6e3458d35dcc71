"""A post's key -> what it shows now. Everything but fixed texts is rendered from the journal when it is sent."""

import re

from slack_sdk.models.blocks import Block

from bot.incident.entries import Diagnosed, IncidentClosed, ReviewOpened
from bot.incident.exported_record import seal_of
from bot.incident.incident import Incident
from bot.incident.journal import Entry
from bot.observation.ids import EvidenceId, ProposalId
from bot.observation.sentences import PERSON
from bot.ports import Post
from bot.service.services import Services
from bot.service.timeline import sentence
from bot.slack.blocks.card import card_message
from bot.slack.blocks.diagnosis import diagnosis_message
from bot.slack.blocks.evidence import answers_message, evidence_message
from bot.slack.blocks.notices import notice_message
from bot.slack.blocks.parts import clock, context, section
from bot.slack.blocks.promises import reminder_of_promise
from bot.slack.blocks.proposal import emergency_message, execution_message, proposal_message, reminder_message
from bot.slack.blocks.review import review_message
from bot.slack.blocks.texts import held_message
from bot.slack.blocks.watch import finding_message
from bot.slack.limits import pages
from bot.slack.sent_before import notice_key
from bot.slack.text import addressed, clipped, code, mrkdwn, read_at

_NOTIFICATION = 300
"""Characters of a finding's notification: an alert may bring a novel."""
_ID = re.compile(r"[UWSCG][A-Z0-9]{2,}")


def render(post: Post, services: Services) -> tuple[str, list[Block]]:
    """(text, blocks) of a post. KeyError if its key is of no known shape."""
    with read_at(services.clock.now()):
        return _rendered(post, services)


def _rendered(post: Post, services: Services) -> tuple[str, list[Block]]:
    notice = notice_key(post)
    if post.incident is not None and notice is not None:
        incident = services.store.get(post.incident)
        return notice_message(incident, incident.notices[notice])
    if post.text is not None:
        is_for_one = post.user is not None or re.fullmatch(PERSON, post.channel) is not None
        text = addressed(post.text, None if is_for_one else ())
        return text, [section(part) for part in pages(text)]
    if post.key.startswith("watch/"):
        return _finding(post.key.split("/")[1], services)
    assert post.incident is not None
    incident = services.store.get(post.incident)
    _id, kind, *rest = post.key.split("/")
    told, blocks = _of_incident(incident, services, kind, rest[0] if rest else "")
    return mrkdwn(told), blocks


def _finding(finding: str, services: Services) -> tuple[str, list[Block]]:
    status = services.finding_store.status(finding) if services.finding_store is not None else None
    if services.finding_store is None or status is None:
        return "A finding", [context("Tables are no longer monitored. This finding is old.")]
    told, blocks = finding_message(status, services.finding_store.mention)
    return mrkdwn(clipped(told, _NOTIFICATION)), blocks


def _of_incident(incident: Incident, services: Services, kind: str, name: str) -> tuple[str, list[Block]]:  # noqa: C901 - one case a kind
    match kind:
        case "card":
            setup = services.observer.tables.get(incident.opened.table)
            better = services.opening.better_runbook(incident)
            return card_message(incident, services.tasks, services.evidence.progress, setup, better)
        case "evidence":
            run = incident.runs[EvidenceId(name)]
            return evidence_message(run, services.tasks[run.task])
        case "answers":
            return answers_message(incident, services.tasks, int(name))
        case "diagnosis":
            body = incident.entries[int(name) - 1].body
            assert isinstance(body, Diagnosed)
            return diagnosis_message(body.diagnosis, incident)
        case "proposal":
            return proposal_message(incident, incident.proposals[ProposalId(name)], services.tasks)
        case "execution":
            return execution_message(incident, incident.proposals[ProposalId(name)])
        case "reminder":
            return reminder_message(incident, incident.proposals[ProposalId(name)])
        case "emergency":
            return emergency_message(incident, incident.proposals[ProposalId(name)])
        case "line":
            return _line(incident, name)
        case "promise":
            return reminder_of_promise(incident, incident.entries[int(name) - 1])
        case "held":
            return held_message(incident, incident.held[name])
        case _:
            raise KeyError(kind)


def _line(incident: Incident, name: str) -> tuple[str, list[Block]]:
    entry = incident.entries[int(name) - 1]
    if isinstance(entry.body, ReviewOpened):
        return review_message(incident)
    told = sentence(entry)
    with read_at(entry.at):
        line = context(f"{clock(entry.at)} · {addressed(told, _ids_in(entry))}")
    if isinstance(entry.body, IncidentClosed):
        return told, [line, context(f":lock: Seal of the record: {code(str(seal_of(entry)))}")]
    return told, [line]


def _ids_in(entry: Entry) -> frozenset[str]:
    """Whom the entry names in a field of its own; a mention within a text that somebody wrote is not among them."""
    fields = (value for value in vars(entry.body).values() if value is not None)
    values = (each for field in fields for each in (field if isinstance(field, tuple) else (field,)))
    return frozenset(value for value in values if isinstance(value, str) and _ID.fullmatch(value))
