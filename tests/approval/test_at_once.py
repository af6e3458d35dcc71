"""Many people at one moment, timers of several replicas: the journal takes each decision once."""

import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from bot.adapters.journal_sql.store import Store
from bot.incident.approval import ApprovalPolicy
from bot.incident.decisions import Approve
from bot.incident.entries import ProposalMade
from bot.incident.execution import ProposalState
from bot.observation.errors import Refused, Superseded
from bot.observation.ids import IncidentId, ProposalId, UserId
from bot.service.incident_store import IncidentStore
from bot.service.proposals.approving import Approvals, due_by_time
from bot.settings import refuse_unknown_actions
from tests.approval.desk import ANA
from tests.decisions import PROPOSAL, rewind
from tests.incidents import Story

CROWD = tuple(UserId(f"U0CROWD{n:03d}") for n in range(8))
POLICY = ApprovalPolicy(users=CROWD, required=2, reminder_interval=timedelta(minutes=10))


class Clock:
    """A time that a test sets."""

    def __init__(self) -> None:
        self.time = datetime.now(UTC)

    def now(self) -> datetime:
        return self.time


class World:
    """What is looked at before a yes is written: it holds, or it has moved."""

    has_moved = False

    def must_still_hold(self, _incident: IncidentId, _proposal: ProposalId) -> None:
        if self.has_moved:
            raise Superseded("The table has moved.", "", "Propose anew.")


class NoGroups:
    """A workspace whose policy names people only."""

    def members(self, groups: Sequence[str]) -> frozenset[UserId]:
        raise AssertionError(groups)


class Scene:
    """Ana's proposal, and one replica of the bot (or another) on the same record."""

    def __init__(self, record: Store) -> None:
        self.clock, self.world, self.record = Clock(), World(), record
        story = Story(record.journal, start=self.clock.time).opens()
        proposal = rewind(self.clock.time).model_copy(update={"policy": POLICY})
        story.says(ProposalMade(step=None, proposal=proposal), by=ANA)
        self.id, self.digest = story.id, proposal.digest
        self.store, self.approvals = self.replica()

    def replica(self) -> tuple[IncidentStore, Approvals]:
        """A process of its own."""
        store = IncidentStore(self.record.journal, self.clock)
        return store, Approvals(store, self.world, NoGroups(), self.clock)  # type: ignore[arg-type]

    def approve(self, by: UserId) -> str:
        """`counted`, or why not."""
        try:
            self.replica()[1].act(self.id, PROPOSAL, Approve(digest=self.digest), by=by)
        except Refused as refused:
            return refused.happened
        return "counted"


@pytest.fixture
def scene(record: Store) -> Scene:
    """Nobody has decided."""
    return Scene(record)


def test_two_of_eight_who_click_at_once_count(scene: Scene) -> None:
    """Exactly as many approvals as were asked for; the others hear who was faster."""
    answers: dict[UserId, str] = {}
    together = threading.Barrier(len(CROWD))

    def click(by: UserId) -> None:
        together.wait()
        answers[by] = scene.approve(by)

    threads = [threading.Thread(target=click, args=(by,)) for by in CROWD]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    view = scene.store.get(scene.id).proposals[PROPOSAL]
    late = [answer for answer in answers.values() if answer != "counted"]
    assert {given.by for given in view.approvals} == {by for by, answer in answers.items() if answer == "counted"}
    assert 2 == len(view.approvals)
    assert all("is approved already. It was approved by <@U0CROWD" in answer for answer in late)
    assert ProposalState.APPROVED is view.state


def test_a_yes_is_not_written_when_the_world_has_moved(scene: Scene) -> None:
    """The look comes between the rule and the record."""
    scene.world.has_moved = True

    with pytest.raises(Superseded):
        scene.approve(CROWD[0])

    assert [] == scene.store.get(scene.id).proposals[PROPOSAL].approvals


def test_two_replicas_that_wake_together_remind_once(scene: Scene) -> None:
    """Whoever is second finds it done."""
    scene.clock.time += timedelta(minutes=12)

    for _store, approvals in (scene.replica(), scene.replica()):
        approvals.expire_due(scene.id)

    assert 1 == scene.store.get(scene.id).proposals[PROPOSAL].reminders


def test_what_falls_due_is_found_in_the_record_by_time_alone(scene: Scene) -> None:
    """Not remembered by a process: nothing before the first reminder, and then that one, once."""
    _store, approvals = scene.replica()
    begun = scene.store.get(scene.id).proposals[PROPOSAL].proposal.proposed_at

    early = due_by_time(scene.store.get(scene.id), begun + POLICY.reminder_interval - timedelta(milliseconds=50))
    scene.clock.time = begun + POLICY.reminder_interval
    due = due_by_time(scene.store.get(scene.id), scene.clock.time)
    approvals.expire_due(scene.id)

    assert early == []
    assert [body.kind for body in due] == ["approval-reminded"]
    assert due_by_time(scene.store.get(scene.id), scene.clock.time) == []


def test_a_mistyped_action_is_not_left_to_the_default() -> None:
    """The name that was meant is offered."""
    with pytest.raises(
        Exception, match=r"roll_back_table_and_restore_jop: there is no such action.*Did you mean `roll_back_table"
    ):
        refuse_unknown_actions(
            "sales.orders", {"roll_back_table_and_restore_jop": POLICY}, ["roll_back_table_and_restore_job"], []
        )
