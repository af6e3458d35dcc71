"""How long an incident took, from the first wrong commit to the word that reached the consumers."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import median

from bot.domain.diagnosis import Matches
from bot.domain.entries import Diagnosed, NoticeEnded, Verified
from bot.domain.findings import LedgerFinding
from bot.domain.incident import Incident
from bot.domain.ledger import LedgerRow
from bot.domain.record import Record
from bot.domain.spans import span

DETECT, DIAGNOSE, APPROVE, RECOVER, TELL = "detect", "diagnose", "approve", "recover", "tell"
_WHAT = {
    DETECT: "from the first wrong commit to the opening",
    DIAGNOSE: "from the opening to the diagnosis that was acted on",
    APPROVE: "from the proposal to its last approval",
    RECOVER: "from the opening to the proof",
    TELL: "from the opening to the first notice that arrived",
}


class Metric(Record):
    """One span of an incident."""

    name: str
    what: str
    """Between which two moments."""
    took: timedelta | None
    """None: one of the moments never came, or is not known."""

    @property
    def words(self) -> str:
        """`4 min 10 s`, or that it is not known."""
        return "not known" if self.took is None else span(self.took)


def metrics(incident: Incident) -> tuple[Metric, ...]:
    """In the order in which they happen."""
    opened = incident.opened_at
    spans = {
        DETECT: _between(first_wrong_at(incident), opened),
        DIAGNOSE: _between(opened, _diagnosed_at(incident)),
        APPROVE: _approval(incident),
        RECOVER: _between(opened, _proven_at(incident)),
        TELL: _between(opened, _told_at(incident)),
    }
    return tuple(Metric(name=name, what=_WHAT[name], took=took) for name, took in spans.items())


def typical(spans: list[timedelta]) -> timedelta | None:
    """The median; None of nothing."""
    return timedelta(seconds=median(each.total_seconds() for each in spans)) if spans else None


def first_wrong_at(incident: Incident) -> datetime | None:
    """When the oldest of the wrong commits that the diagnosis shows was committed."""
    decisive = incident.diagnosis.decisive if incident.diagnosis else None
    if decisive is None:
        return None
    return min((row.committed_at for row in _wrong_rows(_ledger_rows(incident), decisive[1])), default=None)


def _wrong_rows(rows: Sequence[LedgerRow], match: Matches) -> Sequence[LedgerRow]:
    """Those that the match shows; where it names a run, only what came after the last good commit: it may show right
    ones beside them, and an older run that is not kept has commits that are right as well. What that run committed
    stands in only where the match shows nothing of it."""
    shown = [row for row in rows if row.snapshot_id in match.rows]
    if match.wrong_run is None:
        return shown
    good = next((row.age for row in rows if row.snapshot_id == match.last_good), None)
    after = [row for row in shown if good is not None and row.age > good]
    theirs = [row for row in rows if row.job_id == match.wrong_run]
    return after or [row for row in theirs if row in shown] or theirs


def _ledger_rows(incident: Incident) -> tuple[LedgerRow, ...]:
    findings = (run.evidence.finding for run in incident.runs.values() if run.evidence is not None)
    return tuple(row for found in findings if isinstance(found, LedgerFinding) for row in found.ledger.rows)


def _diagnosed_at(incident: Incident) -> datetime | None:
    """The first time that the failure mode was named which is named in the end."""
    final = incident.diagnosis.decisive if incident.diagnosis else None
    for entry in incident.entries:
        if isinstance(entry.body, Diagnosed):
            named = entry.body.diagnosis.decisive
            if final is not None and named is not None and named[0].code == final[0].code:
                return entry.at
    return None


def _approval(incident: Incident) -> timedelta | None:
    """Of the newest proposal that was carried out; a rehearsal and its publication are two decisions."""
    begun = [view for view in incident.proposals.values() if view.execution_started_at and view.approvals]
    if not begun:
        return None
    return max(given.at for given in begun[-1].approvals) - begun[-1].proposal.proposed_at


def _proven_at(incident: Incident) -> datetime | None:
    proofs = [e.at for e in incident.entries if isinstance(e.body, Verified) and e.body.passed and not e.body.branch]
    return proofs[-1] if proofs else None


def _told_at(incident: Incident) -> datetime | None:
    arrived = (e.at for e in incident.entries if isinstance(e.body, NoticeEnded) and e.body.how == "delivered")
    return next(arrived, None)


def _between(earlier: datetime | None, later: datetime | None) -> timedelta | None:
    return None if earlier is None or later is None else max(later - earlier, timedelta(0))
