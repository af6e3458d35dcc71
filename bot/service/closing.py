"""Ends an incident: the record is closed with a reason, and with the contract review that nobody has opened yet."""

from collections.abc import Mapping

from bot.domain.clock_time import clock_time
from bot.domain.doubt import doubted_since
from bot.domain.entries import Body, IncidentClosed, ReviewOpened
from bot.domain.errors import CouldNotLook, Refused, UnknownTable
from bot.domain.execution import UNFINISHED, ProposalState
from bot.domain.ids import IncidentId, TableName, UserId
from bot.domain.incident import Incident
from bot.domain.planned_work import TELL, stop_for_work
from bot.domain.promises import announced_since, next_word_due
from bot.domain.rehearsals import standing_job
from bot.domain.settling import HOW_TO_SETTLE
from bot.domain.setup import TableSetup
from bot.service.incident_store import IncidentStore, must_be_in_charge
from bot.service.reviewing import Reviews

_ANYWAY = "anyway"
"""First word of a reason to close although something is still owed."""


class Closing:
    """Close."""

    def __init__(self, store: IncidentStore, reviews: Reviews, setups: Mapping[TableName, TableSetup]) -> None:
        self._store = store
        self._reviews = reviews
        self._setups = setups

    def close(self, incident_id: IncidentId, reason: str, *, by: UserId) -> Incident:
        """End it; returns it as it is then. Raises Refused without a reason, twice, by whoever is not in charge, while
        a proposal is undecided or under way, and, unless the reason begins with “anyway”, while its job stands still
        for a repair, a deed is not proven, or consumers wait for word or for the end of planned work. A world that
        cannot be looked at keeps nobody from closing: the review can be opened later."""
        if not reason.strip():
            raise Refused(
                "An incident is closed with a reason.", "", "Write it after the command: /waterline close REASON."
            )
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
        setup = self._setups.get(now.opened.table)
        if is_forced:
            return
        _refuse_standing_job(now)
        _refuse_unproven(now)
        _refuse_untold_end(now)
        due = next_word_due(now, setup)
        if due is not None:
            how = (
                f"Tell them yourself, for {now.opened.table} is configured no more. To close then, begin the reason "
                f"with “{_ANYWAY}”."
                if setup is None
                else "Tell them how it ended: /waterline tell recovered, or no_action_needed. To close without that, "
                f"begin the reason with “{_ANYWAY}”; a correction can still be sent then."
            )
            raise Refused(
                f"Consumers wait for word about {now.id}: they were promised it by {clock_time(due, now.opened_at)}.",
                "Once it is closed nobody is reminded of it.",
                how,
            )

    def _review_if_missing(self, incident_id: IncidentId) -> ReviewOpened | None:
        incident = self._store.get(incident_id)
        if incident.review is not None:
            return None
        try:
            return self._reviews.filled(incident)
        except (CouldNotLook, UnknownTable):
            return None


def _refuse_standing_job(now: Incident) -> None:
    """Once it is closed nobody can publish the repair, give it up or restore the job, and nobody is reminded."""
    stands = standing_job(now)
    if stands is None:
        return
    since, rehearsal = clock_time(stands.since, now.opened_at), stands.waits_for
    if stands.settled is None and rehearsal is not None:
        raise Refused(
            f"{stands.job} stands still for “{rehearsal.proposal.title}” since {since}, and Waterline would "
            "start it no more.",
            f"Its repair on branch {rehearsal.proposal.rehearses_on} is neither published nor given up.",
            "Publish it (/waterline propose publish_repair) or give it up (/waterline propose drop_repair_branch). To "
            f"close all the same, start the job by hand and begin the reason with “{_ANYWAY}”.",
        )
    undo = (
        "Click “Propose to undo it” on its message: that starts the job from what the stop has left, where that pairs. "
        if rehearsal is None
        else ""
    )
    raise Refused(
        f"{stands.job} stands still since {since}: “{stands.stopped_by.proposal.title}” has stopped it, and Waterline "
        "would remind of it no more.",
        "It was refused after the stop, and nothing has started the job since."
        if rehearsal is None
        else f"Its repair is {stands.settled}, and the job was not started with that.",
        f"{undo}Collect evidence again and diagnose: it says from where the job is restored. Where somebody has "
        f"started it, a diagnosis that sees the job run says so, too; else begin the reason with “{_ANYWAY}”.",
    )


def _refuse_unproven(now: Incident) -> None:
    """The proof that was promised comes only while it is open, and so does word of a start that lands late."""
    unproven = next((v for v in now.proposals.values() if v.state is ProposalState.APPLIED and not v.verified), None)
    if unproven is None:
        return
    raise Refused(
        f"“{unproven.proposal.title}” is carried out and not proven yet.",
        "It is verified by itself as soon as that can be told; once the incident is closed it never is.",
        f"Wait for that. To close before it, begin the reason with “{_ANYWAY}”.",
    )


def _refuse_untold_end(now: Incident) -> None:
    since = announced_since(now)
    if since is None:
        return
    how = f"{TELL} off"
    if stop_for_work(now) is not None:
        how = f"{TELL} over, once the job writes again and the rows are counted"
    later = "both can still be sent then"
    if doubted_since(now) is not None:  # then neither may be told: they say that nothing is wrong
        how, later = "/waterline tell update, and recovered once it is proven", "a correction can still be sent then"
    raise Refused(
        f"Consumers of {now.opened.table} wait for the end of planned work. It was announced at "
        f"{clock_time(since, now.opened_at)}.",
        "Nobody else says that they can turn their alerts back on.",
        f"Tell them: {how}. To close before that, begin the reason with “{_ANYWAY}”; {later}.",
    )


def _refuse_unfinished(now: Incident, by: UserId) -> None:
    if now.closed_at is not None:
        raise Refused(f"{now.id} was closed at {clock_time(now.closed_at)} by <@{now.closed_by}>.", "", "")
    must_be_in_charge(now, by, "close it")
    busy = next((v for v in now.proposals.values() if v.state in UNFINISHED), None)
    if busy is not None and busy.state is ProposalState.UNKNOWN:
        raise Refused(
            f"It is not known what became of “{busy.proposal.title}”.",
            "An incident is not closed over an unfinished proposal.",
            HOW_TO_SETTLE,
        )
    if busy is not None:
        raise Refused(
            f"“{busy.proposal.title}” is {busy.state.value}.",
            "An incident is not closed over an undecided or unfinished proposal.",
            "Decide it, or wait for its end.",
        )
