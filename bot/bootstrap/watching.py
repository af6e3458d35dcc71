"""Adds the watch and the memory of alerts to the services, as the settings say."""

from collections.abc import Mapping
from dataclasses import replace

import structlog

from bot.adapters.journal_sql.store import Store
from bot.diagnosis._support.examine import ModeModule
from bot.observation.ids import TableName
from bot.service.services import Services
from bot.service.trust import TrustService
from bot.service.watching.check import TableMonitor, WatchTerms
from bot.service.watching.finding_store import FindingStore, WatchFindings
from bot.service.watching.watch import Watch
from bot.settings import Settings

log = structlog.get_logger(__name__)


def with_watch(services: Services, settings: Settings, store: Store, modes: Mapping[str, ModeModule]) -> Services:
    """The same where nothing is configured; nothing is looked at before `Watch.start`."""
    watch = settings.watch
    if watch is None:
        return services
    terms = WatchTerms(
        poll_interval=watch.poll_interval, evidence_interval=watch.evidence_interval, grace_period=watch.grace_period
    )
    channels = channels_of(settings)
    finding_store = FindingStore(store.watched, store.outbox, services.store, services.clock, channels, watch.notify)
    monitor = TableMonitor(services.observer, services.examiner, modes, services.clock, terms)
    is_leader = store.presence.is_leader
    followed = tuple(table for table in channels if settings.tables[table].watch)
    made = Watch(monitor, finding_store, services.store, services.clock, is_leader, terms, followed)
    trust = TrustService(
        services.store,
        services.observer,
        services.clock,
        findings=findings_of(settings, store),
        is_marked=settings.catalog.mark != "none",
        deadlines=made.deadline,
    )
    return replace(services, finding_store=finding_store, watch=made, trust=trust)


def findings_of(settings: Settings, store: Store) -> WatchFindings | None:
    """What the watch of these settings keeps, also for processes that do not watch; None where there is no watch."""
    if settings.watch is None:
        return None
    return WatchFindings(store.watched, [TableName(name) for name, table in settings.tables.items() if table.watch])


def channels_of(settings: Settings) -> dict[TableName, str]:
    """Table -> where it is told. One that has no channel can be told nowhere, which is said."""
    otherwise = settings.watch.channel if settings.watch is not None else None
    told = {name: table.channel or otherwise for name, table in settings.tables.items()}
    for name in (name for name, channel in told.items() if channel is None):
        log.warning("table is not watched: neither it nor the watch has a channel", table=name)
    return {name: channel for name, channel in told.items() if channel is not None}
