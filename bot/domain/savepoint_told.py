"""Who was told of planned work, by the deliveries on record. Pure."""

from bot.domain.incident import Incident
from bot.domain.savepoint_entries import SavepointPlanned

PLANNED = "planned_work"
"""The notice that announces it."""
OVER = "planned_work_over"
CALLED_OFF = "planned_work_off"
ENDS = frozenset({OVER, CALLED_OFF})
"""The notices that say how it ended."""
PLANNED_WORK = ENDS | {PLANNED}
"""Kinds that call nothing in question: whoever reads them need not do anything."""


def plan_with_told(incident: Incident) -> SavepointPlanned | None:
    """The plan, with every consumer whom the announcement has reached among those who were told; None without one."""
    if incident.plan is None:
        return None
    return incident.plan.model_copy(update={"told": tuple(dict.fromkeys((*incident.plan.told, *_reached(incident))))})


def _reached(incident: Incident) -> tuple[str, ...]:
    """Consumers to whom it was delivered, by any way."""
    return tuple(
        view.notice.consumer
        for view in incident.notices.values()
        if view.notice.kind == PLANNED
        and any(way.ended is not None and way.ended.how == "delivered" for way in view.deliveries.values())
    )
