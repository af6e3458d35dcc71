"""An incident is not closed over a job that stands still for its repair, or over a deed that is not proven yet."""

import pytest

from bot.adapters.journal_sql import Store
from bot.domain.entries import Verified
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.ids import SnapshotId
from bot.domain.journal import WATERLINE
from bot.service.closing import Closing
from bot.service.incident_store import IncidentStore
from tests import orders_table as orders
from tests.decisions import ANA
from tests.incidents import Story
from tests.telling.conftest import Hand
from tests.watch.test_standing_jobs import BRANCH, REPAIR, given_up, record, started, story

__all__ = ["record", "story"]


class NoReviews:
    """Nothing can be looked at."""

    def filled(self, _incident: object) -> None:
        """See the service."""
        raise CouldNotLook("The catalog does not answer.", "", "")


def closing(record: Store) -> Closing:
    """Nobody waits for word."""
    return Closing(IncidentStore(record.journal, Hand()), NoReviews(), {})  # type: ignore[arg-type]


def proven(story: Story, *, passed: bool = True) -> None:
    """The repair, on its branch, and what followed it, on main."""
    for proposal, view in story.incident.proposals.items():
        branch = BRANCH if proposal == REPAIR else None
        if view.verified is None:
            told = Verified(proposal=proposal, passed=passed, checks=(), evidence=(), head=SnapshotId(9), branch=branch)
            story.says(told, by=WATERLINE)


@pytest.mark.parametrize("passed", [True, False])
def test_a_job_that_stands_still_is_named_with_the_ways_out(record: Store, story: Story, passed: bool) -> None:
    """Waterline has stopped it; in a closed incident nothing starts it again."""
    proven(story, passed=passed)

    with pytest.raises(Refused, match=rf"{orders.JOB} is stopped since .*“Deduplicate rows”.*anyway"):
        closing(record).close(story.id, "Done.", by=ANA)

    assert closing(record).close(story.id, "Anyway, it was started by hand.", by=ANA).closed_at is not None


def test_once_it_is_given_up_and_proven_nothing_stands_in_the_way(record: Store, story: Story) -> None:
    """The branch is gone, and somebody started the job."""
    proven(story)
    given_up(story)
    proven(story)

    assert closing(record).close(story.id, "Done.", by=ANA).closed_at is not None


def test_a_deed_that_is_not_proven_yet_is_waited_for(record: Store, story: Story) -> None:
    """The proof that was promised comes only while it is open."""
    proven(story)
    started(story)

    with pytest.raises(Refused, match="is applied and not verified yet"):
        closing(record).close(story.id, "Done.", by=ANA)

    proven(story)
    assert closing(record).close(story.id, "Done.", by=ANA).closed_at is not None
