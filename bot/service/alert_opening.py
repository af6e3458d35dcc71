"""Opens the incident that a grave alert asks for, where the settings say so: once an alert, for one person."""

from collections.abc import Callable, Collection

import structlog

from bot.domain.errors import WaterlineError
from bot.domain.ids import IncidentId, Severity, TableName, UserId
from bot.domain.journal import WATERLINE
from bot.domain.watch import ALERT, Sighted
from bot.service.incident_store import IncidentStore
from bot.service.opening import Opening
from bot.service.sightings import Sightings

log = structlog.get_logger(__name__)
_OTHERWISE = "job-restarted"


class AlertOpening:
    """After each look at a table. What people write in channels opens nothing, nor what is muted or waits for the end
    of quiet hours; what cannot be opened now is tried at the next look.

    The summary is ours: consumers are warned with it before anybody has read it, and an alert's words are of hosts,
    users and whatever else its sender put there. They stay in the channel, in the alert's message.
    """

    def __init__(
        self,
        opening: Opening,
        sightings: Sightings,
        store: IncidentStore,
        severities: Collection[Severity],
        responder: UserId,
        then: Callable[[IncidentId], None],
    ) -> None:
        """`then` begins with what an incident that was just opened is owed."""
        self._opening = opening
        self._store = store
        self._sightings = sightings
        self._severities = frozenset(severities)
        self._responder = responder
        self._then = then

    def open_if_asked(self, table: TableName) -> IncidentId | None:
        """The incident that was opened; None: no alert asks for one, or it could not be opened, which is logged.

        An alert that any incident has looked into since it came opens none, also when that one has ended. To be called
        by one replica at a time for each table.
        """
        for sighted in self._sightings.memory(table).lasting:
            if self._asks(sighted):
                try:
                    return self._open(sighted)
                except WaterlineError as error:
                    log.warning("incident not opened by alert", table=table, name=sighted.sign.name, problem=str(error))
        return None

    def _asks(self, sighted: Sighted) -> bool:
        sign = sighted.sign
        if sign.code != ALERT or sign.severity not in self._severities or not self._sightings.is_told(sighted.id):
            return False
        sight = self._sightings.sight(sighted.id)
        return sight is not None and sight.incident is None and sight.beside is None and sight.mute is None

    def _open(self, sighted: Sighted) -> IncidentId:
        sign = sighted.sign
        fitting = [book.id for book in self._opening.runbooks_for(sighted.table) if not book.is_planned]
        incident = self._opening.open(
            table=sighted.table,
            runbook=next((each for each in (sign.runbook, _OTHERWISE, *fitting) if each in fitting), _OTHERWISE),
            severity=sign.severity,
            channel=sighted.channel,
            summary=f"An alert of {sign.source} told of {sighted.table}.",
            by=WATERLINE,
            responder=self._responder,
        )
        log.info("incident opened by alert", incident=incident, name=sign.name)
        self._then(incident)
        self._sightings.incident_changed(self._store.get(incident))
        return incident
