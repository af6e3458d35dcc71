"""Private incidents on Slack: each request, list and message passes here, so that only invited people see them."""

import time
from contextlib import suppress

import structlog

from bot.domain.errors import CouldNotLook, Refused, UnknownIncident
from bot.domain.ids import IncidentId, TableName, UserId
from bot.domain.incident import Incident
from bot.domain.privacy import may_see, unknown
from bot.ports import Post
from bot.service.incident_store import IncidentStore
from bot.slack.heard import Heard
from bot.slack.ids import Click, Form
from bot.slack.requests import Clicked, Command, HomeOpened, Request, Submitted
from bot.slack.rooms import SlackRooms

log = structlog.get_logger(__name__)
_ASKED_FOR = ("/notice/", "/page/")
"""Messages that go elsewhere because a responder sends them there."""
_REMEMBERED_S = 20.0
"""How long a channel's being private is believed before it is asked again; membership is always asked."""


class Privacy:
    """Who was invited is who is in the incident's channel now."""

    def __init__(self, store: IncidentStore, rooms: SlackRooms) -> None:
        self._store = store
        self._rooms = rooms
        self._seen: dict[str, tuple[float, bool]] = {}

    def sees(self, incident: Incident, user: UserId) -> bool:
        """Whether this person may know of it."""
        return may_see(incident, user, self._invited(incident.opened.channel) if incident.is_private else None)

    def visible(self, user: UserId) -> tuple[Incident, ...]:
        """Every incident that this person may know of, oldest first."""
        return tuple(incident for incident in self._store.all() if self.sees(incident, user))

    def hidden_tables(self, user: UserId) -> frozenset[TableName]:
        """Tables that are under review by an incident of which this person may not know: the table says so itself."""
        return frozenset(i.opened.table for i in self._store.all() if i.is_open and not self.sees(i, user))

    def check(self, request: Request) -> None:
        """Raises UnknownIncident, as for one that is not there, when the request names an incident that is hidden."""
        for incident in self._named(request):
            if _answers_a_notice(request, incident):
                continue
            if not self.sees(incident, request.user):
                log.warning("request for a private incident", incident=incident.id, user=request.user)
                raise unknown(incident.id)

    def check_room(self, channel: str) -> None:
        """Raises Refused unless a private incident can be opened in this channel."""
        if not self._rooms.is_private(channel):
            raise Refused(
                "A private incident cannot be opened here.",
                f"Expected a private channel; everyone in the workspace can read <#{channel}>.",
                "Nothing was opened. Make a private channel, invite the bot and whom you need, and open it there.",
            )

    def withheld(self, post: Post) -> str | None:
        """Why a private incident's message is not sent now: its channel is public, or Slack does not say."""
        if post.incident is None or any(kind in post.key for kind in _ASKED_FOR):
            return None
        incident = self._store.get(post.incident)
        if not incident.is_private:
            return None
        with suppress(CouldNotLook):
            if self._is_private(post.channel):
                return None
        why = f"{incident.id} is private, and its channel is not known to be private any more"
        if why not in (post.problem or ""):
            log.error("private incident withheld", incident=incident.id, channel=post.channel, key=post.key)
        return why

    def _is_private(self, channel: str) -> bool:
        asked_at, found = self._seen.get(channel, (float("-inf"), False))
        if time.monotonic() - asked_at > _REMEMBERED_S:
            found = self._rooms.is_private(channel)
            self._seen[channel] = (time.monotonic(), found)
        return found

    def _invited(self, channel: str) -> frozenset[UserId] | None:
        try:
            return self._rooms.members(channel)
        except CouldNotLook as error:
            log.warning("members not readable", channel=channel, problem=str(error))
            return None

    def _named(self, request: Request) -> list[Incident]:
        match request:
            case Command():
                return [i for i in self._store.all() if i.is_open and i.opened.channel == request.channel]
            case Clicked():
                named = request.parts[0]
            case Submitted():
                named = request.about.split("/")[0]
            case HomeOpened() | Heard():
                return []
        try:
            return [self._store.get(IncidentId(named))]
        except UnknownIncident:
            return []


def _answers_a_notice(request: Request, incident: Incident) -> bool:
    """Whoever was told of a private incident, because a responder asked for it, may answer: where they were told."""
    match request:
        case Clicked(action=Click.ACKNOWLEDGE | Click.RE_RAN | Click.HELP):
            seq, channel = request.parts[1], request.channel
        case Submitted(form=Form.HELP):
            seq, channel = request.about.split("/")[1], request.about.split("/")[-1]
        case _:
            return False
    return any(str(view.seq) == seq and view.notice.channel == channel for view in incident.notices.values())
