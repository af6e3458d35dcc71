"""What is sent by itself: nothing that warns who was told that all is well, and nothing for ever."""

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.contract import TableContract
from bot.domain.entries import Body, NoticeQueued, ReadersNoted, SeverityChanged, WaterlineMoved
from bot.domain.errors import Refused
from bot.domain.evidence import Verdict
from bot.domain.ids import TableName
from bot.domain.notice import Notice, NoticeData
from bot.domain.reads import Consumer
from bot.domain.setup import TableSetup
from bot.service.owed_notices import left_to_tell, owes_first_warning, owes_severity
from tests import orders_table as orders
from tests.incidents import Story, healthy

TRUSTED = WaterlineMoved(snapshot=orders.GOOD, status="trusted")
DOUBTED = WaterlineMoved(snapshot=orders.GOOD, status="under-review")
WORSE = SeverityChanged(before="sev2", severity="sev3", reason="Only one report.")


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """An incident that was opened as sev2; nobody is told yet."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        yield Story(store.journal).opens()


def setup(*names: str, warn_after_minutes: int = 15) -> TableSetup:
    """These are declared."""
    return TableSetup(
        name=orders.TABLE, job=orders.JOB, contract=TableContract(), policies={}, next_update_minutes=30,
        consumers=tuple(Consumer(name=name, channel="C0REVENUE1") for name in names),
        warn_after_minutes=warn_after_minutes,
    )  # fmt: skip


def told(kind: str, consumer: str = "revenue_daily", *, revision: int = 1, stage: str = "diagnosed") -> Body:
    """As sev2."""
    return NoticeQueued(
        notice=Notice(
            kind=kind, revision=revision, consumer=consumer, channel="C0REVENUE1", text=kind, severity="sev2",
            data=NoticeData(stage=stage),
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("since", "is_owed"),
    [
        ([told("first_warning")], True),
        ([told("first_warning"), TRUSTED, told("recovered")], False),
        ([TRUSTED, told("recovered"), told("backfill_coming"), told("review_published")], False),
        ([TRUSTED, told("recovered"), told("correction", stage="proven")], False),
        ([healthy(), told("no_action_needed")], False),
        ([told("no_action_needed"), told("correction")], True),
        ([TRUSTED, told("recovered"), DOUBTED], True),
        ([TRUSTED, told("recovered"), DOUBTED, told("correction")], True),
    ],
)
def test_who_was_told_that_all_is_well_hears_of_no_severity(story: Story, since: list[Body], is_owed: bool) -> None:
    """Until that holds no more: they would wait for a closing message that they have had."""
    for body in since:
        story.says(body)
    incident = story.says(WORSE).incident

    assert is_owed == owes_severity(incident, setup("revenue_daily"))
    if is_owed:
        assert left_to_tell(incident, setup("revenue_daily"), "update")
        return
    with pytest.raises(Refused, match="The consumers have a valid all-clear"):
        left_to_tell(incident, setup("revenue_daily"), "update")
    assert left_to_tell(incident, setup("revenue_daily"), "correction")


def test_who_came_later_is_told_and_who_knows_is_left_in_peace(story: Story) -> None:
    """Each consumer for itself."""
    story.says(TRUSTED, told("recovered"), told("first_warning", "board_report"), WORSE)

    left = left_to_tell(story.incident, setup("revenue_daily", "board_report"), "update")

    assert owes_severity(story.incident, setup("revenue_daily", "board_report"))
    assert ["board_report"] == [each.name for each in left]


def test_who_is_declared_no_longer_owes_nobody_an_update(story: Story) -> None:
    """Or it went to all others again every few seconds, for it never reaches who was taken off the list."""
    story.says(told("first_warning", "old_name"), told("first_warning"), WORSE)
    before = owes_severity(story.incident, setup("revenue_daily"))
    news = Notice(kind="update", revision=1, consumer="revenue_daily", channel="C0", text="x", severity="sev3")
    story.says(NoticeQueued(notice=news))

    assert (before, owes_severity(story.incident, setup("revenue_daily"))) == (True, False)


def after(story: Story, minutes: int) -> datetime:
    """So long after it was opened."""
    return story.incident.opened_at + timedelta(minutes=minutes)


def test_nobody_is_warned_after_an_all_clear(story: Story) -> None:
    """The table was found healthy before the warning was due."""
    story.says(healthy(), told("no_action_needed"))

    assert not owes_first_warning(story.incident, setup("revenue_daily"), after(story, 15))


def test_consumers_are_warned_where_evidence_has_refuted_the_all_clear(story: Story) -> None:
    """What was said at minute 4 holds no more at minute 15."""
    story.says(told("no_action_needed")).answers("duplicate_rows", Verdict.CONFIRMED)

    owed = [owes_first_warning(story.incident, setup("revenue_daily"), after(story, minute)) for minute in (14, 15)]

    assert [False, True] == owed
    assert left_to_tell(story.incident, setup("revenue_daily"), "first_warning")


def test_where_nobody_is_declared_readers_are_looked_for_once(story: Story) -> None:
    """Not at each settling: that observes table, job and lineage every few seconds."""
    owed = [owes_first_warning(story.incident, setup(), after(story, 15))]
    story.says(ReadersNoted(observed=(), unknown=None))
    owed.append(owes_first_warning(story.incident, setup(), after(story, 15)))

    assert [True, False] == owed


def test_a_severity_calls_no_planned_work_in_question(story: Story) -> None:
    """It would be told by an update, which says that the table is under review."""
    planned = Story(story.journal, start=story.now).opens(planned=True, table=TableName("sales.refunds"))
    planned.says(told("planned_work"), WORSE)
    before = owes_severity(planned.incident, setup("revenue_daily"))

    planned.answers()

    assert (before, owes_severity(planned.incident, setup("revenue_daily"))) == (False, True)
