"""The incident's own channel is archived, or the bot was removed: whom to tell, once each time, and when it is back."""

from collections.abc import Sequence

import structlog

from bot.domain.entries import Body, RoomLost, RoomReturned
from bot.domain.errors import CouldNotLook
from bot.domain.execution import UNDECIDED
from bot.domain.ids import IncidentId, UserId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.ports import Directory
from bot.service.incident_store import IncidentStore

log = structlog.get_logger(__name__)


class Rooms:
    """Notes in the record what Slack says of the channel."""

    def __init__(self, store: IncidentStore, directory: Directory) -> None:
        self._store = store
        self._directory = directory

    def is_owed(self, incident_id: IncidentId, channel: str) -> bool:
        """Whether messages of this incident to this channel wait for it: its own, while the incident is open."""
        incident = self._store.get(incident_id)
        return incident.is_open and incident.opened.channel == channel

    def is_lost(self, channel: str) -> bool:
        """Whether Slack refused this channel when it was last asked."""
        lost = (incident.room_lost for incident in self._store.all() if incident.is_open)
        return any(each is not None and each.channel == channel for each in lost)

    def lost(self, incident_id: IncidentId, channel: str, problem: str) -> None:
        """Slack refuses the channel. Noted once until it is back."""
        told = self._people(self._store.get(incident_id))

        def decide(incident: Incident) -> list[Body]:
            if incident.room_lost is not None or not incident.is_open:
                return []
            return [RoomLost(channel=channel, problem=problem, told=tuple(told))]

        self._store.write(incident_id, by=WATERLINE, decide=decide)

    def returned(self, incident_id: IncidentId, channel: str) -> None:
        """Slack has taken a message to the channel."""

        def decide(incident: Incident) -> list[Body]:
            return [RoomReturned(channel=channel)] if incident.room_lost is not None else []

        self._store.write(incident_id, by=WATERLINE, decide=decide)

    def _people(self, incident: Incident) -> Sequence[UserId]:
        """The responder (who opened it, where nobody took it), and who may decide about what waits. Of a private
        incident only the responder: who else was invited cannot be read any more."""
        first = incident.responder or UserId(incident.opened_by)
        told = [] if first == WATERLINE else [first]
        if incident.is_private:
            return told
        for view in incident.proposals.values():
            if view.state in UNDECIDED:
                policy = view.proposal.policy
                told += [user for people in policy.approvers for user in people.users]
                told += self._members(policy.all_groups)
        return tuple(dict.fromkeys(told))

    def _members(self, groups: Sequence[str]) -> Sequence[UserId]:
        try:
            return sorted(self._directory.members(groups)) if groups else ()
        except CouldNotLook as error:
            log.warning("approvers not known", problem=str(error))
            return ()
