"""The first contract review: every term that the recovery stood on, against what was observed."""

from bot.domain.approval_terms import approval_terms
from bot.domain.checkpoint_terms import checkpoint_terms
from bot.domain.contract import TableContract
from bot.domain.entries import Finding
from bot.domain.evidence import Observation
from bot.domain.incident import Incident
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
