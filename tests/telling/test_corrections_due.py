"""Whoever was notified of a trusted snapshot that is not trusted any more is due for a correction until a person sends
it or says why not."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.beside import ALONE, refuse_other_trust
from bot.domain.corrections import corrections_due
from bot.domain.entries import Body, CorrectionDeclined, LateRunsSeen, NoticeEnded, NoticeQueued, WaterlineMoved
from bot.domain.errors import Refused
from bot.domain.ids import SnapshotId
from bot.domain.notice import Notice, NoticeData
from tests import orders_table as orders
from tests.decisions import ANA
from tests.incidents import Story

LOWEST = orders.COMMITS[2][1]


def told(kind: str, snapshot: SnapshotId | None = orders.GOOD, *, revision: int = 1) -> NoticeQueued:
    """revenue_daily is notified of this snapshot."""
    data = NoticeData(stage="proven" if kind == "recovered" else "investigating", trusted_snapshot=snapshot)
    notice = Notice(
        kind=kind, revision=revision, consumer="revenue_daily", channel="C0REVENUE2", text=f"{revision}", data=data
    )
    return NoticeQueued(notice=notice)


def lowered(to: SnapshotId | None) -> WaterlineMoved:
    """Under review up to this snapshot."""
    return WaterlineMoved(snapshot=to, status="under-review")


def trusted(to: SnapshotId = orders.GOOD) -> WaterlineMoved:
    """Proven."""
    return WaterlineMoved(snapshot=to, status="trusted")


NONE = CorrectionDeclined(consumers=("revenue_daily",), reason="They read it once a month.")
LATE = LateRunsSeen(consumer="revenue_daily", runs=("late",))


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """The head counts as trusted at the opening."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        yield Story(store.journal).opens(trusted=orders.HEAD)


@pytest.mark.parametrize(
    ("bodies", "why"),
    [
        ([told("first_warning", orders.HEAD)], None),
        ([told("first_warning", orders.HEAD), lowered(orders.GOOD)], "moved"),
        ([told("first_warning", orders.HEAD), lowered(None)], "moved"),
        ([told("first_warning", None), lowered(orders.GOOD)], None),
        ([told("first_warning", orders.HEAD), lowered(orders.GOOD), told("correction")], None),
        ([told("first_warning", orders.HEAD), lowered(orders.GOOD), told("update")], None),
        ([told("first_warning", orders.HEAD), lowered(orders.GOOD), told("correction"), lowered(LOWEST)], "moved"),
        ([lowered(orders.GOOD), lowered(LOWEST), told("correction")], "moved"),  # rendered before the move
        ([lowered(orders.GOOD), told("correction", LOWEST)], None),  # another incident says so of the table
        ([told("first_warning", orders.HEAD), lowered(orders.GOOD), trusted()], None),
        ([told("first_warning", orders.HEAD), lowered(orders.GOOD), NONE], None),
        ([told("first_warning", orders.HEAD), lowered(orders.GOOD), NONE, lowered(LOWEST)], "moved"),
        ([told("planned_work", None), lowered(orders.GOOD)], None),
        ([trusted(), told("recovered")], None),
        ([trusted(), told("recovered"), lowered(orders.GOOD)], "taken-back"),
        ([trusted(), told("recovered"), lowered(orders.GOOD), told("correction")], None),
        ([trusted(), told("recovered"), lowered(orders.GOOD), NONE], None),
        ([trusted(), told("recovered"), lowered(orders.GOOD), NONE, trusted(), lowered(orders.GOOD)], "taken-back"),
        ([trusted(), told("recovered"), lowered(orders.GOOD), trusted()], "proven-again"),
        ([trusted(), told("recovered"), lowered(orders.GOOD), trusted(), told("recovered", revision=2)], None),
        ([trusted(), told("recovered"), lowered(orders.GOOD), told("correction"), trusted()], None),
        ([told("first_warning"), trusted(), lowered(orders.GOOD)], None),
        ([trusted(), told("recovered"), LATE], "late-run"),
        ([trusted(), told("recovered"), LATE, told("recovered", revision=2)], None),
        ([trusted(), told("recovered"), LATE, NONE], None),
        ([trusted(), told("recovered"), LATE, lowered(orders.GOOD)], "taken-back"),
    ],
)
def test_who_is_due_for_a_correction(story: Story, bodies: list[Body], why: str | None) -> None:
    """By what the newest notice of each consumer says, and where the mark is now."""
    for body in bodies:
        story.says(body)

    assert ([] if why is None else [("revenue_daily", why)]) == [
        (each.consumer, each.why) for each in corrections_due(story.incident)
    ]


def test_it_stays_due_when_the_incident_is_closed_or_private(story: Story) -> None:
    """A person decides about it, so nothing hides it."""
    story.says(told("first_warning", orders.HEAD)).says(lowered(orders.GOOD)).closes()

    assert ["moved"] == [each.why for each in corrections_due(story.incident)]


def test_a_notice_that_never_came_is_not_corrected(story: Story) -> None:
    """It was overtaken before it was sent."""
    story.says(trusted()).says(told("recovered"))
    [view] = story.incident.notices.values()
    story.says(NoticeEnded(key=view.key, how="overtaken", detail="x")).says(lowered(orders.GOOD))

    assert () == corrections_due(story.incident)


@pytest.mark.parametrize(
    ("to", "by_now"), [(LOWEST, f"it is now {LOWEST}"), (None, "the trusted snapshot is now unknown")]
)
def test_a_correction_that_was_rendered_before_the_mark_moved_on_is_not_sent(
    story: Story, to: SnapshotId | None, by_now: str
) -> None:
    """It would tell them to read what is found wrong by now."""
    rendered = told("correction").notice
    story.says(told("first_warning", orders.HEAD), by=ANA).says(lowered(orders.GOOD)).says(lowered(to))

    with pytest.raises(Refused, match=rf"names snapshot {orders.GOOD} as trusted; {by_now}.*Preview it again"):
        refuse_other_trust(story.incident, [rendered], ALONE)
