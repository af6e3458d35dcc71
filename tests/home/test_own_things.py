"""App Home: which tables are mine, what waits for my yes, and what is still promised to anybody."""

from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql import Store, open_store
from bot.incident.approval import ApprovalPolicy, VetoRule
from bot.incident.entries import NoticeQueued, NoticesHeld, NoticesPreviewed, ProposalMade
from bot.incident.notice import PLANNED, Notice, NoticeData
from bot.incident.setup import TableSetup, Team, TeamMember
from bot.incident.trust import Basis, Trust, TrustState
from bot.observation.errors import CouldNotLook
from bot.observation.ids import TableName, UserId
from bot.observation.readers import Consumer
from bot.service.home import HomeFacts, home_facts
from bot.slack.blocks.home import home_view
from bot.slack.directory import RecentMembers
from tests import orders_table as orders
from tests.decisions import ANA, BEN, EVE, rewind
from tests.incidents import Story

CLEO = UserId("U0CLEO0003")
DANA = UserId("U0DANA0004")
GROUPS = {"S0APPROVE1": frozenset({BEN, CLEO}), "S0OTHER001": frozenset({EVE})}
MINUTE = timedelta(minutes=1)


@pytest.fixture
def story(record: Store) -> Story:
    """An incident that is not opened yet."""
    return Story(record.journal)


def setup(table: TableName = orders.TABLE, **changes: object) -> TableSetup:
    """Decided by a group, read by revenue_daily, for which Dana answers."""
    made = TableSetup(
        name=table, job=orders.JOB, contract=orders.contract(),
        consumers=(Consumer(name="revenue_daily", channel="C0REVENUE2", owner=DANA),),
        policies={"default": ApprovalPolicy(groups=("S0APPROVE1",))}, next_update_minutes=30,
    )  # fmt: skip
    return made.model_copy(update=changes)


def members(groups: Sequence[str]) -> frozenset[UserId]:
    """The workspace's user groups."""
    return frozenset(user for group in groups for user in GROUPS[group])


def trust(table: TableName) -> Trust:
    """Nobody has a doubt."""
    return Trust(
        table=table, state=TrustState.TRUSTED, snapshot=None, committed_at=None, basis=Basis.NONE, head=None,
        above=None, why="So it is.", advice="Read on.", since=None, incident=None, doubts=(), pins=(),
        checked_at=orders.NINE,
    )  # fmt: skip


def home(user: UserId, *stories: Story, setups: Sequence[TableSetup] = (), now: datetime | None = None) -> HomeFacts:
    """What this person sees."""
    known = {each.name: each for each in setups or (setup(),)}
    at = now or max((story.now for story in stories), default=orders.NINE)
    return home_facts([story.incident for story in stories], map(trust, known), known, user, members, at)


def test_tables_of_ones_team_and_consumers_are_ones_own() -> None:
    """A member of the team until the last day; who answers for a consumer; nobody else."""
    eve = TeamMember(name="Eve", slack=EVE, until=orders.NINE.date() + timedelta(days=1))
    owned = setup(team=Team(name="Orders", members=(TeamMember(name="Dana"), eve)))

    assert home(DANA).own == {orders.TABLE}
    assert home(EVE, setups=[owned]).own == {orders.TABLE}
    assert home(EVE).own == home(EVE, setups=[owned], now=orders.NINE + timedelta(days=1)).own == frozenset()


def test_a_group_that_cannot_be_read_is_said(story: Story) -> None:
    """Other groups count all the same."""

    def one_is_gone(groups: Sequence[str]) -> frozenset[UserId]:
        if "S0GONE0001" in groups:
            raise CouldNotLook("The group cannot be read.", "", "")
        return members(groups)

    asked = rewind(story.opens().now)
    policy = ApprovalPolicy(groups=("S0GONE0001", "S0APPROVE1"))
    story.says(ProposalMade(step=None, proposal=asked.model_copy(update={"policy": policy})), by=ANA)
    of_cleo, of_eve = (
        home_facts([story.incident], [], {}, user, one_is_gone, asked.proposed_at) for user in (CLEO, EVE)
    )

    assert len(of_cleo.waiting) == 1
    assert (of_eve.waiting, of_eve.groups_unknown) == ((), True)
    assert "Slack did not return" in str(home_view(of_eve).to_dict())


def holds(story: Story, kind: str = "update") -> Notice:
    """Ana asks for a second person, of the approving group."""
    notice = Notice(kind=kind, revision=1, consumer="revenue_daily", channel="C0REVENUE2", text="Wait.")
    policy = ApprovalPolicy(groups=("S0APPROVE1",))
    story.says(NoticesPreviewed(name="seen", notices=(notice,)), by=ANA)
    story.says(NoticesHeld(name="seen", policy=policy, step=None), by=ANA)
    return notice


def test_notices_that_i_may_send_are_listed(story: Story) -> None:
    """For whom the policy names; not for the asker, nor once they are sent."""
    notice = holds(story.opens())
    before = [len(home(user, story).held) for user in (BEN, CLEO, EVE, ANA)]
    shown = str(home_view(home(CLEO, story)).to_dict())
    story.says(NoticeQueued(notice=notice), by=BEN)

    assert [1, 1, 0, 0] == before
    assert "the notice “update” for revenue_daily, in <#" in shown
    assert home(CLEO, story).held == ()


@pytest.mark.parametrize(("minutes", "waits"), [(24, 1), (25, 0)])
def test_a_proposal_waits_for_me_until_the_last_yes_that_can_count(story: Story, minutes: int, waits: int) -> None:
    """Of its half an hour, five minutes are the hold for a veto: a later yes comes too late."""
    asked = rewind(story.opens().now)
    policy = ApprovalPolicy(groups=("S0APPROVE1",), veto=VetoRule(users=(EVE,), hold=5 * MINUTE))
    asked = asked.model_copy(update={"policy": policy, "expires_at": asked.proposed_at + 30 * MINUTE})
    story.says(ProposalMade(step=None, proposal=asked), by=ANA)

    facts = home(CLEO, story, now=asked.proposed_at + minutes * MINUTE)

    assert len(facts.waiting) == waits


@pytest.mark.parametrize(("kind", "waits"), [("review", 1), ("update", 0)])
def test_after_its_end_only_what_may_still_be_sent_waits(story: Story, kind: str, waits: int) -> None:
    """A review is published when its incident has ended."""
    holds(story.opens(), kind)
    story.closes()

    assert len(home(CLEO, story).held) == waits


@pytest.mark.parametrize(("kind", "promised"), [("warning", True), ("recovered", False), ("no_action", False)])
def test_nothing_is_promised_after_the_last_word(story: Story, kind: str, promised: bool) -> None:
    """However long ago it was said: nobody waits for more, and nothing is overdue."""
    notice = Notice(kind=kind, revision=1, consumer="revenue_daily", channel="C0REVENUE2", text="It is so.")
    story.opens().says(NoticeQueued(notice=notice))

    facts = home(ANA, story, now=story.now + timedelta(hours=3))

    assert [each.what for each in facts.promises] == (["next update to consumers"] if promised else [])
    assert ("overdue" in str(home_view(facts).to_dict())) is promised


def test_a_group_is_read_once_a_minute_for_what_is_only_shown() -> None:
    """Whoever looks; after a minute anew, and what failed at once."""
    asked: list[str] = []

    class Counting:
        now_is = orders.NINE
        fails = False

        def now(self) -> datetime:
            return self.now_is

        def members(self, groups: Sequence[str]) -> frozenset[UserId]:
            asked.extend(groups)
            if self.fails:
                raise CouldNotLook("No.", "", "")
            return members(groups)

    world = Counting()
    recent = RecentMembers(world, world)
    twice = [recent.members(["S0APPROVE1", "S0OTHER001"]), recent.members(["S0OTHER001"])]
    within = list(asked)
    world.now_is, world.fails = orders.NINE + MINUTE, True
    with pytest.raises(CouldNotLook):
        recent.members(["S0OTHER001"])
    world.fails = False
    again = recent.members(["S0OTHER001"])

    assert twice == [{BEN, CLEO, EVE}, {EVE}]
    assert within == ["S0APPROVE1", "S0OTHER001"]
    assert asked[2:] == ["S0OTHER001", "S0OTHER001"]
    assert again == {EVE}


@pytest.mark.parametrize("is_said", [True, False])
def test_the_end_of_planned_work_is_due_when_it_was_said_to_be_over(tmp_path: Path, is_said: bool) -> None:
    """A day after the announcement only where nobody said when."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        story = Story(store.journal).opens(planned=True)
        over_by = story.now + timedelta(hours=2) if is_said else None
        data = NoticeData(stage="investigating", over_by=over_by)
        notice = Notice(kind=PLANNED, revision=1, consumer="a", channel="C0REVENUE2", text="x", data=data)
        story.says(NoticeQueued(notice=notice))

        [promise] = home(ANA, story).promises

        assert promise.what == "notify consumers that planned work is over"
        assert promise.at == (over_by or story.now + timedelta(days=1))
