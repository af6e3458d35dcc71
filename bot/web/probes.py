"""What a cluster asks of a process: whether it lives, whether it can do its work, and numbers for Prometheus.

The first two are open to everybody and name no table; the numbers ask for the same token as the pages.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.incident.execution import UNDECIDED
from bot.incident.incident import Incident
from bot.incident.trust import TrustState
from bot.observation.errors import CouldNotKeep, CouldNotLook
from bot.observation.findings import RecoveryDeadline
from bot.service.trust import TrustService
from bot.web.serving import lives

_TABLE = ("table",)


class Number(NamedTuple):
    """One of those that are served: its labels, and what it says."""

    labels: tuple[str, ...]
    meaning: str


NUMBERS: Mapping[str, Number] = {
    "waterline_table_trusted": Number(_TABLE, "1: consumers may rely on it. 0: under review. NaN: not known."),
    "waterline_table_commits_above_trusted": Number(_TABLE, "Commits on main above the trusted snapshot."),
    "waterline_recovery_deadline_seconds": Number(
        ("table", "limit"),
        "Seconds until something that a recovery needs may be gone: `records` of the source, `snapshots` of the table, "
        "`checkpoints` of the job, or `files` that only its state names. Absent where no such moment is known.",
    ),
    "waterline_open_incidents": Number(_TABLE, "Incidents that are worked on; private ones are not counted."),
    "waterline_incident_open_seconds": Number(_TABLE, "Age of the open incident; absent where there is none."),
    "waterline_proposal_waiting_seconds": Number(
        _TABLE, "Age of the proposal that people can still approve, veto or begin; absent where there is none."
    ),
    "waterline_evidence_seconds": Number(
        ("task",), "Summary of how long evidence tasks took, over all incidents on record that are not private."
    ),
    "waterline_evidence_read_bytes": Number(
        ("task",), "Summary of what evidence tasks read, over all incidents on record that are not private."
    ),
    "waterline_acknowledgement_seconds": Number(
        (), "Histogram of the time until a delivery of Slack was stored and acknowledged. Slack waits three seconds."
    ),
    "waterline_slack_connected": Number((), "1: nothing hinders what comes from Slack. 0: something does."),
    "waterline_socket_pong_age_seconds": Number(
        (), "Seconds since Slack answered a ping on the socket. NaN: it is not connected, or the mode is `http`."
    ),
    "waterline_inbox_oldest_seconds": Number(
        (), "Age of the oldest delivery that is not worked on to its end; 0: none."
    ),
    "waterline_outbox_oldest_seconds": Number((), "How long the oldest message waits to be sent; 0: none waits."),
    "waterline_journal_verified_timestamp_seconds": Number(
        (), "When all hashes of the journal were last recomputed. NaN: not yet since the start."
    ),
    "waterline_journal_faults": Number((), "Incidents of which an entry did not fit then. NaN: not known."),
}
"""Every number by its name. Those without a label are served by the process that works on the record alone."""


class OfBot(NamedTuple):
    """What the process that works on the record knows beside tables and incidents."""

    gauges: Mapping[str, Callable[[], float]]
    """By name, read anew at each scrape. May raise CouldNotLook, CouldNotKeep: then it is NaN."""
    others: Iterable[Collector] = ()


NOT_OF_BOT = OfBot({})
Check = Callable[[], str | None]
"""What hinders it, a sentence without names; None: nothing does."""


def checks_of(trusts: TrustService) -> Mapping[str, Check]:
    """Whether the record can be read, and whether the catalog answers for any of the watched tables."""

    def record() -> str | None:
        try:
            trusts.incidents()
        except CouldNotLook:
            return "The record cannot be read."
        return None

    def catalog() -> str | None:
        return None if trusts.reads_any() else "No watched table can be read."

    return {"record": record, "catalog": catalog}


def health(trusts: TrustService, more: Mapping[str, Check]) -> list[Route]:
    """`/livez`, and `/readyz`, which runs in a thread of the server's pool, because catalog and record block."""
    checks = {**checks_of(trusts), **more}

    def ready(_request: Request) -> Response:
        found = {name: check() for name, check in checks.items()}
        status = 503 if any(found.values()) else 200
        told = {name: problem or "ok" for name, problem in found.items()}
        return Response(json.dumps(told), status, media_type="application/json")

    return [Route("/livez", lives), Route("/readyz", ready)]


class Probes:
    """Both of these, and the numbers, in a thread of that pool, too."""

    def __init__(self, trusts: TrustService, more: Mapping[str, Check], bot: OfBot = NOT_OF_BOT) -> None:
        self._health = health(trusts, more)
        self._registry = CollectorRegistry()
        for each in (TrustNumbers(trusts), BotNumbers(bot.gauges), *bot.others):
            self._registry.register(each)

    @property
    def routes(self) -> list[Route]:
        return [*self._health, Route("/metrics", self._metrics)]

    def _metrics(self, _request: Request) -> Response:
        return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)


class _ReadAnew(Collector):
    """At each scrape; nothing is read only to be registered."""

    def describe(self) -> Iterable[Metric]:
        return ()


class TrustNumbers(_ReadAnew):
    """Private incidents are in no number but the trust of their table."""

    def __init__(self, trusts: TrustService) -> None:
        self._trusts = trusts

    def collect(self) -> Iterable[Metric]:
        """One catalog call and one metadata file a table."""
        told = self._trusts.all()
        trusted = _gauge("waterline_table_trusted")
        above = _gauge("waterline_table_commits_above_trusted")
        left = _gauge("waterline_recovery_deadline_seconds")
        for trust in told:
            known = {TrustState.TRUSTED: 1.0, TrustState.UNDER_REVIEW: 0.0}
            trusted.add_metric([trust.table], known.get(trust.state, math.nan))
            above.add_metric([trust.table], math.nan if trust.above is None else trust.above)
        yield from (trusted, above)
        now = max(trust.checked_at for trust in told)
        try:
            for trust in told:
                for kind, at in _first_of_each(self._trusts.deadline(trust.table)).items():
                    left.add_metric([trust.table, kind], (at - now).total_seconds())
            told_of = tuple(self._trusts.incidents())
        except CouldNotLook:
            return
        yield left
        yield from self._of_incidents(told_of, now)
        yield from _of_evidence(told_of)

    def _of_incidents(self, incidents: Iterable[Incident], now: datetime) -> Iterable[Metric]:
        opened, age = _gauge("waterline_open_incidents"), _gauge("waterline_incident_open_seconds")
        waits = _gauge("waterline_proposal_waiting_seconds")
        counts = dict.fromkeys(self._trusts.setups, 0)
        for each in (each for each in incidents if each.is_open):
            table = each.opened.table
            counts[table] = counts.get(table, 0) + 1
            age.add_metric([table], (now - each.opened_at).total_seconds())
            view = each.current_proposal
            if view is not None and view.state in UNDECIDED:
                waits.add_metric([table], (now - view.proposal.proposed_at).total_seconds())
        for table, count in counts.items():
            opened.add_metric([table], count)
        yield from (opened, age, waits)


class BotNumbers(_ReadAnew):
    def __init__(self, gauges: Mapping[str, Callable[[], float]]) -> None:
        self._gauges = gauges

    def collect(self) -> Iterable[Metric]:
        """What could not be read is NaN."""
        for name, read in self._gauges.items():
            gauge = _gauge(name)
            try:
                gauge.add_metric([], read())
            except (CouldNotLook, CouldNotKeep):
                gauge.add_metric([], math.nan)
            yield gauge


def _first_of_each(deadline: RecoveryDeadline | None) -> dict[str, datetime]:
    """The first moment of each kind that does not depend on what somebody may do."""
    limits = () if deadline is None else deadline.limits
    certain = [each for each in limits if not each.is_conditional and each.kind is not None]
    return {str(each.kind): each.at for each in sorted(certain, key=lambda each: each.at, reverse=True)}


def _of_evidence(incidents: Iterable[Incident]) -> Iterable[Metric]:
    """From the record, so they go on after a restart."""
    names = ("waterline_evidence_seconds", "waterline_evidence_read_bytes")
    seconds, read = (SummaryMetricFamily(name, NUMBERS[name].meaning, labels=NUMBERS[name].labels) for name in names)
    sums: dict[str, tuple[int, float, int]] = {}
    for each in (run.evidence for incident in incidents for run in incident.runs.values()):
        if each is not None:
            count, took_s, size = sums.get(each.task, (0, 0.0, 0))
            sums[each.task] = count + 1, took_s + each.took_ms / 1000, size + each.bytes_read
    for task, (count, took_s, size) in sorted(sums.items()):
        seconds.add_metric([task], count, took_s)
        read.add_metric([task], count, size)
    yield from (seconds, read)


def _gauge(name: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, NUMBERS[name].meaning, labels=NUMBERS[name].labels)
