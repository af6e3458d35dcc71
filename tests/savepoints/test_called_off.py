"""Nobody hears that the job was not stopped for planned work when it was, or may have been."""

from collections.abc import Callable

import pytest

from bot.domain.entries import ExecutionEnded, PromiseReminded, Verified
from bot.domain.errors import Refused
from bot.domain.planned_work import refuse_untimely
from bot.service.closing import Closing
from bot.service.incident_store import IncidentStore
from bot.slack.blocks.promises import reminder_of_promise
from tests import orders_table as orders
from tests.decisions import ANA, PROPOSAL
from tests.incidents import Story
from tests.savepoints.stopped_work import begins, planned, refused, settled, stops, unknown
from tests.savepoints.test_announced import ANNOUNCED, OFF, OVER, NoReviews, counts, may_tell, says, takes_it
from tests.telling.conftest import Hand

__all__ = ["planned"]


@pytest.mark.parametrize("course", [begins, stops, refused, unknown], ids=lambda course: course.__name__)
def test_nobody_is_told_that_the_job_was_not_stopped(planned: Story, course: Callable[[Story], Story]) -> None:
    """Once it was, or may have been, whatever became of its savepoint; the remedy names no notice that is refused."""
    assert may_tell(planned, OFF)

    with pytest.raises(Refused, match=r"run a3f1c2 .* Nothing was sent") as off:
        refuse_untimely(course(planned).incident, "off")
    with pytest.raises(Refused, match="Nothing was sent") as over:
        refuse_untimely(planned.incident, "over")

    assert f"/waterline tell {OVER}" in off.value.remedy
    assert OFF not in over.value.remedy


def test_a_stop_that_did_not_happen_is_no_stop(planned: Story) -> None:
    """Refused by the job, or settled by whoever looked."""
    settled(unknown(planned), happened=False)

    assert may_tell(planned, OFF)


def test_a_stop_that_somebody_has_seen_is_one(planned: Story) -> None:
    """Settled as well."""
    assert not may_tell(settled(unknown(planned), happened=True), OFF)


def test_a_stop_that_was_refused_is_none(planned: Story) -> None:
    """The run went on."""
    assert may_tell(stops(planned, "refused"), OFF)


def test_work_that_has_begun_is_not_called_off_by_being_announced_once_more(planned: Story) -> None:
    """The job stands still since before; after its end, other work may be announced and called off."""
    assert not may_tell(says(takes_it(planned), ANNOUNCED), OFF)
    assert not may_tell(says(counts(planned), ANNOUNCED), OFF)

    says(says(planned, OVER), ANNOUNCED)

    assert may_tell(planned, OFF)
    assert not may_tell(planned, OVER)


def test_work_that_was_called_off_and_then_begun_is_not_called_off_again(planned: Story) -> None:
    """It is announced late, while the job stands still."""
    says(planned, OFF)

    assert not may_tell(says(takes_it(planned), ANNOUNCED), OFF)


def test_work_whose_savepoint_does_not_pair_has_an_end(planned: Story) -> None:
    """The job was started by hand, has committed, and its rows are right."""
    refused(planned)
    before = may_tell(planned, OVER)

    assert not before
    assert may_tell(counts(planned), OVER)


def test_the_reminder_offers_no_end_that_is_refused(planned: Story) -> None:
    """And closing asks for none."""
    desk = Closing(IncidentStore(planned.journal, Hand()), NoReviews(), {})  # type: ignore[arg-type]
    takes_it(planned).says(ExecutionEnded(proposal=PROPOSAL, outcome="applied", sentence="Kept."))
    planned.says(Verified(proposal=PROPOSAL, passed=True, checks=(), evidence=(), head=orders.GOOD))
    planned.says(PromiseReminded(what="planned-end", due=planned.now, moment=planned.now, people=(ANA,)))

    _, blocks = reminder_of_promise(planned.incident, planned.incident.entries[-1])
    with pytest.raises(Refused, match=f"{OVER}, once the job writes again") as kept_open:
        desk.close(planned.id, "Not now.", by=ANA)

    assert "It is over…" in str(blocks[1].to_dict())
    assert "called off" not in str([each.to_dict() for each in blocks])
    assert OFF not in kept_open.value.remedy
