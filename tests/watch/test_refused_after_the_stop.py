"""A job that a refused proposal has left stopped is asked for until it runs, or a later rehearsal waits with it."""

from collections.abc import Callable

import pytest

from bot.adapters.journal_sql import Store
from bot.domain.effects import KeepSavepoint, MakeBranch, StartFromStop, StopJob
from bot.domain.entries import EffectEnded, ExecutionEnded, ExecutionStarted, OutcomeSettled, PromiseReminded
from bot.domain.errors import Refused
from bot.domain.rehearsals import AGAIN, left_by_stop, standing_job, stood_still
from bot.domain.requirements import RunIsCurrent
from bot.slack.blocks.promises import reminder_of_promise
from tests import orders_table as orders
from tests.decisions import ANA, BEN
from tests.incidents import Story, healthy
from tests.watch.test_closing_over_what_is_owed import closing, proven
from tests.watch.test_jobs_that_stay_down import DROPPING, LATER, NOBODY, proposed
from tests.watch.test_standing_jobs import PUBLICATION, REPAIR, STARTING, carried_out, due, record, stopping

__all__ = ["record"]
LIVE = RunIsCurrent(job=orders.JOB, job_id=orders.RUN_B)


@pytest.fixture
def story(record: Store) -> Story:
    """Run b was stopped for a repair, and a backfill came before its branch was begun."""
    story = Story(record.journal).opens()
    proposed(story, REPAIR, stopping(), LIVE)
    story.says(ExecutionStarted(proposal=REPAIR), by=BEN)
    left = {"savepoint": "s3://lake/savepoints/savepoint-b-6"}
    story.says(EffectEnded(proposal=REPAIR, index=0, how="done", detail="Done.", result=left))
    refused(story, 1)
    return story


def refused(story: Story, index: int) -> None:
    """At this effect of the repair."""
    story.says(EffectEnded(proposal=REPAIR, index=index, how="refused", detail="Main has moved."))
    story.says(ExecutionEnded(proposal=REPAIR, outcome="refused", sentence="Main has moved."))


def test_responders_are_asked_and_told_the_way_back(story: Story) -> None:
    """An hour after the refusal."""
    stands = standing_job(story.incident)
    assert stands is not None
    asked = PromiseReminded(what="standing-job", due=stands.since, moment=due(story)[0], people=(ANA,))
    entry = story.says(asked).incident.entries[-1]

    text = str([block.to_dict() for block in reminder_of_promise(story.incident, entry)[1]])

    assert stands.asked_from + AGAIN == asked.moment
    assert "“Go on” stopped the job and could not finish" in text
    assert "Propose to undo it" in text
    assert "publish_repair" not in text


def test_its_incident_is_closed_over_it_only_anyway(record: Store, story: Story) -> None:
    """Afterwards nobody would be reminded."""
    with pytest.raises(Refused, match=rf"{orders.JOB} is stopped since .*undo the stop"):
        closing(record).close(story.id, "Done.", by=ANA)

    assert closing(record).close(story.id, "Anyway, it is retired.", by=ANA).closed_at is not None


def undone(story: Story) -> None:
    """And the job is started."""
    proposed(story, PUBLICATION, (STARTING,), NOBODY)
    carried_out(story, PUBLICATION)


def seen_alive(story: Story) -> None:
    """Somebody started it, and a later proposal names its run."""
    proposed(story, LATER, (), LIVE)
    carried_out(story, LATER)


def called_healthy(story: Story) -> None:
    """Somebody started it."""
    story.says(healthy())


@pytest.mark.parametrize("runs", [undone, seen_alive, called_healthy])
def test_once_it_runs_nothing_is_asked(record: Store, story: Story, runs: Callable[[Story], None]) -> None:
    """By whomever it was started."""
    runs(story)
    proven(story)

    assert standing_job(story.incident) is None
    assert [] == due(story)
    assert closing(record).close(story.id, "Done.", by=ANA).closed_at is not None


def test_a_later_rehearsal_takes_it_over(story: Story) -> None:
    """Then it waits for that one's end, and goes on from what the first stop left."""
    before = left_by_stop(story.incident, orders.JOB)
    proposed(story, PUBLICATION, (MakeBranch(table=orders.TABLE, branch="recovery-wl-1-pwaf"),), NOBODY)
    carried_out(story, PUBLICATION)
    stands = standing_job(story.incident)
    left = stood_still(story.incident, story.incident.proposals[PUBLICATION])
    proposed(story, LATER, (DROPPING.model_copy(update={"branch": "recovery-wl-1-pwaf"}),), NOBODY)
    carried_out(story, LATER)
    given_up = standing_job(story.incident)

    assert stands is not None
    assert stands.waits_for is not None
    assert stands.waits_for.proposal.id == PUBLICATION
    assert stands.settled is None
    assert before is not None
    assert (orders.RUN_B, "s3://lake/savepoints/savepoint-b-6") == (before.run, before.savepoint)
    assert before == left
    assert given_up is not None
    assert given_up.settled == "given up"


def test_a_rehearsal_beside_a_run_takes_nothing_over(story: Story) -> None:
    """It stops its own."""
    story.says(healthy())
    proposed(story, PUBLICATION, stopping(), LIVE)
    carried_out(story, PUBLICATION)

    stands = standing_job(story.incident)

    assert stands is not None
    assert stands.stopped_by.proposal.id == PUBLICATION


def test_what_was_approved_to_start_none_leaves_nothing(record: Store) -> None:
    """A savepoint for new code that people start; where its savepoint does not pair it is refused, and asked for."""
    story = Story(record.journal).opens()
    stop = StopJob(job=orders.JOB, job_id=orders.RUN_B)
    keep = KeepSavepoint(table=orders.TABLE, job=orders.JOB, job_id=orders.RUN_B, tagged="20261126-pwae")
    proposed(story, LATER, (stop, keep), LIVE)
    carried_out(story, LATER)
    applied = standing_job(story.incident)
    proposed(story, REPAIR, (stop, keep), LIVE)
    story.says(ExecutionStarted(proposal=REPAIR), by=BEN)
    story.says(EffectEnded(proposal=REPAIR, index=0, how="done", detail="Done."))
    refused(story, 1)

    stands = standing_job(story.incident)

    assert applied is None
    assert stands is not None
    assert stands.settled == "refused"


def test_a_stop_of_which_only_a_person_knows_counts(record: Store) -> None:
    """And so does the word that the start after it did not happen."""
    story = Story(record.journal).opens()
    stop = StopJob(job=orders.JOB, job_id=orders.RUN_B)
    proposed(story, REPAIR, (stop, StartFromStop(job=orders.JOB, job_id=orders.RUN_B)), LIVE)
    story.says(ExecutionStarted(proposal=REPAIR), by=BEN)
    story.says(EffectEnded(proposal=REPAIR, index=0, how="unknown", detail="Nobody knows."))
    story.says(ExecutionEnded(proposal=REPAIR, outcome="unknown", sentence="Nobody knows."))
    told = OutcomeSettled.model_validate(
        {"proposal": REPAIR, "by": BEN, "at": story.now, "index": 0, "happened": True, "reason": "It is gone."}
    )
    story.says(told, by=BEN)
    refused(story, 1)

    stands = standing_job(story.incident)

    assert stands is not None
    assert (orders.RUN_B, None) == (stands.left.run, stands.left.savepoint)
