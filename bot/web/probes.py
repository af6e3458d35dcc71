"""What a cluster asks of a process: whether it lives, whether it can do its work, and numbers for Prometheus.

The first two are open to everybody and name no table; the numbers ask for the same token as the pages.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.domain.errors import CouldNotLook
from bot.domain.execution import UNDECIDED
from bot.domain.incident import Incident
from bot.domain.trust import TrustState
from bot.service.trust import TrustDesk
from bot.web.serving import lives

NUMBERS: Mapping[str, str] = {
    "waterline_table_trusted": "1: consumers may rely on it. 0: under review. NaN: not known.",
    "waterline_table_commits_above_trusted": "Commits on main above the trusted snapshot.",
    "waterline_recovery_deadline_seconds": "Seconds until something that a recovery needs may be gone; absent where no "
    "such moment is known.",
    "waterline_open_incidents": "Incidents that are worked on; private ones are not counted.",
    "waterline_proposal_waiting_seconds": "Age of the proposal that people can still approve, veto or begin; absent "
    "where there is none.",
}
"""Name of each gauge, and what it counts. Each has the label `table`."""
Check = Callable[[], str | None]
"""What hinders it, a sentence without names; None: nothing does."""


def checks_of(desk: TrustDesk) -> Mapping[str, Check]:
    """Whether the record can be read, and whether the catalog answers for any of the watched tables."""

    def record() -> str | None:
        try:
            desk.incidents()
        except CouldNotLook:
            return "The record cannot be read."
        return None

    def catalog() -> str | None:
        return None if desk.reads_any() else "No watched table can be read."

    return {"record": record, "catalog": catalog}


class Probes:
    """Handlers; each runs in a thread of the server's pool, because catalog and record block."""

    def __init__(self, desk: TrustDesk, more: Mapping[str, Check]) -> None:
        self._checks = {**checks_of(desk), **more}
        self._registry = CollectorRegistry()
        self._registry.register(TrustNumbers(desk))

    @property
    def routes(self) -> list[Route]:
        return [Route("/livez", lives), Route("/readyz", self._ready), Route("/metrics", self._metrics)]

    def _ready(self, _request: Request) -> Response:
        found = {name: check() for name, check in self._checks.items()}
        status = 503 if any(found.values()) else 200
        told = {name: problem or "ok" for name, problem in found.items()}
        return Response(json.dumps(told), status, media_type="application/json")

    def _metrics(self, _request: Request) -> Response:
        return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)


class TrustNumbers(Collector):
    """Read anew at each scrape. Private incidents are in no number but the trust of their table."""

    def __init__(self, desk: TrustDesk) -> None:
        self._desk = desk

    def describe(self) -> Iterable[Metric]:
        """Nothing is read only to be registered."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """One catalog call and one metadata file a table."""
        told = self._desk.all()
        trusted = _gauge("waterline_table_trusted")
        above = _gauge("waterline_table_commits_above_trusted")
        left = _gauge("waterline_recovery_deadline_seconds")
        for trust in told:
            known = {TrustState.TRUSTED: 1.0, TrustState.UNDER_REVIEW: 0.0}
            trusted.add_metric([trust.table], known.get(trust.state, math.nan))
            above.add_metric([trust.table], math.nan if trust.above is None else trust.above)
            if trust.recoverable_until is not None:
                left.add_metric([trust.table], (trust.recoverable_until - trust.checked_at).total_seconds())
        yield from (trusted, above, left)
        try:
            yield from self._of_incidents(self._desk.incidents(), max(trust.checked_at for trust in told))
        except CouldNotLook:
            return

    def _of_incidents(self, incidents: Iterable[Incident], now: datetime) -> Iterable[Metric]:
        opened = _gauge("waterline_open_incidents")
        waits = _gauge("waterline_proposal_waiting_seconds")
        counts = dict.fromkeys(self._desk.setups, 0)
        for each in (each for each in incidents if each.is_open):
            counts[each.opened.table] = counts.get(each.opened.table, 0) + 1
            view = each.current_proposal
            if view is not None and view.state in UNDECIDED:
                waits.add_metric([each.opened.table], (now - view.proposal.proposed_at).total_seconds())
        for table, count in counts.items():
            opened.add_metric([table], count)
        yield from (opened, waits)


def _gauge(name: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, NUMBERS[name], labels=["table"])
