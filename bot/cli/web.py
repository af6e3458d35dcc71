"""`waterline web`: pages, API and MCP server without the bot, over the same record and catalog."""

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

import typer
from rich.console import Console

from bot.bootstrap import records, restore_desk
from bot.bootstrap.content import CONTENT
from bot.cli.options import DEFAULT_CONFIG, ConfigOption
from bot.cli.trust import trust_desk
from bot.service.alerts import AlertDesk
from bot.service.restoring import RestoreDesk
from bot.service.trust import TrustDesk
from bot.settings import AlertSecrets, Settings, WebSecrets, WebSettings, refuse_open_house
from bot.web.access import Access
from bot.web.alerts import AlertRoutes
from bot.web.app import serving, web_app
from bot.web.pages import Names
from bot.web.probes import Check

app = typer.Typer(add_completion=False)


@app.command()
def web(config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Serve the pages, the API and the MCP server until you stop it.

    They only read. `waterline serve` serves them too, if `web` is set in the configuration.
    """
    settings = Settings.load(config)
    stopping = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        stopping.set()

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, stop)
    web_settings = settings.web or WebSettings()
    with (
        trust_desk(settings) as desk,
        restore_desk(settings) as restores,
        serving_pages(web_settings, desk, restores, lambda _users: {}) as address,
    ):
        Console(stderr=True).print(f"Pages, API and MCP server: {address}", highlight=False)
        stopping.wait()


@contextmanager
def serving_pages(
    settings: WebSettings,
    desk: TrustDesk,
    restores: RestoreDesk,
    names: Names,
    alerts: AlertDesk | None = None,
    checks: Mapping[str, Check] | None = None,
) -> Iterator[str]:
    """The address at which all of it is served. `checks`: what else has to work for it to be ready. Raises
    BadConfiguration if anybody could read it."""
    token = WebSecrets().waterline_web_token
    refuse_open_house(settings, token)
    access = Access(settings, token.get_secret_value() if token is not None else None)
    content = CONTENT / "messages" / "record"
    app = web_app(desk, restores, records(desk.setups), content, access, names, _alert_routes(alerts), checks)
    with serving(app, settings.host, settings.port) as address:
        yield address


def _alert_routes(desk: AlertDesk | None) -> AlertRoutes | None:
    """Where alerts are told; None where nobody could be told of them."""
    if desk is None:
        return None
    known = AlertSecrets()
    token, secret = known.waterline_alert_token, known.waterline_pagerduty_secret
    return AlertRoutes(
        desk,
        token=token.get_secret_value() if token is not None else None,
        pagerduty_secret=secret.get_secret_value() if secret is not None else None,
    )
