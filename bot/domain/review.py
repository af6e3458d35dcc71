"""The contract review: every promised term, and each that the recovery stood on, against what was observed in the
incident, and who mends what broke."""

from collections.abc import Iterable
from datetime import datetime

from bot.domain.approval_terms import approval_terms
from bot.domain.checkpoint_terms import checkpoint_terms
from bot.domain.contract import TableContract
from bot.domain.entries import Finding
from bot.domain.evidence import Observation
from bot.domain.ids import UserId
from bot.domain.incident import Incident
from bot.domain.promised_terms import promised_terms
from bot.domain.setup import TableSetup
from bot.domain.state_terms import state_terms
from bot.domain.table_terms import table_terms
from bot.domain.terms_then import beside_then, columns_left_null
from bot.domain.time_terms import time_terms

_ORDER = ("state", "checkpoint", "table")


def review(incident: Incident, observation: Observation, contract: TableContract) -> tuple[Finding, ...]:
    """One finding a term: state, checkpoints, the table, and how it was decided. `holds` None: could not be told.

    A term that was broken during the incident counts as broken, also when the repair has mended it since.
    *source*: this look at table, Flink and storage, and the evidence that the incident has; none is collected for it,
    so what only rows tell and nobody asked for is said to be not observed.
    """
    found = (
        *state_terms(incident.trusted, observation),
        *checkpoint_terms(observation),
        *promised_terms(observation, contract, columns_left_null(incident)),
        *table_terms(incident, observation.table, contract),
        *time_terms(incident, observation.table, contract),
    )
    in_order = sorted(beside_then(incident, found), key=lambda each: _ORDER.index(each.contract))
    return (*in_order, *approval_terms(incident))


def charged(findings: Iterable[Finding], incident: Incident, setup: TableSetup, *, at: datetime) -> tuple[Finding, ...]:
    """Each that did not hold gets a day, from `at` on, and an owner: by configuration, else who answers for the table
    by its contract, else the responder. How it was approved is no matter of the table's team."""
    someone = incident.responder or incident.opened_by
    team = setup.team.answering(at.date()) if setup.team is not None else None

    def owner(finding: Finding) -> UserId:
        by_contract = None if finding.contract == "approval" else team
        return setup.review_owners.get(finding.contract) or by_contract or UserId(someone)

    return tuple(
        finding.model_copy(update={"owner": owner(finding), "due": at + setup.review_due})
        if finding.holds is False
        else finding
        for finding in findings
    )
