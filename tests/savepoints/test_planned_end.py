"""The end of planned work is told when it has come: nobody hears that the job writes again while it stands still."""

from collections.abc import Callable

import pytest

from bot.incident.entries import ExecutionEnded, PromiseReminded, Verified
from bot.incident.savepoints import refuse_untimely
from bot.observation.errors import Refused
from bot.service.closing import Closing
from bot.service.incident_store import IncidentStore
from bot.slack.blocks.promises import reminder_of_promise
from tests import orders_table as orders
from tests.decisions import ANA, PROPOSAL
from tests.incidents import Story
from tests.savepoints.stopped_work import (
    AFTER,
    begins,
    planned,
    refused,
    settled,
    stops,
    unknown,
)
from tests.savepoints.test_announced import ANNOUNCED, OFF, OVER, counts, may_tell, says, takes_it
from tests.telling.conftest import Hand, NoReviews

__all__ = ["planned"]


def test_the_end_is_not_told_of_rows_that_were_counted_where_the_job_stopped(planned: Story) -> None:
    """Nobody hears that the job writes again while it stands still."""
    takes_it(planned)

    assert not may_tell(counts(planned, head=orders.GOOD), OVER)
    assert may_tell(counts(planned, head=AFTER), OVER)


@pytest.mark.parametrize("course", [begins, stops, refused, unknown], ids=lambda course: course.__name__)
def test_nobody_is_told_that_the_job_was_not_stopped(planned: Story, course: Callable[[Story], Story]) -> None:
    """Once it was, or may have been, whatever became of its savepoint; the remedy names no notice that is refused."""
    assert may_tell(planned, OFF)

    with pytest.raises(Refused, match=r"run a3f1c2 .* Nothing was sent") as off:
        refuse_untimely(course(planned).incident, "off")
    with pytest.raises(Refused, match="Nothing was sent") as over:
        refuse_untimely(planned.incident, "over")

    assert f"/waterline notify {OVER}" in off.value.remedy
    assert OFF not in over.value.remedy


@pytest.mark.parametrize(
    ("course", "may_be_called_off"),
    [
        pytest.param(lambda work: settled(unknown(work), happened=False), True, id="somebody saw that it did not stop"),
        pytest.param(lambda work: settled(unknown(work), happened=True), False, id="somebody saw that it stopped"),
        pytest.param(lambda work: stops(work, "refused"), True, id="the stop was refused: the run went on"),
        pytest.param(lambda work: says(takes_it(work), ANNOUNCED), False, id="announced once more while it stands"),
        pytest.param(lambda work: says(counts(takes_it(work)), ANNOUNCED), False, id="the same, and rows were counted"),
        pytest.param(lambda work: says(takes_it(says(work, OFF)), ANNOUNCED), False, id="called off, and then begun"),
    ],
)
def test_work_that_has_begun_is_not_called_off(
    planned: Story, course: Callable[[Story], Story], may_be_called_off: bool
) -> None:
    """The job stands still since before, however late that is announced."""
    assert may_tell(course(planned), OFF) is may_be_called_off


def test_after_its_end_other_work_may_be_announced_and_called_off(planned: Story) -> None:
    """And is not over before it has begun."""
    says(says(counts(takes_it(planned)), OVER), ANNOUNCED)

    assert may_tell(planned, OFF)
    assert not may_tell(planned, OVER)


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
