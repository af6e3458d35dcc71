"""What a notice announces beside the table's state, out of the incident. Pure."""

import re
from collections.abc import Mapping

from bot.domain.entries import Finding
from bot.domain.execution import ProposalView
from bot.domain.incident import Incident
from bot.notices.announced import Earlier, ProposedRecovery, ReviewDone, TermBroken, Unheard
from bot.notices.backfilling import OVER

_NOT_OF_THE_TABLE = frozenset({"review_published"})
"""Kinds in whose place no other notice is read: what they say is not of the table's rows."""
_INNER = re.compile(r"<[@!#][^>]*>|\b[a-z][a-z0-9+.-]*://\S+")
"""People and places: should a term of the table ever name them, consumers do not read them."""


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


def review_of(incident: Incident) -> ReviewDone | None:
    """The review of the table's own contract; None before it is opened.

    What it found of the job's state, of checkpoints and of decisions names people, reasons and places on storage: that
    stays with the responders.
    """
    if incident.review is None:
        return None
    promised = [finding for finding in incident.review if finding.contract == "table"]
    return ReviewDone(
        looked_at=len(promised),
        broken=tuple(_broken(incident, finding) for finding in promised if finding.holds is False),
        unknown=sum(1 for finding in promised if finding.holds is None),
        inner=len(incident.review) - len(promised),
    )


def earlier_of(incident: Incident, consumer: str, titles: Mapping[str, str]) -> Earlier | None:
    """The newest notice about the table that this consumer has, or may have; None: none has come yet. Its severity is
    the last one that has come: what was said of it since is said by the next notice, which takes the place of those
    that have not arrived."""
    views = [v for v in incident.notices.values() if v.notice.consumer == consumer and v.may_have_come]
    come = [view for view in views if view.notice.kind not in _NOT_OF_THE_TABLE]
    if not come:
        return None
    last = come[-1]
    said = next((v.notice.severity for v in reversed(views) if v.notice.severity is not None), None)
    title = titles.get(last.notice.kind, last.notice.kind.replace("_", " "))
    return Earlier(kind=last.notice.kind, title=title, at=last.queued_at, severity=said)


def unheard_of(incident: Incident, consumer: str, kind: str) -> tuple[Unheard, ...]:
    """The words of notices of this kind that have not come to this consumer, since the last one that has; the oldest
    first."""
    told = (v for v in incident.notices.values() if (v.notice.consumer, v.notice.kind) == (consumer, kind))
    waiting: list[Unheard] = []
    for view in told:
        if view.may_have_come:
            waiting.clear()
        elif view.notice.words:
            waiting.append(Unheard(at=view.queued_at, words=view.notice.words))
    return tuple(waiting)


def _standing(incident: Incident) -> ProposalView | None:
    view = incident.current_proposal
    return None if view is None or view.state in OVER else view


def _broken(incident: Incident, finding: Finding) -> TermBroken:
    settled = incident.settled.get((finding.contract, finding.term))
    return TermBroken(
        term=finding.term,
        observed=_INNER.sub("…", finding.observed),
        action=_INNER.sub("…", finding.action),
        is_fixed=settled is not None and settled.how == "fixed",
    )
