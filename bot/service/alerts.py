"""Alerts of other systems: told as findings about the table that they name, once, and noted when they are over."""

import re
from collections.abc import Iterable, Mapping

from bot.domain.ids import Severity, TableName
from bot.domain.record import Record, Utc
from bot.domain.setup import TableSetup
from bot.domain.watch import Sign
from bot.service.sightings import Sightings
from bot.service.watching import Watch

ALERT = "alert"
"""Code of every alert; what it is about is said by its words."""
_OTHERWISE = "job-restarted"
_SHOWN = 4


class Alert(Record):
    """One alert, whoever told it."""

    source: str
    """`Alertmanager`, `PagerDuty`."""
    fingerprint: str
    """The same for the same thing, firing or resolved."""
    started_at: Utc
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
    """An alert that nothing came of."""

    fingerprint: str
    why: str


class Taken(Record):
    """What came of some alerts."""

    told: int
    """New ones, each a message."""
    resolved: int
    known: int
    """Those that had been told before, and go on."""
    passed_over: tuple[PassedOver, ...] = ()


class AlertDesk:
    """Takes alerts. Taking one twice is taking it once."""

    def __init__(self, sightings: Sightings, setups: Mapping[TableName, TableSetup], watch: Watch | None) -> None:
        self._sightings = sightings
        self._setups = setups
        self._watch = watch

    def take(self, alerts: Iterable[Alert]) -> Taken:
        """Each by itself; the table is then looked at soon, so that what the watch sees comes beside it."""
        told = resolved = known = 0
        passed_over: list[PassedOver] = []
        for alert in alerts:
            named = self._tables(alert)
            if len(named) != 1:
                passed_over.append(PassedOver(fingerprint=alert.fingerprint, why=_why_not(named)))
            elif alert.is_resolved:
                resolved += self._resolve(named[0], alert)
            elif self._sightings.see(named[0], _sign(alert), occasion=alert.started_at.isoformat()):
                told += 1
                self._sightings.settle(named[0])
                if self._watch is not None:
                    self._watch.look_soon(named[0])
            else:
                known += 1
        return Taken(told=told, resolved=resolved, known=known, passed_over=tuple(passed_over))

    def _resolve(self, table: TableName, alert: Alert) -> int:
        sign = _sign(alert)
        lasting = [s for s in self._sightings.memory(table).lasting if s.sign.subject == sign.subject]
        for sighted in lasting:
            self._sightings.end(sighted, f"{alert.source} says that it is resolved.")
        return len(lasting)

    def _tables(self, alert: Alert) -> list[TableName]:
        """Those that are named; where none is, those whose job is."""
        can_be_told = [self._setups[table] for table in self._sightings.tables if table in self._setups]
        by_name = [setup.name for setup in can_be_told if _names(alert, setup.name)]
        return by_name or [setup.name for setup in can_be_told if setup.job is not None and _names(alert, setup.job)]


def _names(alert: Alert, name: str) -> bool:
    """Whether the name stands by itself in a text; before a table's name may stand the catalog's."""
    word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-]|\.\w)")
    return any(word.search(text) for text in alert.names)


def _why_not(named: list[TableName]) -> str:
    if named:
        return f"It names several watched tables: {', '.join(named)}. Expected one; add a label with its name."
    return "It names no watched table and no job of one. Add a label with the table's name, such as table=sales.orders."


def _sign(alert: Alert) -> Sign:
    return Sign(
        code=ALERT,
        subject=f"{alert.source}/{alert.fingerprint}",
        headline=alert.title,
        reasons=alert.details[:_SHOWN],
        advice="open an incident if consumers are concerned; the watch looks at the table now",
        severity=alert.severity,
        runbook=alert.runbook or _OTHERWISE,
        is_urgent=alert.severity == "sev1",
        source=alert.source,
        link=alert.link,
    )
