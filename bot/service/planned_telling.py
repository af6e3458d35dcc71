"""When planned work is announced, and when its end can be told."""

from bot.domain.errors import Refused
from bot.domain.incident import Incident
from bot.domain.promises import announced_since
from bot.domain.savepoint_told import CALLED_OFF, OVER, PLANNED, planned_work_is_over
from bot.domain.savepoints import kept_in


def refuse_untimely(incident: Incident, kind: str) -> None:
    """Raises Refused for the announcement of work that is over, for an end that nothing proves, and for work that is
    called off although nobody announced it or the job was stopped for it. Not asked again of what is on its way."""
    since = announced_since(incident)
    is_over = planned_work_is_over(incident)
    if kind == PLANNED and since is not None and is_over:
        raise Refused(
            "This planned work is over.",
            "It was announced, a savepoint was taken, and the rows were found right since.",
            f"Send “Planned work is over”: /waterline tell {OVER}. Nothing was sent.",
        )
    if kind == OVER and not is_over:
        raise Refused(
            "Nothing shows that the planned work is over.",
            "The notice says that the job writes again and that the rows were counted: once a savepoint was taken and "
            "somebody has committed since, both questions about the rows must have found nothing.",
            f"Ask them again after the first commits. Work that did not take place: /waterline tell {CALLED_OFF}. "
            "Nothing was sent.",
        )
    if kind != CALLED_OFF:
        return
    if since is None:
        raise Refused(
            "No planned work stands announced.",
            f"Nobody was told of any in {incident.id}, or they were told its end.",
            "Nothing was sent.",
        )
    if any(kept.taken_at > since for kept in kept_in(incident)):
        raise Refused(
            "The planned work took place.",
            "Since it was announced, the job was stopped with a savepoint.",
            f"When the rows are counted: /waterline tell {OVER}; until then: /waterline tell update. Nothing was sent.",
        )
