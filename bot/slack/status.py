"""`/waterline status`: open incidents and the trust of every table, each with whose table it is."""

from datetime import date, datetime

from bot.domain.doubt import beside_trusted, doubted_since
from bot.domain.entries import IncidentOpened
from bot.domain.freezes import still_paused
from bot.domain.ids import short
from bot.domain.incident import Incident, shown_in
from bot.domain.inert import visible
from bot.domain.sentences import clock_time
from bot.domain.setup import TableSetup, TeamMember
from bot.domain.trust import Basis, Trust
from bot.service.services import Services
from bot.service.walking import current_step
from bot.slack.ids import COMMAND


def status_text(services: Services, channel: str) -> str:
    """Open incidents, and the trust of every table; of private incidents the one of this channel. A line each."""
    setups, today = services.observer.tables, services.clock.now().date()
    shown = [each for each in services.store.all() if shown_in(each, channel)]
    incidents = [each for each in shown if each.is_open]
    lines = [_incident(each, is_watched=each.opened.table in setups) for each in incidents]
    hidden = {each.opened.table for each in services.store.all() if each.is_open and not shown_in(each, channel)}
    if not lines and not hidden:
        lines = [f"No incident is open. Open one with {COMMAND} open."]
    lines += [f"{each.id}: {why}" for each in shown if (why := still_paused(each)) is not None]
    for trust in services.trust.all():
        lines.append(trust_line(trust, services.clock.now()) + owned_by(setups.get(trust.table), today))
    unwatched = sorted(hidden - set(setups))
    lines += [f"{table} is under review. Its incident is private." for table in unwatched]
    return "\n".join(lines)


def trust_line(trust: Trust, now: datetime) -> str:
    """One table: its state, since when, why, and the snapshot to trust. For what one person alone is shown."""
    state = trust.state.value.replace("-", " ")
    since = f" since {clock_time(trust.since, now)}" if trust.since is not None else ""
    doubts = [doubt for doubt in trust.doubts if doubt not in trust.why]
    return visible(" ".join([f"{trust.table}: {state}{since}. {trust.why}", *_to_trust(trust, now), *doubts]))


def owned_by(setup: TableSetup | None, on: date) -> str:
    """A sentence after a space, people whom Slack knows as mentions; empty where the contract names no team.

    For what one person alone is shown: there a mention notifies nobody.
    """
    words = "" if setup is None or setup.team is None else setup.team.in_words(on, _named)
    return f" Owned by {visible(words)}." if words else ""


def _named(member: TeamMember) -> str:
    return f"<@{member.slack}>" if member.slack else member.name


def _to_trust(trust: Trust, now: datetime) -> list[str]:
    """Nothing where nobody ever had a doubt: then it is the head, which goes on. What could not be looked at is not
    said to be missing."""
    if trust.basis is Basis.NEVER_QUESTIONED:
        return []
    if trust.snapshot is None:
        none = "No trusted snapshot: none is known to be good."
        return ["Could not determine the trusted snapshot." if trust.doubts else none]
    is_proven = trust.basis is Basis.VERIFIED
    name, basis = ("Trusted", "verified") if is_proven else ("No known problem", "not verified")
    return [f"{name}: snapshot {trust.snapshot}{_listed(trust, now)}; {basis}."]


def _listed(trust: Trust, now: datetime) -> str:
    if trust.committed_at is not None:
        return f", up to {clock_time(trust.committed_at, now)}"
    return " (unknown whether it still exists)" if trust.head is None else ", no longer listed"


def _incident(incident: Incident, *, is_watched: bool) -> str:
    """What to trust stands in the line of its table, where there is one that speaks of this incident."""
    opened: IncidentOpened = incident.opened
    step = current_step(incident)
    who = f"<@{incident.responder}>" if incident.responder else "nobody"
    is_told = is_watched and doubted_since(incident) is not None
    trusted = "" if is_told else f" Trusted up to {short(incident.trusted)} ({beside_trusted(incident)})."
    return (
        f"{incident.id} {opened.table} ({incident.severity}), opened {clock_time(incident.opened_at)} "
        f"in <#{opened.channel}>: {step.title if step else 'runbook finished'}.{trusted} Responder: {who}."
    )
