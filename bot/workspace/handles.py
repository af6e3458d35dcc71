"""The short-lived handles that an interaction gives to an app: a trigger to open a modal, a URL to answer at."""

import secrets

from pydantic import BaseModel, ConfigDict

from bot.workspace.clock import WorkspaceClock
from bot.workspace.refusal import SlackRefusal, UnusableUrl
from bot.workspace.rules import Rules


class Trigger(BaseModel):
    """Whose interaction it was and when; good for one modal."""

    model_config = ConfigDict(frozen=True)

    person: str
    issued_s: float
    used: bool = False


class AnswerUrl(BaseModel):
    """Where a response_url leads: the conversation, the person, and the message it came from."""

    model_config = ConfigDict(frozen=True)

    person: str
    channel: str
    issued_s: float
    message_ts: str | None = None
    uses: int = 0


class Handles:
    """Issues and redeems triggers and response URLs."""

    def __init__(self, clock: WorkspaceClock, team_id: str) -> None:
        self._clock = clock
        self._team = team_id
        self._triggers: dict[str, Trigger] = {}
        self._urls: dict[str, AnswerUrl] = {}

    def new_trigger(self, person: str) -> str:
        """A trigger_id for an interaction of that person."""
        issued = self._clock.seconds()
        trigger_id = f"{int(issued * 1000)}.{self._team}.{secrets.token_hex(16)}"
        self._triggers[trigger_id] = Trigger(person=person, issued_s=issued)
        return trigger_id

    def redeem_trigger(self, trigger_id: str, rules: Rules) -> str:
        """Whose trigger it is; refuses one that is unknown, used or too old."""
        trigger = self._triggers.get(trigger_id)
        if trigger is None:
            raise SlackRefusal("invalid_trigger_id")
        if trigger.used:
            raise SlackRefusal("exchanged_trigger_id")
        if self._clock.seconds() - trigger.issued_s > rules.trigger_s:
            raise SlackRefusal("expired_trigger_id")
        self._triggers[trigger_id] = trigger.model_copy(update={"used": True})
        return trigger.person

    def new_url(self, person: str, channel: str, message_ts: str | None = None) -> str:
        """The token of a new response_url."""
        token = secrets.token_urlsafe(18)
        self._urls[token] = AnswerUrl(
            person=person, channel=channel, issued_s=self._clock.seconds(), message_ts=message_ts
        )
        return token

    def redeem_url(self, token: str, rules: Rules) -> AnswerUrl:
        """Where that response_url leads; counts one use, raises UnusableUrl when there is none left."""
        url = self._urls.get(token)
        if url is None:
            raise UnusableUrl("invalid_url")
        if self._clock.seconds() - url.issued_s > rules.response_url_s:
            raise UnusableUrl("expired_url")
        if url.uses >= rules.response_url_uses:
            raise UnusableUrl("used_url")
        self._urls[token] = url.model_copy(update={"uses": url.uses + 1})
        return url
