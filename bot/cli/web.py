"""`waterline web`: pages, API and MCP server without the bot, over the same record and catalog."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

import typer
from rich.console import Console
from starlette.applications import Starlette

from bot.bootstrap import records, restore_service
from bot.bootstrap.content import CONTENT
from bot.cli.options import DEFAULT_CONFIG, ConfigOption, asked_to_stop
from bot.cli.trust import trust_service
from bot.service.alerts import AlertService
from bot.service.restoring import RestoreService
from bot.service.trust import TrustService
from bot.settings import AlertSecrets, Settings, WebSecrets, WebSettings
from bot.web.access import Access
from bot.web.alerts import AlertRoutes
from bot.web.app import web_app
from bot.web.pages import Names
from bot.web.probes import NOT_OF_BOT, Check, OfBot, health
from bot.web.serving import address_of

app = typer.Typer(add_completion=False)


@app.command()
def web(config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Serve the pages, the API and the MCP server until you stop it.

    They only read. `waterline serve` serves them too, if `web` is set in the configuration.
    """
    settings = Settings.load(config)
    stopping = asked_to_stop()
    settings = settings.model_copy(update={"web": settings.web.model_copy(update={"pages": True})})
    with closing(address_of(settings.web)) as address, read_only(settings) as pages:
        address.shows(pages)
        Console(stderr=True).print(f"Pages, API and MCP server: {address.url}", highlight=False)
        stopping.wait()


@contextmanager
def read_only(settings: Settings) -> Iterator[Starlette]:
    """Pages and probes of a process that does not work on the record."""
    with trust_service(settings) as trusts:
        if not settings.web.pages:
            yield Starlette(routes=health(trusts, {}))
            return
        with restore_service(settings) as restores:
            yield pages_of(settings.web, trusts, restores, lambda _users: {})


def pages_of(
    settings: WebSettings,
    trusts: TrustService,
    restores: RestoreService,
    names: Names,
    alerts: AlertService | None = None,
    checks: Mapping[str, Check] | None = None,
    bot: OfBot = NOT_OF_BOT,
) -> Starlette:
    """All that is served. `checks`: what else has to work for it to be ready."""
    token = WebSecrets().waterline_web_token
    access = Access(settings, token.get_secret_value() if token is not None else None)
    content = CONTENT / "messages" / "record"
    return web_app(trusts, restores, records(trusts.setups), content, access, names, _alert_routes(alerts), checks, bot)


def _alert_routes(service: AlertService | None) -> AlertRoutes | None:
    """Where alerts are told; None where nobody could be told of them."""
    if service is None:
        return None
    known = AlertSecrets()
    token, secret = known.waterline_alert_token, known.waterline_pagerduty_secret
    return AlertRoutes(
        service,
        token=token.get_secret_value() if token is not None else None,
        pagerduty_secret=secret.get_secret_value() if secret is not None else None,
    )
