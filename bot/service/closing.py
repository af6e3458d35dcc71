"""Ends an incident: the record is closed with a reason, and with the contract review that nobody has opened yet."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.incident.decisions import HOW_TO_SETTLE
from bot.incident.doubt import doubted_since
from bot.incident.entries import Body, IncidentClosed, ReviewOpened
from bot.incident.execution import ProposalState
from bot.incident.incident import Incident
from bot.incident.promises import announced_since, next_word_due
from bot.incident.savepoints import TELL, stop_for_work
from bot.incident.setup import TableSetup
from bot.incident.staged_repairs import standing_job
from bot.observation.errors import CouldNotLook, Refused, UnknownTable
from bot.observation.ids import IncidentId, TableName, UserId
from bot.observation.sentences import clock_time
from bot.service.incident_store import IncidentStore, must_be_in_charge
from bot.service.reviewing import Reviews

_ANYWAY = "anyway"
"""First word of a reason to close although something is still owed."""


@dataclass(eq=False)
class Closing:
    _store: IncidentStore
    _reviews: Reviews
    _setups: Mapping[TableName, TableSetup]

    def close(self, incident_id: IncidentId, reason: str, *, by: UserId) -> Incident:
        """End it; returns it as it is then. Raises Refused without a reason, twice, by whoever is not in charge, while
        a proposal is undecided or under way, and, unless the reason begins with “anyway”, while its job is stopped
        for a repair, a change is not verified, or consumers wait for an update or the end of planned work. A world that
        cannot be looked at keeps nobody from closing: the review can be opened later."""
        if not reason.strip():
            raise Refused("The incident is not closed: the reason is missing.", "", "Type /waterline close REASON.")
        is_forced = reason.split()[0].strip(",.:;").casefold() == _ANYWAY
        self._may_close(self._store.get(incident_id), by, is_forced)
        opened = self._review_if_missing(incident_id)

        def decide(now: Incident) -> list[Body]:
            self._may_close(now, by, is_forced)
            missing = [opened] if opened is not None and now.review is None else []
            return [*missing, IncidentClosed(reason=reason.strip())]

        return self._store.write(incident_id, by=by, decide=decide)

    def _may_close(self, now: Incident, by: UserId, is_forced: bool) -> None:
        _refuse_unfinished(now, by)
        if not is_forced:
            _refuse_owed(now, self._setups.get(now.opened.table))

    def _review_if_missing(self, incident_id: IncidentId) -> ReviewOpened | None:
        incident = self._store.get(incident_id)
        if incident.review is not None:
            return None
        try:
            return self._reviews.filled(incident)
        except (CouldNotLook, UnknownTable):
            return None


def _refuse_owed(now: Incident, setup: TableSetup | None) -> None:
    """Once it is closed nobody reminds of these, or proves them."""
    stopped = standing_job(now)
    unproven = next((v for v in now.proposals.values() if v.state is ProposalState.APPLIED and not v.verified), None)
    planned, due = announced_since(now), next_word_due(now, setup)
    if stopped is not None:
        since = clock_time(stopped.since, now.opened_at)
        why = f"{stopped.job} is stopped since {since} for “{stopped.stopped_by.proposal.title}”."
        how = "Publish or cancel the repair, undo the stop, or diagnose to see where to restore from"
    elif unproven is not None:
        why = f"“{unproven.proposal.title}” is applied and not verified yet."
        how = "Wait for the verification"
    elif planned is not None:
        why = f"Consumers wait for the end of planned work, announced at {clock_time(planned, now.opened_at)}."
        end = "off" if stop_for_work(now) is None else "over, once the job writes again and the rows are counted"
        how = (
            "/waterline notify update, and recovered once it is verified"
            if doubted_since(now) is not None
            else f"{TELL} {end}"
        )
    elif due is not None:
        why = f"Consumers were promised an update by {clock_time(due, now.opened_at)} and have not got one."
        how = "Notify them yourself" if setup is None else "Send recovered or no_action"
    else:
        return
    raise Refused(why, "", f"{how}, or begin the reason with “{_ANYWAY}”.")


def _refuse_unfinished(now: Incident, by: UserId) -> None:
    if now.closed_at is not None:
        raise Refused(f"{now.id} was closed at {clock_time(now.closed_at)} by <@{now.closed_by}>.", "", "")
    must_be_in_charge(now, by, "close it")
    busy = now.unfinished
    if busy is not None and busy.state is ProposalState.UNKNOWN:
        raise Refused(
            f"The outcome of “{busy.proposal.title}” is unknown.",
            "An incident with an unfinished proposal cannot be closed.",
            HOW_TO_SETTLE,
        )
    if busy is not None:
        raise Refused(
            f"“{busy.proposal.title}” is {busy.state.value}.",
            "An incident with an undecided or unfinished proposal cannot be closed.",
            "Decide it, or wait for its end.",
        )
