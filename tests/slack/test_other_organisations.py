"""People of another organisation in a shared channel, an Enterprise Grid, and approvers who have left."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from slack_sdk import WebClient

from bot.incident.approval import ApprovalPolicy, People, can_be_met
from bot.incident.journal import WATERLINE, Entry
from bot.incident.setup import TableSetup
from bot.observation.errors import CouldNotLook, Refused
from bot.observation.ids import UserId
from bot.service.proposals.approving import who_is_gone
from bot.slack.directory import OwnTeam, SlackDirectory, slack_findings
from bot.slack.requests import HomeOpened
from bot.workspace import SeenMessage, Workspace
from bot.workspace.people import default_cast
from tests.ended_aside import ended_aside
from tests.patient_slack import PATIENT
from tests.slack.little_bot import APPROVERS, CONSUMERS, LittleBot
from tests.slack.people import ONCALL, Responder
from tests.tables import CONTRACT, ORDERS

ANA, BEN, CLEO, LEFT = UserId("U0ANA00001"), UserId("U0BEN00002"), UserId("U0CLEO0003"), UserId("U0LEFT0001")
OTHERS = "you belong to another organisation"


@pytest.fixture
def guest(slack: Workspace, finn: Responder) -> Responder:
    """Finn, whose own organisation shares the incident's channel."""
    slack.faults.shares(ONCALL, "finn")
    return finn


def _by_people(bot: LittleBot) -> list[Entry]:
    return [entry for entry in bot.services.store.every()[0].entries if entry.by != WATERLINE]


def test_who_is_of_another_organisation_is_refused_whatever_they_click(
    collected: SeenMessage, guest: Responder, bot: LittleBot
) -> None:
    """With an answer each time, no form, and nothing on record."""
    before = _by_people(bot)

    told = [guest.answer_to(lambda label=label: guest.clicks(label, collected)) for label in ("Propose", "Add a note…")]

    assert [OTHERS in answer for answer in told] == [True] * 2
    assert not guest.has_modal
    assert _by_people(bot) == before


def test_a_payload_that_names_no_team_is_no_pass(guest: Responder, ana: Responder, slack: Workspace) -> None:
    """Slack says of App Home only of which team the bot is: the person's is asked for, and one unknown is refused."""
    own = OwnTeam(WebClient(slack.bot_token, base_url=slack.api_url))

    own.must_be_ours(HomeOpened(user=UserId(ana.id)))
    with pytest.raises(Refused, match=OTHERS):
        own.must_be_ours(HomeOpened(user=UserId(guest.id)))
    with pytest.raises(CouldNotLook, match="Nothing was done"):
        own.must_be_ours(HomeOpened(user=UserId("U0NOBODY01")))


def test_who_is_of_another_organisation_can_answer_a_notice(
    ana: Responder, dana: Responder, slack: Workspace, bot: LittleBot
) -> None:
    """It was written for them, also where the answer needs words."""
    slack.faults.shares("revenue-analytics", "dana")
    ana.opens_and_warns()
    notice = dana.sees("under review", "revenue-analytics")

    dana.clicks("Acknowledge", notice)
    dana.clicks("I need help…", notice)
    dana.fills_reason("Which rows?")

    ana.sees("Which rows?")
    [view] = [v for v in bot.services.store.every()[0].notices.values() if v.notice.consumer == "revenue_daily"]
    assert {each.answer for each in view.answers} == {"acknowledged", "needs-help"}


def test_a_private_incident_is_not_opened_where_another_organisation_reads(
    ana: Responder, slack: Workspace, bot: LittleBot
) -> None:
    """A private channel that is shared is not private."""
    slack.world.directory.change(slack.world.directory.channel(ONCALL).id, is_private=True, is_ext_shared=True)
    ana.opens_form()
    ana.fills({"private": ["private"]})
    ana.submits()

    assert "private" in ana.reads_form()
    assert bot.services.store.every() == ()


@pytest.fixture
def grid() -> Iterator[Workspace]:
    """The app is installed for a whole organisation."""
    cast = default_cast().model_copy(update={"enterprise_id": "E0ACME0001"})
    with ended_aside(Workspace(cast, rules=PATIENT).serve()) as served:
        yield served


def test_groups_of_an_organisation_are_read_with_the_workspace_that_is_set(grid: Workspace) -> None:
    """Without it, and with another one, the hint says so and does not blame a scope."""
    client = WebClient(grid.bot_token, base_url=grid.api_url)

    with pytest.raises(CouldNotLook) as unset:
        SlackDirectory(client).members(APPROVERS.groups)
    with pytest.raises(CouldNotLook) as wrong:
        SlackDirectory(client, "T0ELSEWHERE").members(APPROVERS.groups)

    assert "slack.team_id" in unset.value.remedy
    assert "add the app" in wrong.value.remedy
    assert SlackDirectory(client, grid.cast.team_id).members(APPROVERS.groups) == {BEN, CLEO}


@pytest.fixture
def policy(request: pytest.FixtureRequest) -> ApprovalPolicy:
    """Two teams of one person each; one is gone where the test says so."""
    if "left" not in request.fixturenames:
        return APPROVERS
    teams = {"streaming": People(users=(BEN,)), "orders": People(users=(CLEO,))}
    return ApprovalPolicy(teams=teams, different_teams=2, expires_after=timedelta(minutes=30))


@pytest.fixture
def left(slack: Workspace) -> None:
    """One of the two is gone."""
    slack.faults.deactivates("cleo")


def test_a_proposal_says_which_approvers_are_gone(left: None, collected: SeenMessage, ana: Responder) -> None:
    """And that nobody can approve it, before everybody has waited for its end."""
    proposal = ana.proposes()

    assert "1 of 2 named approvers is deactivated or unknown in Slack: @Cleo Marsh. Too few are left" in proposal.plain


class Slacks:
    """A directory that knows one group, and in which one person has left."""

    def members(self, groups: tuple[str, ...]) -> frozenset[UserId]:
        """See the port."""
        if groups != ("S0KNOWN001",):
            raise CouldNotLook("No.", "", "")
        return frozenset({BEN, CLEO})

    def absent(self, users: tuple[UserId, ...]) -> frozenset[UserId]:
        """See the port."""
        return frozenset(users) & {LEFT}


@pytest.mark.parametrize(
    ("policy", "proposer", "said"),
    [
        (ApprovalPolicy(users=(BEN, CLEO)), ANA, ""),
        (ApprovalPolicy(users=(BEN, LEFT)), ANA, "Enough others are left."),
        (ApprovalPolicy(users=(BEN, LEFT)), BEN, "Too few are left"),
        (ApprovalPolicy(users=(LEFT,), groups=("S0KNOWN001",), required=2), ANA, "Enough others are left."),
        (ApprovalPolicy(users=(LEFT,), groups=("S0KNOWN001",), required=2), BEN, "Too few are left"),
        (ApprovalPolicy(users=(LEFT,), groups=("S0OTHER001",)), ANA, "so it is not known whether"),
        (ApprovalPolicy(users=(BEN,), groups=("S0OTHER001",), required=2), ANA, ""),
        (ApprovalPolicy(users=(BEN,), required=2), ANA, "Too few people can approve this"),
    ],
)
def test_whether_those_who_are_left_are_enough(policy: ApprovalPolicy, proposer: UserId, said: str) -> None:
    """Counted without the proposer; what Slack does not say is not taken for an answer."""
    told = who_is_gone(Slacks(), policy, proposer)  # type: ignore[arg-type]

    assert said in told
    assert bool(told) is bool(said)


def test_one_person_of_two_teams_does_not_stand_for_both() -> None:
    """As at the click itself."""
    teams = {"streaming": People(users=(BEN,)), "orders": People(users=(BEN, LEFT))}
    policy = ApprovalPolicy(teams=teams, required=1, different_teams=2)

    assert [can_be_met(policy, ANA, {}, gone) for gone in ((), (LEFT,))] == [True, False]


def test_doctor_names_shared_and_limited_channels_and_approvers_who_are_gone(slack: Workspace) -> None:
    """Each is something that somebody can change before the night of the incident."""
    slack.faults.shares("revenue-analytics", "dana")
    slack.faults.limits("fraud-ml", "read_only")
    slack.faults.deactivates("cleo")
    policies = {"default": ApprovalPolicy(users=(BEN, CLEO, LEFT), required=2)}
    setup = TableSetup(
        name=ORDERS, job=None, contract=CONTRACT, consumers=CONSUMERS, policies=policies, next_update_minutes=30
    )

    lines = list(slack_findings(WebClient(slack.bot_token, base_url=slack.api_url), [setup]))

    found = {(what, is_good): text for what, is_good, text, _remedy in lines}
    assert "read_only" in found["channel #fraud-ml", False]
    assert ("channel #revenue-analytics", True) in found
    assert "it is shared with another organisation" in [text for _what, _is_good, text, _remedy in lines]
    assert (
        f"2 of 3 named approvers are deactivated or unknown in Slack: <@{CLEO}>, <@{LEFT}>"
        in (found[f"policy default of {ORDERS}", False])
    )
