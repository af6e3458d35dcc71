"""Opens the incident that a grave alert asks for, where the settings say so: once an alert, for one person."""

import threading
from collections.abc import Callable, Collection

import structlog

from bot.domain.errors import WaterlineError
from bot.domain.ids import IncidentId, Severity, TableName, UserId
from bot.domain.journal import WATERLINE
from bot.domain.watch import ALERT, Sighted
from bot.service.background import AloneWith
from bot.service.incident_store import IncidentStore
from bot.service.opening import Opening
from bot.service.sightings import Sightings

log = structlog.get_logger(__name__)
_WORK = "alert-opening"
_OTHERWISE = "job-restarted"


class AlertOpening:
    """After each look at a table. What people write in channels opens nothing, nor what is muted or waits for the end
    of quiet hours; what cannot be opened now is tried at the next look.

    None is opened in a channel that has an open incident: what people type there is meant for that one. Nor is a
    second one by the same alert, which may name several tables. There the alert's message keeps its button.

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
        alone_with: AloneWith,
    ) -> None:
        """`then` begins with what an incident that was just opened is owed."""
        self._opening = opening
        self._store = store
        self._sightings = sightings
        self._severities = frozenset(severities)
        self._responder = responder
        self._then = then
        self._alone_with = alone_with
        self._deciding = threading.Lock()

    def open_if_asked(self, table: TableName) -> IncidentId | None:
        """The incident that was opened; None: no alert asks for one, another table is just being decided on, or it
        could not be opened, which is logged.

        An alert that any incident has looked into since it came opens none, also when that one has ended. To be called
        by one replica at a time for each table.
        """
        asking = [sighted for sighted in self._sightings.memory(table).lasting if self._asks(sighted)]
        if not asking:
            return None
        with self._deciding, self._alone_with(_WORK) as is_mine:
            return self._first(asking) if is_mine else None

    def _first(self, asking: Collection[Sighted]) -> IncidentId | None:
        for sighted in asking:
            if not self._is_looked_into(sighted):
                try:
                    return self._open(sighted)
                except WaterlineError as error:
                    name, problem = sighted.sign.name, str(error)
                    log.warning("incident not opened by alert", table=sighted.table, name=name, problem=problem)
        return None

    def _is_looked_into(self, sighted: Sighted) -> bool:
        """Whether people look at something in its channel, or have looked at another table since the alert named it."""
        if any(each.is_open and each.opened.channel == sighted.channel for each in self._store.all()):
            return True
        others = (table for table in self._sightings.tables if table != sighted.table)
        told = (each for table in others for each in self._sightings.memory(table).lasting)
        same = (each for each in told if (each.sign.code, each.sign.subject) == (ALERT, sighted.sign.subject))
        return any(self._has_incident_since(each) for each in same)

    def _has_incident_since(self, sighted: Sighted) -> bool:
        sight = self._sightings.sight(sighted.id)
        return sight is not None and sight.incident is not None and sight.incident.opened_at >= sighted.at

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
