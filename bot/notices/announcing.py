"""What a notice announces beside the table's state, out of the incident. Pure."""

from collections.abc import Mapping

from bot.domain.entries import Finding
from bot.domain.execution import ProposalView
from bot.domain.findings import BackfillFinding
from bot.domain.incident import Incident
from bot.notices.announced import Backfill, Earlier, ProposedRecovery, ReviewDone, TermChange

_OVER = {"rejected", "vetoed", "expired", "superseded", "refused"}


def proposal_of(incident: Incident) -> ProposedRecovery | None:
    """The newest proposal that is not over; None: there is none."""
    view = _standing(incident)
    if view is None:
        return None
    proposal = view.proposal
    return ProposedRecovery(
        title=proposal.title,
        state=view.state.value,
        sentences=proposal.preview.sentences,
        commits=proposal.preview.commits,
        rows=proposal.preview.rows,
        replayed_from=proposal.preview.replayed_from,
        expires_at=proposal.expires_at,
    )


def backfill_of(incident: Incident) -> Backfill | None:
    """What the boundary of a backfill was found to be; else what the standing proposal replays; None: neither."""
    run = incident.latest.get("backfill_boundary")
    finding = run.evidence.finding if run and run.evidence else None
    view = _standing(incident)
    replayed = view.proposal.preview if view is not None and view.proposal.preview.replayed_from is not None else None
    if isinstance(finding, BackfillFinding) and finding.commits:
        return Backfill(
            since=finding.event_from,
            until=finding.event_until,
            rows=finding.rows,
            after_checkpoint=replayed.replayed_from if replayed else None,
        )
    if replayed is None:
        return None
    return Backfill(since=None, until=None, rows=replayed.rows, after_checkpoint=replayed.replayed_from)


def changes_of(incident: Incident) -> tuple[TermChange, ...]:
    """Terms that the review found broken, with what is to be done about each."""
    return tuple(_change(finding) for finding in incident.review or () if finding.holds is False)


def review_of(incident: Incident) -> ReviewDone | None:
    """The contract review in numbers; None before it is opened."""
    if incident.review is None:
        return None
    return ReviewDone(
        looked_at=len(incident.review),
        broken=changes_of(incident),
        unknown=sum(1 for finding in incident.review if finding.holds is None),
    )


def earlier_of(incident: Incident, consumer: str, titles: Mapping[str, str]) -> Earlier | None:
    """The notice that this consumer was sent last."""
    views = [view for view in incident.notices.values() if view.notice.consumer == consumer]
    if not views:
        return None
    last = views[-1]
    said = next((v.notice.severity for v in reversed(views) if v.notice.severity is not None), None)
    title = titles.get(last.notice.kind, last.notice.kind.replace("_", " "))
    return Earlier(kind=last.notice.kind, title=title, at=last.queued_at, severity=said)


def _standing(incident: Incident) -> ProposalView | None:
    view = incident.current_proposal
    return None if view is None or view.state.value in _OVER else view


def _change(finding: Finding) -> TermChange:
    return TermChange(contract=finding.contract, term=finding.term, observed=finding.observed, action=finding.action)
