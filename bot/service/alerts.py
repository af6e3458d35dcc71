"""Alerts of other systems: told as findings about the table that they name, once, and noted when they are over."""

import re
from collections.abc import Iterable, Mapping

import structlog

from bot.incident.setup import TableSetup
from bot.incident.watch import ALERT, ReportedFinding, WatchFinding
from bot.observation.ids import Severity, TableName
from bot.observation.record import Record, Utc
from bot.service.watching.finding_store import FindingStore
from bot.service.watching.watch import Watch

log = structlog.get_logger(__name__)
MOST_TABLES = 3
"""What names more is a list, and no word about a table."""
_SHOWN = 4


class Alert(Record):
    source: str
    """`Alertmanager`, `PagerDuty`."""
    fingerprint: str
    """The same for the same thing, firing or resolved."""
    started_at: Utc
    """When it began; of a resolved one, up to when what began is over."""
    is_resolved: bool
    title: str
    details: tuple[str, ...]
    """Sentences, as the source has them."""
    names: tuple[str, ...]
    """Texts in which a table or its job may be named."""
    severity: Severity
    runbook: str | None
    link: str | None


class PassedOver(Record):
    fingerprint: str
    why: str


class Taken(Record):
    new: int
    """New findings, each a message: one for each table that an alert concerns."""
    resolved: int
    """Findings that are over."""
    known: int
    """Findings that were known before, and go on."""
    passed_over: tuple[PassedOver, ...] = ()


class AlertService:
    """Takes alerts. Taking one twice is taking it once."""

    def __init__(
        self, finding_store: FindingStore, setups: Mapping[TableName, TableSetup], watch: Watch | None
    ) -> None:
        self._finding_store = finding_store
        self._can_be_told = [setups[table] for table in finding_store.tables if table in setups]
        self._watch = watch

    def take(self, alerts: Iterable[Alert]) -> Taken:
        """Each by itself, of each table that it concerns; the table is then looked at soon, so that what the watch
        sees comes beside it. What nothing comes of is logged, too: few senders read the answer."""
        fresh = resolved = known = 0
        passed_over: list[PassedOver] = []
        lasting: list[ReportedFinding] | None = None
        for alert in sorted(alerts, key=lambda each: each.is_resolved):
            named = tables_named(alert.names, self._can_be_told)
            ended = 0
            if alert.is_resolved:
                lasting = self._lasting() if lasting is None else lasting
                ended = self._resolve(alert, lasting)
            resolved += ended
            if not ended and not 0 < len(named) <= MOST_TABLES:
                passed_over.append(PassedOver(fingerprint=alert.fingerprint, why=_why_not(named)))
                log.warning("alert passed over", source=alert.source, title=alert.title, why=_why_not(named))
            elif not alert.is_resolved:
                new = sum(self._tell(table, alert) for table in named)
                fresh, known = fresh + new, known + len(named) - new
        return Taken(new=fresh, resolved=resolved, known=known, passed_over=tuple(passed_over))

    def _tell(self, table: TableName, alert: Alert) -> bool:
        """As a finding about this table; False if it was told before."""
        if not self._finding_store.see(table, _sign(alert), occasion=alert.started_at.isoformat()):
            return False
        self._finding_store.post_due(table)
        if self._watch is not None:
            self._watch.look_soon(table)
        return True

    def _lasting(self) -> list[ReportedFinding]:
        """Of every table: what a resolved alert names may have changed since it was told. Cost: one query a table."""
        return [each for table in self._finding_store.tables for each in self._finding_store.memory(table).lasting]

    def _resolve(self, alert: Alert, lasting: Iterable[ReportedFinding]) -> int:
        over = [each for each in lasting if _ends(alert, each.finding)]
        for reported in over:
            self._finding_store.end(reported, f"{alert.source} reports it as resolved.")
        return len(over)


def tables_named(texts: Iterable[str], setups: Iterable[TableSetup]) -> tuple[TableName, ...]:
    """Those of these tables that are named there; where none is, those whose job is. Of `eu.sales.orders` and
    `sales.orders` the longer one, where both fit."""
    words, known = tuple(texts), tuple(setups)
    by_name = [setup.name for setup in known if _names(words, setup.name)]
    found = [name for name in by_name if not any(longer.endswith(f".{name}") for longer in by_name)]
    jobs = (setup for setup in known if setup.job is not None and _names(words, setup.job))
    return tuple(found) or tuple(setup.name for setup in jobs)


def _names(texts: Iterable[str], name: str) -> bool:
    """Whether the name stands by itself in a text; before a table's name may stand the catalog's."""
    within = [text for text in texts if name in text]
    if not within:
        return False
    word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-]|\.\w)")
    return any(word.search(text) for text in within)


def _why_not(named: tuple[TableName, ...]) -> str:
    if named:
        return (
            f"It concerns {len(named)} watched tables: {', '.join(named)}. Expected at most {MOST_TABLES}. Add a label "
            "with the table's name."
        )
    return "It names no watched table and no job of one. Add a label with the table's name, such as table=sales.orders."


def _subject(alert: Alert) -> str:
    return f"{alert.source}/{alert.fingerprint}"


def _ends(resolved: Alert, finding: WatchFinding) -> bool:
    """Whether this is what it tells of, and began no later: a word that comes late says nothing of what fires since."""
    is_before = finding.started_at is None or finding.started_at <= resolved.started_at
    return finding.subject == _subject(resolved) and is_before


def _sign(alert: Alert) -> WatchFinding:
    return WatchFinding(
        code=ALERT,
        subject=_subject(alert),
        headline=alert.title,
        reasons=alert.details[:_SHOWN],
        advice="open an incident if consumers are affected",
        severity=alert.severity,
        runbook=alert.runbook,
        is_urgent=alert.severity == "sev1",
        source=alert.source,
        link=alert.link,
        started_at=alert.started_at,
    )
