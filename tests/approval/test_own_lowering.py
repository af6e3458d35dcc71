"""Nobody chooses how many approvals their own proposal needs by saying how bad the incident is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import open_store
from bot.domain.action import Action
from bot.domain.approval import ApprovalPolicy, GlassRule, VetoRule
from bot.domain.entries import IncidentOpened, ProposalMade, ResponderAssigned
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import IncidentId, ProposalId, Severity, UserId
from bot.domain.journal import WATERLINE
from bot.domain.setup import TableSetup
from bot.domain.table import Window
from bot.service.incident_store import IncidentStore
from bot.service.rules_by_severity import Rules, Said, rules_for
from bot.service.severity import Changed, change_severity
from bot.slack.blocks.approval import by_severity
from tests import orders_table as orders
from tests.decisions import ANA, BEN, EVE, PROPOSAL, RUNBOOK, rewind
from tests.tables import CONTRACT

ONE, TWO = ApprovalPolicy(users=(BEN, EVE)), ApprovalPolicy(users=(BEN, EVE), required=2)
LIGHT_AT_NIGHT = {"default": TWO, "default/sev3": ONE}
LIGHT_IN_NEED = {"default": TWO, "default/sev1": ONE}
REWIND = Action(
    name="rewind_table_and_job", title="Rewind", promise="", needs=(), proofs=(), on_request=True, drops_others=True
)


def setup(policies: dict[str, ApprovalPolicy]) -> TableSetup:
    """The table with these policies."""
    return TableSetup(
        name=orders.TABLE, job=orders.JOB, contract=CONTRACT, consumers=(), policies=policies, next_update_minutes=30
    )


class Desk:
    """One incident, on a real record."""

    def __init__(self, store: IncidentStore) -> None:
        self.store = store
        self.policies = LIGHT_AT_NIGHT
        self.id: IncidentId

    def opens(self, severity: Severity, *, by: str = ANA) -> None:
        """Somebody, or an alert, opens it; Ana responds."""
        opened = IncidentOpened(
            table=orders.TABLE, job=orders.JOB, runbook=RUNBOOK, severity=severity, channel="C0ORDERS01",
            window=Window(since=None, until=orders.HEAD), trusted=None, metadata_location="m", summary="",
        )  # fmt: skip
        self.id = self.store.open(opened, by=by).id
        self.store.write(self.id, by=by, decide=lambda _i: [ResponderAssigned(user=ANA)])

    def says(self, severity: Severity, *, by: UserId) -> Changed:
        """As `/waterline severity` does."""
        return change_severity(
            self.store, self.id, severity, "As it looks.", by=by, rules_now=self.rules_now, then=lambda _id: None
        )

    def rules(self, *, by: UserId = ANA) -> Rules:
        """Of what `by` would propose now."""
        return rules_for(setup(self.policies), REWIND, self.store.get(self.id).severities_said, by, ())

    def rules_now(self, view: ProposalView, said: Said) -> Rules:
        """As `Proposals` does."""
        return rules_for(setup(self.policies), REWIND, said, view.proposal.proposed_by, view.proposal.follows)

    def proposes(self, *, by: UserId = ANA) -> ProposalId:
        """By the rules of now."""
        rules = self.rules(by=by)
        told = {"policy": rules.policy, "rules_of": rules.instead, "proposed_by": by}
        proposal = rewind(self.store.get(self.id).opened_at).model_copy(update=told)
        self.store.write(self.id, by=by, decide=lambda _i: [ProposalMade(step=None, proposal=proposal)])
        return proposal.id

    @property
    def small_print(self) -> list[str]:
        """What the proposal says of its rules."""
        incident = self.store.get(self.id)
        return by_severity(incident, incident.proposals[PROPOSAL])

    @property
    def state(self) -> ProposalState:
        """Of the proposal."""
        return self.store.get(self.id).proposals[PROPOSAL].state


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """Nothing is open."""
    opened = open_store(f"sqlite:///{tmp_path / 'record.db'}")
    yield Desk(IncidentStore(opened.journal, SystemClock()))
    opened.close()


def test_who_opens_it_does_not_choose_the_policy(desk: Desk) -> None:
    """The strictest holds for their own proposal until somebody else has confirmed the severity; the card says so."""
    desk.opens("sev3")
    desk.proposes()
    own, others, told = desk.rules(), desk.rules(by=BEN), desk.small_print
    confirmed = desk.says("sev3", by=EVE)

    assert (Rules(TWO, "sev1"), Rules(ONE, None)) == (own, others)
    assert ["only the proposer calls it sev3: once somebody else has typed /waterline severity sev3 REASON"] == [
        line[line.index("only") : line.index(", it can")] for line in told
    ]
    assert confirmed.is_confirmed
    assert Rules(ONE, None) == desk.rules()
    assert ["By the rules of sev1; somebody else says sev3 by now, so it can be proposed again by those."] == (
        desk.small_print
    )


def test_what_the_proposer_says_meanwhile_makes_nothing_lighter(desk: Desk) -> None:
    """Up or down, where either has the lighter rules; what somebody else says then counts."""
    desk.opens("sev2", by=BEN)
    desk.says("sev3", by=ANA)
    lowered = desk.rules()
    desk.policies = LIGHT_IN_NEED
    desk.says("sev1", by=ANA)
    raised = desk.rules()
    desk.says("sev1", by=BEN)

    assert Rules(TWO, "sev2") == lowered
    assert Rules(TWO, "sev2") == raised
    assert Rules(ONE, None) == desk.rules()


def test_what_the_proposer_raises_counts(desk: Desk) -> None:
    """More people say yes to it then."""
    desk.opens("sev3", by=BEN)
    desk.says("sev1", by=ANA)

    assert Rules(TWO, None) == desk.rules()


def test_what_an_alert_opens_is_not_chosen_by_the_proposer(desk: Desk) -> None:
    """Its severity comes from the configuration."""
    desk.opens("sev3", by=WATERLINE)

    assert Rules(ONE, None) == desk.rules()


def test_where_one_policy_holds_nothing_changes(desk: Desk) -> None:
    """Nothing is said, and nothing is asked of anybody."""
    desk.policies = {"default": ONE}
    desk.opens("sev3")
    desk.proposes()
    changed = desk.says("sev1", by=ANA)

    assert Rules(ONE, None) == desk.rules()
    assert [] == desk.small_print
    assert () == changed.superseded
    assert desk.state is ProposalState.PROPOSED


@pytest.mark.parametrize(
    "stricter",
    [
        ONE.model_copy(update={"required": 2}),
        ONE.model_copy(update={"veto": VetoRule(users=(EVE,), hold=3600)}),
        ApprovalPolicy(users=(EVE,)),
    ],
    ids=["more people", "time for a veto", "other people at the worst"],
)
def test_what_is_stricter(desk: Desk, stricter: ApprovalPolicy) -> None:
    """People, teams, time for a veto; of equals the rules of the worst severity hold, and no glass is broken there."""
    desk.policies = {"default": ONE.model_copy(update={"break_glass": GlassRule(users=(EVE,), pages=("C1",))})}
    desk.policies["default/sev1"] = stricter
    desk.opens("sev3")

    assert Rules(stricter, "sev1") == desk.rules()


def test_a_raise_reaches_what_waits(desk: Desk) -> None:
    """It is superseded by the same append, with the reason; whoever raises it hears so."""
    desk.opens("sev3", by=BEN)
    desk.proposes()

    changed = desk.says("sev1", by=BEN)

    ended = desk.store.get(desk.id).proposals[PROPOSAL].ended
    assert ended is not None
    assert "The incident is sev1 now, whose rules ask for other approvals. Propose again." == ended.reason
    assert 1 == len(changed.superseded)
    assert desk.state is ProposalState.SUPERSEDED


def test_a_lowering_leaves_what_waits_by_stricter_rules(desk: Desk) -> None:
    """More people than need to say yes to it, which harms nobody."""
    desk.opens("sev1", by=BEN)
    desk.proposes()

    changed = desk.says("sev3", by=BEN)

    assert () == changed.superseded
    assert desk.state is ProposalState.PROPOSED


def test_nobody_confirms_what_they_have_said_themselves(desk: Desk) -> None:
    """Somebody else does; who confirms need not respond to the incident."""
    desk.opens("sev3")

    with pytest.raises(Refused, match=r"is sev3 already\. You have said so yourself"):
        desk.says("sev3", by=ANA)
