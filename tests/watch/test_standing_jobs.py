"""A job that stands still for a repair is not forgotten: the publication is offered again, and responders are asked."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from bot.adapters.journal_sql import Store
from bot.incident.effects import DropBranch, Effect, MakeBranch, PublishBranch, StartFromStop, StopJob
from bot.incident.entries import (
    EffectEnded,
    ExecutionEnded,
    ExecutionStarted,
    IncidentClosed,
    PromiseReminded,
    ProposalEnded,
    ProposalMade,
)
from bot.incident.journal import WATERLINE
from bot.incident.promises import due_reminders, reminders
from bot.incident.staged_repairs import AGAIN
from bot.observation.ids import ProposalId, SnapshotId
from bot.service.proposals.proposing import PUBLISH, offered_before
from bot.slack.blocks.promises import reminder_of_promise
from tests import orders_table as orders
from tests.decisions import ANA, BEN, rewind
from tests.incidents import Story

pytestmark = pytest.mark.smoke

BRANCH = "recovery-wl-1"
REPAIR, PUBLICATION = ProposalId("01JBQ5M7Z3T9K4X8V2N6R0PWAE"), ProposalId("01JBQ5M7Z3T9K4X8V2N6R0PWAF")
PUBLISHING = PublishBranch(
    table=orders.TABLE, branch=BRANCH, base=orders.HEAD, head=SnapshotId(9), keep_head_as="left", drop_branch=True
)
STARTING = StartFromStop(job=orders.JOB, job_id=orders.RUN_B)


@pytest.fixture
def story(record: Store) -> Story:
    """Run b was stopped, and a repair was rehearsed on a branch."""
    story = Story(record.journal).opens()
    proposed(story, REPAIR, "deduplicate_rows", *stopping())
    carried_out(story, REPAIR)
    return story


def stopping() -> tuple[Effect, ...]:
    """What a rehearsal does first."""
    return StopJob(job=orders.JOB, job_id=orders.RUN_B), MakeBranch(table=orders.TABLE, branch=BRANCH)


def proposed(story: Story, proposal: ProposalId, action: str, *effects: Effect) -> None:
    told = {"id": proposal, "action": action, "effects": effects, "title": "Deduplicate rows"}
    story.says(ProposalMade(step=None, proposal=rewind(story.now).model_copy(update=told)), by=ANA)


def carried_out(story: Story, proposal: ProposalId) -> None:
    """Each of its effects, to the end."""
    story.says(ExecutionStarted(proposal=proposal), by=BEN)
    for index in range(len(story.incident.proposals[proposal].proposal.effects)):
        story.says(EffectEnded(proposal=proposal, index=index, how="done", detail="Done."))
    story.says(ExecutionEnded(proposal=proposal, outcome="applied", sentence="It is done."))


def due(story: Story) -> list[datetime]:
    """When responders are asked next."""
    return [each.moment for each in reminders(story.incident, None) if each.what == "standing-job"]


@pytest.mark.parametrize(
    ("how", "is_offered"), [("expired", True), ("superseded", True), ("rejected", False), ("vetoed", False)]
)
def test_a_publication_that_nobody_turned_down_is_offered_again(story: Story, how: str, is_offered: bool) -> None:
    """Time or the world has ended it; while it waits, and after a person's no, nothing is offered."""
    rehearsal = story.incident.proposals[REPAIR]
    never = offered_before(story.incident, rehearsal)
    proposed(story, PUBLICATION, PUBLISH, PUBLISHING, STARTING)
    waits = offered_before(story.incident, rehearsal)
    ended = ProposalEnded.model_validate({"proposal": PUBLICATION, "how": how, "reason": "So it is."})
    story.says(ended, by=BEN if how in {"rejected", "vetoed"} else WATERLINE)

    assert (False, True) == (never, waits)
    assert is_offered is not offered_before(story.incident, rehearsal)


def test_responders_are_asked_once_an_interval(story: Story) -> None:
    """From the end of the rehearsal on; of several times that were missed, once."""
    rehearsed_at = story.now
    first = due(story)
    [asked] = reminders(story.incident, None)
    story.now = rehearsed_at + 3 * AGAIN - timedelta(minutes=1)
    story.says(PromiseReminded(what="standing-job", due=asked.due, moment=asked.moment, people=(ANA,)))

    assert [rehearsed_at + AGAIN] == first
    assert [rehearsed_at + 4 * AGAIN] == due(story)


def published(story: Story) -> None:
    """And the job is started."""
    proposed(story, PUBLICATION, PUBLISH, PUBLISHING, STARTING)
    carried_out(story, PUBLICATION)


def given_up(story: Story) -> None:
    """And the job is started."""
    proposed(
        story, PUBLICATION, "drop_repair_branch", DropBranch(table=orders.TABLE, branch=BRANCH, head=SnapshotId(9))
    )
    carried_out(story, PUBLICATION)


def started(story: Story) -> None:
    """The branch is still there."""
    proposed(story, PUBLICATION, "restart_from_stop_savepoint", STARTING)
    carried_out(story, PUBLICATION)


def closed(story: Story) -> None:
    story.says(IncidentClosed(reason="Over."), by=ANA)


@pytest.mark.parametrize("over", [published, given_up, started, closed])
def test_nobody_is_asked_when_it_is_over(story: Story, over: Callable[[Story], None]) -> None:
    """And the question says so."""
    since = next(each.due for each in reminders(story.incident, None) if each.what == "standing-job")
    entry = story.says(
        PromiseReminded(what="standing-job", due=since, moment=since + AGAIN, people=(ANA,))
    ).incident.entries[-1]
    before = str([block.to_dict() for block in reminder_of_promise(story.incident, entry)[1]])
    over(story)
    after = str([block.to_dict() for block in reminder_of_promise(story.incident, entry)[1]])

    assert [] == due(story)
    assert f"<@{ANA}>: {orders.JOB} has been stopped since" in before
    assert "not verified yet" in before
    assert "/waterline propose drop_repair_branch" in before
    assert "No job waits for this repair now." in after


def test_what_is_due_is_read_from_the_journal(story: Story) -> None:
    """By whoever knows nothing but the record; once it is written, nothing more."""
    now = story.now + AGAIN

    [asked] = due_reminders(story.incident, None, now)

    assert isinstance(asked, PromiseReminded)
    assert ("standing-job", (ANA,)) == (asked.what, asked.people)
    assert due_reminders(story.says(asked).incident, None, now) == []
