"""Which messages are for us, and what is made of them: those of the channels that are configured, and mentions."""

from functools import cached_property
from typing import Any

import structlog
from slack_sdk import WebClient

from bot.domain.errors import CouldNotLook
from bot.service.hearing import Said
from bot.service.services import Services
from bot.slack.heard import EVENTS, Heard, heard_in
from bot.slack.names import NamesInSlack
from bot.slack.privacy import is_private
from bot.slack.unreachable import UNREACHABLE

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
        said = Said(
            room=heard.channel,
            ts=heard.ts,
            root=heard.root,
            at=heard.at,
            bot=heard.bot,
            is_asked=heard.is_asked,
            text=heard.text,
        )
        told = self._hearing.take(said, _Asked(heard, self._client, self._names))
        return told if heard.user else None


class _Asked:
    """What Slack says of one message: asked when it is wanted, and once, however many tables it is told of."""

    def __init__(self, heard: Heard, client: WebClient, names: NamesInSlack) -> None:
        self._heard = heard
        self._client = client
        self._names = names

    @cached_property
    def by(self) -> str:
        """The name that they go by."""
        heard = self._heard
        return heard.bot or self._names.of([heard.user]).get(heard.user, heard.user)

    @cached_property
    def is_public(self) -> bool:
        """False for a direct message, too."""
        try:
            return not is_private(self._heard.channel, self._client)
        except CouldNotLook as error:
            log.warning("not known whether a channel is private", channel=self._heard.channel, problem=str(error))
            return False

    @cached_property
    def link(self) -> str | None:
        """To the message in its channel."""
        heard = self._heard
        try:
            found = self._client.chat_getPermalink(channel=heard.channel, message_ts=heard.ts).get("permalink")
        except UNREACHABLE as error:
            log.info("no link to a message", channel=heard.channel, problem=str(error))
            return None
        return str(found) if found else None
