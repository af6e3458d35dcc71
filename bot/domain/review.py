"""The contract review: every term that the recovery stood on, against what was observed, and who mends what broke."""

from collections.abc import Iterable
from datetime import datetime

from bot.domain.approval_terms import approval_terms
from bot.domain.checkpoint_terms import checkpoint_terms
from bot.domain.contract import TableContract
from bot.domain.entries import Finding
from bot.domain.evidence import Observation
from bot.domain.incident import Incident
from bot.domain.setup import TableSetup
from bot.domain.state_terms import state_terms
from bot.domain.table_terms import table_terms


def review(incident: Incident, observation: Observation, contract: TableContract) -> tuple[Finding, ...]:
    """One finding a term: state, checkpoints, the table, and how it was decided. `holds` None: could not be told.

    A term that was broken during the incident counts as broken, also when the repair has mended it since.
    """
    return (
        *state_terms(incident.trusted, observation),
        *checkpoint_terms(observation),
        *table_terms(incident, observation.table, contract),
        *approval_terms(incident),
    )


def charged(findings: Iterable[Finding], incident: Incident, setup: TableSetup, *, at: datetime) -> tuple[Finding, ...]:
    """Each that did not hold gets an owner (by configuration, else the responder) and a day, from `at` on."""
    someone = incident.responder or incident.opened_by
    return tuple(
        finding.model_copy(
            update={"owner": setup.review_owners.get(finding.contract, someone), "due": at + setup.review_due}
        )
        if finding.holds is False
        else finding
        for finding in findings
    )
