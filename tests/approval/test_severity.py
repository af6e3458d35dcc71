"""The severity of an incident chooses the approval policy of what is proposed from then on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import open_store
from bot.domain.approval import ApprovalPolicy
from bot.domain.deciding import Approve
from bot.domain.entries import ResponderAssigned, SeverityChanged
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from bot.domain.ids import UserId
from bot.domain.setup import TableSetup
from bot.service.incident_store import IncidentStore
from bot.service.walking import Walker
from tests import orders_table as orders
from tests.approval.desk import Desk
from tests.decisions import ANA, BEN, EVE
from tests.incidents import Story
from tests.tables import CONTRACT

ONE, TWO = ApprovalPolicy(users=(BEN, EVE)), ApprovalPolicy(users=(BEN, EVE), required=2)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[IncidentStore]:
    """Ana has opened a sev2; Ben responds."""
    opened = open_store(f"sqlite:///{tmp_path / 'record.db'}")
    Story(opened.journal).opens().says(ResponderAssigned(user=BEN))
    yield IncidentStore(opened.journal, SystemClock())
    opened.close()


@pytest.mark.parametrize(("severity", "policy"), [("sev1", TWO), ("sev3", ONE)])
def test_the_present_severity_chooses_the_policy_of_the_next_proposal(severity: str, policy: ApprovalPolicy) -> None:
    """The table says two people at sev1, else one."""
    setup = TableSetup(
        name=orders.TABLE, job=orders.JOB, contract=CONTRACT, consumers=(), next_update_minutes=30,
        policies={"default": ONE, "default/sev1": TWO},
    )  # fmt: skip

    assert policy == setup.policy_for("rewind_table_and_job", severity, is_destructive=False, proposer=ANA)  # type: ignore[arg-type]


def test_a_lower_severity_loosens_no_proposal_that_was_made() -> None:
    """It was made at sev1 and still needs both."""
    desk = Desk(policy=TWO)
    desk.writes(SeverityChanged(before="sev1", severity="sev3", reason="One report."), by=ANA)

    desk.does(Approve(digest=desk.proposal.digest, shown_whole=True), BEN)
    after_one = desk.state
    desk.does(Approve(digest=desk.proposal.digest, shown_whole=True), EVE)

    assert (ProposalState.PROPOSED, ProposalState.APPROVED) == (after_one, desk.state)


def test_nobody_else_changes_the_severity(store: IncidentStore) -> None:
    """Eve takes the incident over first, which is on record."""
    [incident] = store.all()

    with pytest.raises(Refused, match="so you cannot change its severity"):
        Walker(store, lambda _id: None).change_severity(incident.id, "sev3", "It is small.", by=EVE)

    assert store.get(incident.id).severity == "sev2"


@pytest.mark.parametrize("by", [ANA, BEN])
def test_who_responds_or_has_opened_it_may(store: IncidentStore, by: UserId) -> None:
    """With a reason; the record has both, once."""
    [incident] = store.all()
    walker = Walker(store, lambda _id: None)

    walker.change_severity(incident.id, "sev1", "Finance reports from it.", by=by)
    with pytest.raises(Refused, match="is sev1 already"):
        walker.change_severity(incident.id, "sev1", "Again.", by=by)

    last = store.get(incident.id).entries[-1]
    assert (by, SeverityChanged(before="sev2", severity="sev1", reason="Finance reports from it.")) == (
        last.by,
        last.body,
    )
