"""`waterline serve`: the bot in a real workspace, by Socket Mode or HTTP."""

import logging
import math
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import ExitStack, closing, contextmanager, nullcontext
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import structlog
import typer
from slack_sdk import WebClient
from starlette.applications import Starlette
from structlog.typing import Processor

from bot.adapters.journal_sql.store import Store, record_of
from bot.cli.options import DEFAULT_CONFIG, ConfigOption, asked_to_stop, exit_code_after
from bot.observation.errors import WaterlineError
from bot.observation.masking import Masking
from bot.pinned_jars import MachineError
from bot.ports import Clock, Timers
from bot.settings import Settings, SlackSecrets, masking
from bot.slack.app import check_identity
from bot.slack.gateway import SlackGateway
from bot.web.serving import Address, address_of, not_ready

if TYPE_CHECKING:
    from bot.bootstrap import Built
    from bot.bootstrap.outside import Outside

_SETTLE_EVERY_S = 20.0
_DUE_EVERY_S = 5.0
"""A reminder, an expiry or the end of a veto window comes at most so late."""
_CATCH_UP_EVERY_S = 2.0
"""A decision in a terminal is shown in Slack within this time."""
_VERIFY_AFTER = timedelta(seconds=30)
_VERIFY_EVERY_S = 3600.0
_NAMES_WITHIN_S = 2
"""How long a page waits for Slack: pages are needed most while Slack is away."""
_SWITCH_S = 0.0005
"""How long one thread may run while others wait. An acknowledgement hands over several times (socket, disk, socket);
with Python's 5 ms each it waits longer than it works."""


class Logs(StrEnum):
    """For people, or for what collects logs."""

    TEXT = "text"
    JSON = "json"


def serve(
    config: ConfigOption = DEFAULT_CONFIG,
    warm: Annotated[
        bool, typer.Option(help="Start Spark now, so that the first evidence does not wait for it.")
    ] = True,
    logs: Annotated[
        Logs, typer.Option(envvar="WATERLINE_LOGS", help="Lines of the log: text, or JSON with one object each.")
    ] = Logs.TEXT,
) -> None:
    """Run the bot until you stop it. It reads its tokens from the environment (SLACK_BOT_TOKEN, …)."""
    log_to_stderr(Masking(), logs)
    with _failing_in_one_line() if logs is Logs.JSON else nullcontext():
        _serve(config, warm, logs)


def _serve(config: Path, warm: bool, logs: Logs) -> None:
    settings = Settings.load(config)
    secrets = SlackSecrets.for_mode(settings.slack.mode)
    log_to_stderr(masking(settings), logs)
    sys.setswitchinterval(_SWITCH_S)
    stopping = asked_to_stop()
    with ExitStack() as stack:
        from bot.bootstrap.tracing import send_spans

        send_spans(stack)
        address = stack.enter_context(closing(address_of(settings.web)))
        name, built = stack.enter_context(running(settings, secrets, stopping, address=address))
        if warm:
            threading.Thread(target=_warm, args=(built,), daemon=True).start()
        structlog.get_logger(__name__).info(f"Waterline is here as @{name} ({settings.slack.mode}).")
        stopping.wait()


@contextmanager
def _failing_in_one_line() -> Iterator[None]:
    """Whatever ends the bot is an entry of its log: what collects JSON cannot read sentences or tracebacks."""
    log = structlog.get_logger(__name__)
    sys.excepthook = lambda *error: log.critical("Waterline has ended: an unforeseen error.", exc_info=error)
    try:
        yield
    except (WaterlineError, MachineError) as error:
        remedy = error.remedy if isinstance(error, WaterlineError) else error.next_step
        log.critical(error.happened, found=error.found, remedy=remedy)
        raise typer.Exit(exit_code_after(error)) from None


@contextmanager
def running(
    settings: Settings,
    secrets: SlackSecrets,
    stopping: threading.Event,
    *,
    address: Address | None = None,
    outside: Callable[[Settings, Clock, ExitStack], "Outside"] | None = None,
    clock: Clock | None = None,
) -> Iterator[tuple[str, "Built"]]:
    """The whole bot, by the name that it has in Slack, until the block ends. `address`: where pages and probes answer.

    `outside`: other ports than the settings'. `clock`: another than the machine's. Raises BadConfiguration."""
    assert secrets.slack_bot_token is not None
    if address is not None:
        address.shows(not_ready("Waterline is starting."))
    client = WebClient(token=secrets.slack_bot_token.get_secret_value(), base_url=settings.slack.base_url)
    name = check_identity(client, lambda what: f"Check {what}. `waterline doctor` checks everything.")
    with ExitStack() as stack:
        standing_by = stack.enter_context(ExitStack())
        door, store = _opened(settings, secrets, client, stack, stopping, clock, address, standing_by)

        # Behind the door: all that is not needed for taking deliveries takes longer to import than the door to open.
        from bot.bootstrap import build
        from bot.bootstrap.outside import outside_of
        from bot.bootstrap.ways import bring_notices
        from bot.slack.directory import SlackDirectory
        from bot.slack.surface import SlackSurface

        made = build(
            settings, SlackDirectory(client, settings.slack.team_id), record=store, outside=outside or outside_of
        )
        built = stack.enter_context(made)
        surface = SlackSurface(
            client,
            door=door,
            services=built.services,
            inbox=store.inbox,
            outbox=store.outbox,
            cursor=store.cursor,
            min_message_interval=settings.slack.min_message_interval,
            team_id=settings.slack.team_id,
        )
        bring_notices(settings, built, stack)
        surface.start()
        stack.callback(surface.close)
        built.timers.every("catch up", _CATCH_UP_EVERY_S, surface.catch_up)
        built.timers.every("due", _DUE_EVERY_S, built.services.reconciler.reconcile_due)
        built.timers.every("settle", _SETTLE_EVERY_S, built.services.reconciler.reconcile_all)
        if built.services.watch is not None:
            built.services.watch.start(built.timers)
        if address is not None:
            address.shows(_served(settings, client, built, door, store))
            stack.callback(address.shows, not_ready("Waterline is ending."))
            served = "Pages, API and MCP server" if settings.web.pages else "Probes"
            structlog.get_logger(__name__).info(f"{served}: {address.url}")
        standing_by.close()
        yield name, built


def _served(settings: Settings, client: WebClient, built: "Built", door: SlackGateway, store: Store) -> Starlette:
    """Pages and probes of the bot that works."""
    services, checks = built.services, {"slack": door.trouble}
    if not settings.web.pages:
        from bot.web.probes import health

        return Starlette(routes=health(services.trust, checks))

    from bot.cli.web import pages_of
    from bot.service.alerts import AlertService
    from bot.service.restoring import RestoreService
    from bot.slack.directory import NamesInSlack
    from bot.web.probes import OfBot

    names = NamesInSlack(WebClient(client.token, base_url=client.base_url, timeout=_NAMES_WITHIN_S))
    alerts = (
        AlertService(services.finding_store, services.observer.tables, services.watch)
        if services.finding_store is not None
        else None
    )
    restores = RestoreService(services.observer, services.clock)
    bot = OfBot(_numbers(door, store, built.timers), [door.took])
    return pages_of(settings.web, services.trust, restores, names.of, alerts, checks, bot)


def _opened(
    settings: Settings,
    secrets: SlackSecrets,
    client: WebClient,
    stack: ExitStack,
    stopping: threading.Event,
    clock: Clock | None,
    address: Address | None,
    standing_by: ExitStack,
) -> tuple[SlackGateway, Store]:
    """The record, and the door to it: from here on every click of Slack is acknowledged and kept.

    While another replica works on the record, this one serves pages and probes, and keeps Slack's requests in the
    shared record, where the other one finds them. `standing_by` closes what is needed until it takes over."""
    store = stack.enter_context(record_of(settings, keep=True, machine=clock))
    secret = secrets.slack_signing_secret.get_secret_value() if secrets.slack_signing_secret else None
    is_http = settings.slack.mode == "http"
    door = SlackGateway(client, store.inbox, store.outbox, store.clock, signing_secret=secret if is_http else None)
    stack.callback(door.close)

    def stands_by() -> None:
        structlog.get_logger(__name__).info("standing by: another replica works on the record")
        if is_http:
            door.listen(settings.slack.host, settings.slack.port)
        if address is not None:
            from bot.cli.web import read_only

            address.shows(standing_by.enter_context(read_only(settings)))

    if not store.presence.take_over(stopping.wait, stands_by):  # a second bot on the same record takes nothing
        raise typer.Exit
    if is_http:
        door.listen(settings.slack.host, settings.slack.port)
    else:
        assert secrets.slack_app_token is not None
        door.connect(secrets.slack_app_token.get_secret_value(), settings.slack.base_url)
    return door, store


def _numbers(door: SlackGateway, store: Store, timers: Timers) -> dict[str, Callable[[], float]]:
    """What Prometheus is told of the bot itself; see `bot.web.probes.NUMBERS`. The journal is verified every hour."""
    verified: list[tuple[float, int]] = []

    def verify() -> None:
        faults = store.journal.verify()
        if faults:
            structlog.get_logger(__name__).error("the journal does not fit its hashes", incidents=len(faults))
        verified[:] = [(store.clock.now().timestamp(), len(faults))]

    def age(since: datetime | None) -> float:
        return 0.0 if since is None else (store.clock.now() - since).total_seconds()

    def pong_age() -> float:
        age_s = door.pong_age_s()
        return math.nan if age_s is None else age_s

    timers.at("verify first", store.clock.now() + _VERIFY_AFTER, verify)
    timers.every("verify", _VERIFY_EVERY_S, verify)
    return {
        "waterline_slack_connected": lambda: float(door.trouble() is None),
        "waterline_socket_pong_age_seconds": pong_age,
        "waterline_inbox_oldest_seconds": lambda: age(store.inbox.waits_since()),
        "waterline_outbox_oldest_seconds": lambda: age(store.outbox.waits_since()),
        "waterline_journal_verified_timestamp_seconds": lambda: verified[0][0] if verified else math.nan,
        "waterline_journal_faults": lambda: verified[0][1] if verified else math.nan,
    }


def _warm(built: "Built") -> None:
    """Spark answers its first real question three times slower than its second: let nobody wait for that."""
    services, log = built.services, structlog.get_logger(__name__)
    try:
        built.runner.warm()
        services.examiner.collect(services.opening.tables[0], "ledger")
    except WaterlineError as error:
        log.warning("spark is not warm", problem=str(error))
    else:
        log.info("spark is warm")


def log_to_stderr(masked: Masking, logs: Logs) -> None:
    """What Waterline and the libraries say, in one form and without secrets."""

    def without_secrets(_logger: object, _name: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
        return {key: masked.of(value) for key, value in event.items()}

    said: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    is_text = logs is Logs.TEXT
    written = structlog.dev.ConsoleRenderer(colors=False) if is_text else structlog.processors.JSONRenderer()
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*said, structlog.stdlib.ExtraAdder()],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, without_secrets, written],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    structlog.configure(
        processors=[*said, without_secrets, written],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
    )
