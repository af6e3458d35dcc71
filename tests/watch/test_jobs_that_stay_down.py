"""A job that a published or given up repair has left down is not forgotten until it runs again."""

from collections.abc import Callable

import pytest

from bot.adapters.journal_sql import Store
from bot.domain.effects import DropBranch, Effect
from bot.domain.entries import PromiseReminded, ProposalMade
from bot.domain.errors import Refused
from bot.domain.ids import ProposalId, SnapshotId
from bot.domain.rehearsals import AGAIN, standing_job
from bot.domain.requirements import NobodyWrites, Requirement, RunIsCurrent
from bot.slack.blocks.promises import reminder_of_promise
from tests import orders_table as orders
from tests.decisions import ANA, rewind
from tests.incidents import Story, healthy
from tests.watch.test_closing_over_what_is_owed import closing, proven
from tests.watch.test_standing_jobs import (
    BRANCH,
    PUBLICATION,
    PUBLISHING,
    STARTING,
    carried_out,
    due,
    record,
    story,
)

__all__ = ["record", "story"]
DROPPING = DropBranch(table=orders.TABLE, branch=BRANCH, head=SnapshotId(9))
NOBODY = NobodyWrites(job=orders.JOB)
LATER = ProposalId("01JBQ5M7Z3T9K4X8V2N6R0PWAG")
ENDS = pytest.mark.parametrize(("end", "said"), [(PUBLISHING, "published"), (DROPPING, "given up")])


def proposed(story: Story, proposal: ProposalId, effects: tuple[Effect, ...], *requirements: Requirement) -> None:
    """By Ana."""
    told = {"id": proposal, "effects": effects, "title": "Go on", "requirements": requirements}
    story.says(ProposalMade(step=None, proposal=rewind(story.now).model_copy(update=told)), by=ANA)


def settled(story: Story, *effects: Effect, requirement: Requirement = NOBODY) -> None:
    """The repair, and all is proven."""
    proposed(story, PUBLICATION, effects, requirement)
    carried_out(story, PUBLICATION)
    proven(story)


@ENDS
def test_responders_are_asked_on_while_it_is_down(story: Story, end: Effect, said: str) -> None:
    """An hour after its repair has come to its end, in words that fit."""
    proposed(story, PUBLICATION, (end,), NOBODY)
    carried_out(story, PUBLICATION)
    stands = standing_job(story.incident)
    assert stands is not None
    asked = PromiseReminded(what="standing-job", due=stands.since, moment=due(story)[0], people=(ANA,))
    entry = story.says(asked).incident.entries[-1]

    text = str([block.to_dict() for block in reminder_of_promise(story.incident, entry)[1]])

    assert [stands.asked_from + AGAIN] == [asked.moment]
    assert f"that repair is {said}, and the job was not started with it" in text
    assert "publish_repair" not in text


@ENDS
def test_its_incident_is_closed_over_it_only_anyway(record: Store, story: Story, end: Effect, said: str) -> None:
    """Afterwards nobody would be reminded."""
    settled(story, end)

    with pytest.raises(Refused, match=f"{orders.JOB} stands still since") as refused:
        closing(record).close(story.id, "Done.", by=ANA)

    assert f"Its repair is {said}, and the job was not started with that." == refused.value.found
    assert closing(record).close(story.id, "Anyway, it is retired.", by=ANA).closed_at is not None


def restored(story: Story) -> None:
    """By a later proposal."""
    proposed(story, LATER, (STARTING,), NOBODY)
    carried_out(story, LATER)
    proven(story)


def seen_alive(story: Story) -> None:
    """Somebody started it, and a later proposal names its run."""
    proposed(story, LATER, (), RunIsCurrent(job=orders.JOB, job_id=orders.RUN_C))
    carried_out(story, LATER)
    proven(story)


def called_healthy(story: Story) -> None:
    """Somebody started it."""
    story.says(healthy())


@ENDS
@pytest.mark.parametrize("runs", [restored, seen_alive, called_healthy])
def test_once_it_runs_nothing_is_asked(
    record: Store, story: Story, runs: Callable[[Story], None], end: Effect, said: str
) -> None:
    """By whomever it was started."""
    settled(story, end)
    before = standing_job(story.incident)

    runs(story)

    assert before is not None
    assert before.settled == said
    assert [] == due(story)
    assert closing(record).close(story.id, "Done.", by=ANA).closed_at is not None


def test_nor_where_it_was_started_with_the_publication(story: Story) -> None:
    """As most are."""
    settled(story, PUBLISHING, STARTING)

    assert standing_job(story.incident) is None


def test_nor_where_its_run_was_alive_when_the_repair_was_given_up(story: Story) -> None:
    """People had started it: then the proposal does not say that nobody writes."""
    settled(story, DROPPING, requirement=RunIsCurrent(job=orders.JOB, job_id=orders.RUN_C))

    assert standing_job(story.incident) is None
