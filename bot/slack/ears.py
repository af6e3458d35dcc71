"""Which messages are for us, and what is made of them: those of the channels that are configured, and mentions."""

from typing import Any

import structlog
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.domain.errors import CouldNotLook
from bot.service.hearing import Hearing, Said
from bot.service.services import Services
from bot.slack.heard import EVENTS, Heard, heard_in
from bot.slack.names import NamesInSlack
from bot.slack.rooms import SlackRooms

log = structlog.get_logger(__name__)
_NOT_WATCHED = (
    "Tables are not watched here, so I take no word about them. Expected the section `watch` in my configuration. "
    "`/waterline open TABLE` opens an incident, and `/waterline help` says what else I do."
)


class Ears:
    """Listens. Of what people say to each other nothing is kept."""

    def __init__(self, client: WebClient, services: Services) -> None:
        self._client = client
        self._hearing = services.hearing
        self._rooms = SlackRooms(client)
        self._names = NamesInSlack(client)

    def is_for_us(self, body: dict[str, Any]) -> bool:
        """Asked before a delivery is stored. True for everything but messages that do not concern us."""
        if (body.get("event") or {}).get("type") not in EVENTS:
            return True
        heard = heard_in(body)
        if heard is None:
            return False
        return heard.is_asked or (self._hearing is not None and self._hearing.concerns(heard.channel, heard.text))

    def take(self, heard: Heard) -> str | None:
        """A finding for each table that is named; a sentence for who asked."""
        if self._hearing is None:
            return _NOT_WATCHED
        told = self._hearing.take(self._said(heard, self._hearing))
        return told if heard.user else None

    def _said(self, heard: Heard, hearing: Hearing) -> Said:
        is_quoted = heard.channel in {*hearing.rooms, *hearing.channels_for(heard.text)} or self._is_public(heard)
        return Said(
            room=heard.channel,
            ts=heard.ts,
            root=heard.root,
            at=heard.at,
            by=heard.bot or self._names.of([heard.user]).get(heard.user, heard.user),
            user=heard.user or None,
            is_asked=heard.is_asked,
            text=heard.text,
            link=self._link(heard),
            is_quoted=is_quoted,
        )

    def _is_public(self, heard: Heard) -> bool:
        try:
            return not self._rooms.is_private(heard.channel)
        except CouldNotLook as error:
            log.warning("not known whether a channel is private", channel=heard.channel, problem=str(error))
            return False

    def _link(self, heard: Heard) -> str | None:
        try:
            found = self._client.chat_getPermalink(channel=heard.channel, message_ts=heard.ts).get("permalink")
        except (SlackApiError, SlackClientError, OSError) as error:
            log.info("no link to a message", channel=heard.channel, problem=str(error))
            return None
        return str(found) if found else None
