"""Which notices are sent by themselves, and who is left to be told. Pure."""

from datetime import datetime, timedelta

from bot.domain.doubt import WARNS, doubted_since
from bot.domain.errors import Refused
from bot.domain.incident import Incident
from bot.domain.notice import HOW_TO_CORRECT
from bot.domain.reads import Consumer
from bot.domain.setup import TableSetup
from bot.service.outdated import cleared
from bot.service.telling_rules import asked_to_send


def owes_first_warning(incident: Incident, setup: TableSetup, now: datetime) -> bool:
    """Whether consumers are still unwarned although the responder has had time to look at the preview; where none is
    declared, whether nobody has looked yet who else was seen reading.

    Of a private incident nobody is told unless a responder asks for it, of planned work only if it went wrong, and
    never after an all-clear that holds.
    """
    doubted = doubted_since(incident)
    if doubted is None or incident.is_private or now < doubted + timedelta(minutes=setup.warn_after_minutes):
        return False
    if not setup.consumers:
        return incident.readers is None
    warned = any(view.notice.kind in WARNS for view in incident.notices.values())
    asked = asked_to_send(incident, "first_warning")
    return not warned and not asked and not cleared(incident)


def owes_severity(incident: Incident, setup: TableSetup) -> bool:
    """Whether consumers who are declared, and wait for the end, were told of another severity than the present one.
    Never of a private incident, nor of planned work in which nothing was found: an update would call it in question."""
    if not incident.is_open or incident.is_private or doubted_since(incident) is None:
        return False
    said = {view.notice.consumer: view.notice.severity for view in incident.notices.values() if view.notice.severity}
    waiting = {each.name for each in setup.consumers} - cleared(incident)
    is_wrong = any(severity != incident.severity for name, severity in said.items() if name in waiting)
    return is_wrong and not asked_to_send(incident, "update")


def left_to_tell(incident: Incident, setup: TableSetup, kind: str) -> tuple[Consumer, ...]:
    """The declared consumers for whom such a notice has a meaning: nobody is warned after an all-clear that holds.
    Raises Refused where all of them have had it."""
    if kind not in WARNS:
        return setup.consumers
    done = cleared(incident)
    left = tuple(each for each in setup.consumers if each.name not in done)
    if setup.consumers and not left:
        raise Refused(
            "The consumers have a valid all-clear.",
            "This notice would call the table under review again.",
            f"If that is wrong, type {HOW_TO_CORRECT}. Nothing was sent.",
        )
    return left
