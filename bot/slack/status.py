"""`/waterline status`: open incidents and the trust of every table, each with whose table it is."""

from datetime import date

from bot.domain.clock_time import clock_time
from bot.domain.doubt import beside_trusted
from bot.domain.entries import IncidentOpened
from bot.domain.freezes import still_paused
from bot.domain.ids import UserId, short
from bot.domain.incident import Incident
from bot.domain.inert import visible
from bot.domain.setup import TableSetup
from bot.domain.team import TeamMember
from bot.domain.trust import Trust
from bot.service.services import Services
from bot.service.walking import current_step
from bot.slack.ids import COMMAND
from bot.slack.privacy import Privacy


def status_text(services: Services, privacy: Privacy, user: UserId) -> str:
    """What this person may know, a line each."""
    setups, today = services.observer.tables, services.clock.now().date()
    open_ones = [incident for incident in privacy.visible(user) if incident.is_open]
    lines = [_incident(each) + owned_by(setups.get(each.opened.table), today) for each in open_ones]
    hidden = sorted(privacy.hidden_tables(user))
    lines += [f"{table} is under review. Its incident is private." for table in hidden]
    if not lines:
        lines = [f"No incident is open. Open one with {COMMAND} open."]
    lines += [f"{each.id}: {why}" for each in privacy.visible(user) if (why := still_paused(each)) is not None]
    told = {incident.opened.table for incident in services.store.all() if incident.is_open}
    for trust in services.trust.all():
        if trust.table not in told:
            lines.append(_trust(trust) + owned_by(setups.get(trust.table), today))
        elif trust.doubts:
            lines.append(_trust(trust))
    return "\n".join(lines)


def owned_by(setup: TableSetup | None, on: date) -> str:
    """A sentence after a space, people whom Slack knows as mentions; empty where the contract names no team.

    For what one person alone is shown: there a mention notifies nobody.
    """
    words = "" if setup is None or setup.team is None else setup.team.in_words(on, _named)
    return f" Owned by {visible(words)}." if words else ""


def _named(member: TeamMember) -> str:
    return f"<@{member.slack}>" if member.slack else member.name


def _trust(trust: Trust) -> str:
    state = trust.state.value.replace("-", " ")
    doubts = [doubt for doubt in trust.doubts if doubt not in trust.why]
    return visible(" ".join([f"{trust.table}: {state}. {trust.why}", *doubts]))


def _incident(incident: Incident) -> str:
    opened: IncidentOpened = incident.opened
    step = current_step(incident)
    who = f"<@{incident.responder}>" if incident.responder else "nobody"
    return (
        f"{incident.id} {opened.table} ({incident.severity}), opened {clock_time(incident.opened_at)} "
        f"in <#{opened.channel}>: {step.title if step else 'runbook at its end'}. "
        f"Trusted up to {short(incident.trusted)} ({beside_trusted(incident)}). Responder: {who}."
    )
