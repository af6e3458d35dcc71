"""What an action is asked for, and nothing to look at but what a test names."""

from datetime import UTC, datetime, timedelta
from typing import Any

from bot.history.case import Case
from bot.incident.action import Plan
from bot.incident.approval import ApprovalPolicy
from bot.incident.diagnosis import Matches, Mode
from bot.observation.errors import CouldNotLook
from bot.observation.ids import IncidentId, ProposalId
from tests.rewound import ANA, BEN

ASKED = Mode(code="asked", name="asked", title="somebody asked", needs=(), false_positives=())


def nobody_looks(*_asked: object) -> Any:
    raise CouldNotLook("This was not read.", "Expected a look at it; there is none here.", "Name one in the test.")


def answering(plan: Plan, **found: object) -> Plan:
    """The same with these answers in its case."""
    return plan.model_copy(update={"case": plan.case.model_copy(update=found)})


def seeing(plan: Plan, **seen: object) -> Plan:
    """The same where the world shows itself so."""
    return answering(plan, observation=plan.case.observation.model_copy(update=seen))


def plan_of(case: Case, mode: Mode, match: Matches, **more: Any) -> Plan:
    """Asked by Ana, for Ben to approve."""
    told: dict[str, Any] = {
        "incident": IncidentId("20261121-a1b2"),
        "proposal": ProposalId("01JBQ5M7Z3T9K4X8V2N6R0P001"),
        "evidence": (),
        "policy": ApprovalPolicy(users=(BEN,), expires_after=timedelta(minutes=30)),
        "by": ANA,
        "at": datetime(2026, 11, 21, tzinfo=UTC),
        "survey": nobody_looks,
        "source": nobody_looks,
        "expired": lambda _table: (),
        "declaration": lambda _job: None,
        "siblings": tuple,
    }
    return Plan(case=case, mode=mode, match=match, **(told | more))
