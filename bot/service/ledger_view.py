"""Which ledger a record shows, where its waterline is drawn, and which commits were taken back since."""

from dataclasses import dataclass
from datetime import datetime

from bot.domain.effects import MoveTable
from bot.domain.evidence import Evidence
from bot.domain.execution import ProposalState
from bot.domain.findings import LedgerFinding
from bot.domain.ids import EvidenceId, SnapshotId, short
from bot.domain.incident import Incident
from bot.domain.ledger import LedgerRow, SkippedCheckpoint
from bot.domain.sentences import column_times
from bot.service.ledger_picture import Picture, picture


@dataclass(frozen=True)
class LedgerView:
    """The newest ledger of the incident, ready to be shown."""

    evidence: Evidence
    rows: tuple[LedgerRow, ...]
    """Newest first."""
    trailing: tuple[SkippedCheckpoint, ...]
    """What Flink completed and the table does not carry, newest first."""
    readers_known: bool
    taken_back: frozenset[SnapshotId]
    """Not part of the table any more: rolled back when pinned, or by a proposal that was applied since."""
    line_at: SnapshotId | None
    picture: Picture

    def said(self, at: datetime) -> str:
        """When a commit was made, in UTC: with its day where not all are of the day of the look."""
        return column_times((self.evidence.at, *(row.committed_at for row in self.rows)))(at)


def ledger_view(incident: Incident, of: EvidenceId | None = None) -> LedgerView | None:
    """The ledger of that run, else the newest; None when it has none. The waterline is the incident's present one."""
    run = incident.runs.get(of) if of is not None else incident.latest.get("ledger")
    if run is None or run.evidence is None or not isinstance(run.evidence.finding, LedgerFinding):
        return None
    ledger = run.evidence.finding.ledger
    taken_back = _taken_back(incident, run.evidence, ledger.rows)
    line_at, label = _line(incident, {row.snapshot_id for row in ledger.rows})
    return LedgerView(
        evidence=run.evidence,
        rows=tuple(reversed(ledger.rows)),
        trailing=tuple(reversed(ledger.trailing)),
        readers_known=ledger.readers_known,
        taken_back=taken_back,
        line_at=line_at,
        picture=picture(ledger, line_at=line_at, label=label, taken_back=taken_back),
    )


def _taken_back(incident: Incident, evidence: Evidence, rows: tuple[LedgerRow, ...]) -> frozenset[SnapshotId]:
    gone = {row.snapshot_id for row in rows if not row.on_main}
    for view in incident.proposals.values():
        started = view.execution_started_at
        if view.state is not ProposalState.APPLIED or started is None or started < evidence.at:
            continue
        for move in (effect for effect in view.proposal.effects if isinstance(effect, MoveTable)):
            kept = _ancestors(rows, move.to)
            gone |= {row.snapshot_id for row in rows if row.snapshot_id not in kept} if kept else set()
    return frozenset(gone)


def _ancestors(rows: tuple[LedgerRow, ...], of: SnapshotId) -> set[SnapshotId]:
    """`of` and its parents, as far as the ledger has them; empty if it does not have `of`."""
    parents = {row.snapshot_id: row.parent_id for row in rows}
    found: set[SnapshotId] = set()
    current: SnapshotId | None = of
    while current is not None and current in parents:
        found.add(current)
        current = parents[current]
    return found


def _line(incident: Incident, drawn: set[SnapshotId]) -> tuple[SnapshotId | None, str]:
    """Where the waterline is drawn. Once it has moved past this ledger, where it stood at the opening; no id
    but a label when that is where the window begins, below the ledger."""
    if incident.trusted in drawn:
        return incident.trusted, f"waterline {short(incident.trusted)}"
    opened = incident.opened.trusted
    label = f"waterline at opening {short(opened)}"
    if opened in drawn:
        return opened, label
    return None, label if opened is not None and opened == incident.window.since else ""
