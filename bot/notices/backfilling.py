"""Which rows are going to be written again, and how far that has come, out of the incident. Pure."""

from datetime import datetime

from bot.domain.contract import TableContract
from bot.domain.effects import PublishBranch, ReplayRows
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.findings import BackfillFinding, ReplayableFinding
from bot.domain.incident import Incident
from bot.domain.notice import BackfillProgress
from bot.notices.announced import Backfill
from bot.notices.facts import Affected

_S = ProposalState
OVER = frozenset({_S.REJECTED, _S.VETOED, _S.EXPIRED, _S.SUPERSEDED, _S.REFUSED})
"""What will not happen any more."""
_PROGRESS: dict[ProposalState, BackfillProgress] = {
    _S.PROPOSED: "waits",
    _S.HELD: "waits",
    _S.APPROVED: "approved",
    _S.EXECUTING: "running",
    _S.UNKNOWN: "running",
    _S.APPLIED: "done",
}


def backfill_of(incident: Incident, affected: Affected | None, contract: TableContract) -> Backfill | None:
    """A declared replay of the source; else what the job brings again after a rewind; else a backfill that evidence
    found among the commits; None: none of them. Event times that the contract hides are not told."""
    found = _replay(incident) or _job_reads_again(incident, affected) or _found(incident)
    if found is None or not contract.hides(contract.event_time):
        return found
    return found.model_copy(update={"since": None, "until": None})


def _replay(incident: Incident) -> Backfill | None:
    """The rows are written to a branch and come into the table when that is published: by another proposal."""
    for view in _standing(incident):
        effect = next((each for each in view.proposal.effects if isinstance(each, ReplayRows)), None)
        if effect is None:
            continue
        since, until = _times(incident, effect)
        progress, waiting = _published(incident, view, effect.branch)
        return Backfill(
            since=since,
            until=until,
            rows=effect.replay.rows,
            after_checkpoint=None,
            progress=progress,
            approve_by=waiting.proposal.expires_at if waiting else None,
        )
    return None


def _times(incident: Incident, effect: ReplayRows) -> tuple[datetime | None, datetime | None]:
    """Of the very rows that the proposal is about; where an older version made it, by their digest in the evidence."""
    replay = effect.replay
    if replay.event_from is not None:
        return replay.event_from, replay.event_until
    findings = (run.evidence.finding for run in incident.runs.values() if run.evidence is not None)
    for found in findings:
        if isinstance(found, ReplayableFinding) and found.digest == replay.digest:
            return found.event_from, found.event_until
    return replay.bounds.event_from, replay.bounds.event_until


def _published(
    incident: Incident, rehearsal: ProposalView, branch: str
) -> tuple[BackfillProgress, ProposalView | None]:
    """How far it has come, and the proposal that waits for approval."""
    if rehearsal.state is not _S.APPLIED:
        progress = _PROGRESS[rehearsal.state]
        return progress, rehearsal if progress == "waits" else None
    for view in _standing(incident):
        if any(isinstance(each, PublishBranch) and each.branch == branch for each in view.proposal.effects):
            progress = _PROGRESS[view.state]
            return ("publication-waits", view) if progress == "waits" else (progress, None)
    return "beside", None


def _job_reads_again(incident: Incident, affected: Affected | None) -> Backfill | None:
    view = incident.current_proposal
    if view is None or view.state in OVER or view.proposal.preview.replayed_from is None:
        return None
    is_whole = affected is not None and not affected.events_untold and view.proposal.preview.commits > 0
    progress = _PROGRESS[view.state]
    return Backfill(
        since=affected.event_from if affected and is_whole else None,
        until=affected.event_until if affected and is_whole else None,
        rows=view.proposal.preview.rows,
        after_checkpoint=view.proposal.preview.replayed_from,
        progress=progress,
        approve_by=view.proposal.expires_at if progress == "waits" else None,
    )


def _found(incident: Incident) -> Backfill | None:
    run = incident.latest.get("backfill_boundary")
    finding = run.evidence.finding if run and run.evidence else None
    if not isinstance(finding, BackfillFinding) or not finding.commits:
        return None
    return Backfill(
        since=finding.event_from,
        until=finding.event_until,
        rows=finding.rows,
        after_checkpoint=None,
        progress="seen",
        approve_by=None,
    )


def _standing(incident: Incident) -> list[ProposalView]:
    """Newest first."""
    return [view for view in reversed(incident.proposals.values()) if view.state not in OVER]
