"""Builds what brings notices by other ways than Slack, as the settings say."""

from collections.abc import Iterable
from contextlib import ExitStack

from bot.adapters.http import Logins
from bot.adapters.notify import NoticeFiles, Smtp, Webhook, secrets_in
from bot.bootstrap import Built
from bot.bootstrap.watching import findings_of
from bot.incident.setup import TableSetup
from bot.observation.errors import BadConfiguration
from bot.observation.readers import Consumer
from bot.ports import Transport
from bot.service.background import Background
from bot.service.diagnosing import OtherDoubts
from bot.service.notices.dispatcher import NotificationDispatcher
from bot.settings import NoticeSecrets, Settings

_LOOK_EVERY_S = 5.0
"""What another process has queued, and what is to be tried again, is found within this time."""


def bring_notices(settings: Settings, built: Built, stack: ExitStack) -> None:
    """Begins to bring notices, until the stack is closed. Raises BadConfiguration."""
    services = built.services
    refuse_missing_ways(settings, services.observer.tables.values())
    others = OtherDoubts(services.store, findings_of(settings, built.store))
    background = Background(services.store, built.store.presence.is_leader, workers=4)
    stack.callback(background.close)
    consumers = (each for table in services.observer.tables.values() for each in table.consumers)
    ways = carriers(settings, consumers)
    dispatcher = NotificationDispatcher(services.store, ways, services.clock, background, others)
    services.store.on_change(dispatcher.look)
    built.timers.every("notices", _LOOK_EVERY_S, dispatcher.look_at_all)
    dispatcher.look_at_all()


def carriers(settings: Settings, consumers: Iterable[Consumer]) -> dict[str, Transport]:
    """Each way that is set up, to these. Raises BadConfiguration."""
    secrets = NoticeSecrets()
    found: dict[str, Transport] = {"file": NoticeFiles()}
    smtp = settings.notices.smtp
    if smtp is not None:
        found["email"] = Smtp(smtp, _password_of(smtp.user, secrets))
    if secrets.waterline_webhook_secret is not None:
        keys = secrets_in(secrets.waterline_webhook_secret.get_secret_value())
        found["webhook"] = Webhook(keys, Consumer.hooks_of(consumers), logins=Logins(settings.logins))
    return found


def refuse_missing_ways(settings: Settings, setups: Iterable[TableSetup]) -> None:
    """Raises BadConfiguration for a consumer whose way is not set up: it would be told of at the worst moment."""
    has_webhook = NoticeSecrets().waterline_webhook_secret is not None
    for setup in setups:
        for consumer in setup.consumers:
            if consumer.email and settings.notices.smtp is None:
                raise BadConfiguration(
                    f"tables.{setup.name}.consumers: {consumer.name} has an e-mail address but no mail server.",
                    "Expected `notices.smtp`; found nothing.",
                    "Set it up, or name another way for this consumer.",
                )
            if consumer.webhook and not has_webhook:
                raise BadConfiguration(
                    f"tables.{setup.name}.consumers: {consumer.name} has a webhook, and nothing signs what it gets.",
                    "Expected WATERLINE_WEBHOOK_SECRET in the environment; found it not set.",
                    "Make one (echo whsec_$(openssl rand -base64 32)) and give it to the receiver, too.",
                )


def _password_of(user: str | None, secrets: NoticeSecrets) -> str:
    if user is None:
        return ""
    if secrets.waterline_smtp_password is None:
        raise BadConfiguration(
            "The mail server cannot be logged in to.",
            f"Expected WATERLINE_SMTP_PASSWORD in the environment, for {user}; found it not set.",
            "Set it where the bot is started, or name a file with it (…_FILE).",
        )
    return secrets.waterline_smtp_password.get_secret_value()
