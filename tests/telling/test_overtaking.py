"""Which notice ends which, pair by pair: what only the older one says is not lost for a newer one."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.entries import NoticeEnded, NoticeQueued, WaterlineMoved
from bot.domain.notice import Notice, NoticeData
from bot.notices.gather import earlier_of
from bot.service.outdated import overtakes
from tests import orders_table as orders
from tests.incidents import Story

WARNED, UPDATE, PROPOSED, BACKFILL, PLANNED = (
    "first_warning", "update", "recovery_proposed", "backfill_coming", "planned_work",
)  # fmt: skip
RECOVERED, NOTHING, CORRECTION, REVIEW = "recovered", "no_action_needed", "correction", "review_published"
KINDS = (WARNED, UPDATE, PROPOSED, BACKFILL, PLANNED, RECOVERED, NOTHING, CORRECTION, REVIEW)
OF_PLANNED_WORK = {PLANNED, WARNED, UPDATE, PROPOSED, RECOVERED, NOTHING, CORRECTION}
ENDED_BY = {
    WARNED: {UPDATE, RECOVERED, NOTHING, CORRECTION},
    UPDATE: {RECOVERED, NOTHING, CORRECTION},
    PROPOSED: {RECOVERED, NOTHING},
    BACKFILL: {RECOVERED, NOTHING},
    PLANNED: OF_PLANNED_WORK,
    RECOVERED: {NOTHING, CORRECTION},
    NOTHING: {RECOVERED, CORRECTION},
    CORRECTION: {RECOVERED, NOTHING},
    REVIEW: set[str](),
}
"""In one stage of the incident, and while nobody took a trust back."""


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """The table is under review; nobody is told yet."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        yield Story(store.journal).opens()


def queues(story: Story, kind: str, stage: str = "proposed", revision: int = 1) -> None:
    """It is on its way to revenue_daily."""
    notice = Notice(kind=kind, revision=revision, consumer="revenue_daily", channel="C0REVENUE2", text="x",
                    data=NoticeData(stage=stage))  # fmt: skip
    story.says(NoticeQueued(notice=notice))


def is_ended(story: Story) -> bool:
    """Whether the first one that was queued ends by the last one."""
    views = list(story.incident.notices.values())
    return overtakes(story.incident, views[-1], views[0])


@pytest.mark.parametrize("older", KINDS)
def test_each_ends_by_what_says_it_anew_and_by_nothing_else(story: Story, older: str) -> None:
    """Every kind after this one."""
    queues(story, older)
    for number, newer in enumerate(KINDS):
        queues(story, newer, revision=number + 2)
    first, *newer_ones = story.incident.notices.values()

    ended_by = {view.notice.kind for view in newer_ones if overtakes(story.incident, view, first)}

    assert ended_by == ENDED_BY[older] | {older}


@pytest.mark.parametrize(("stage", "ended"), [("proposed", False), ("executing", True), ("diagnosed", True)])
def test_a_proposal_ends_by_an_update_once_it_waits_no_more(story: Story, stage: str, ended: bool) -> None:
    """An update of the same stage, as one of a severity, does not say what is going to happen."""
    queues(story, PROPOSED)
    queues(story, UPDATE, stage)

    assert is_ended(story) is ended


@pytest.mark.parametrize("older", [PROPOSED, BACKFILL])
def test_what_was_to_be_done_ends_when_the_trust_is_withdrawn(story: Story, older: str) -> None:
    """It was planned for a table that was taken for right; a correction of a detail changes nothing about it."""
    story.says(WaterlineMoved(snapshot=orders.GOOD, status="trusted"))
    queues(story, older)
    queues(story, CORRECTION, "proven")
    assert not is_ended(story)

    story.says(WaterlineMoved(snapshot=orders.GOOD, status="under-review"))
    queues(story, CORRECTION, revision=2)

    assert is_ended(story)


def test_an_announcement_after_the_withdrawal_stands(story: Story) -> None:
    """It was written knowing that."""
    story.says(WaterlineMoved(snapshot=orders.GOOD, status="trusted"))
    story.says(WaterlineMoved(snapshot=orders.GOOD, status="under-review"))
    queues(story, BACKFILL)
    queues(story, CORRECTION)

    assert not is_ended(story)


def test_a_severity_that_did_not_arrive_is_told_as_changed_by_the_next_update(story: Story) -> None:
    """The newer update takes the older one's place, and would otherwise be silent of it."""
    for revision, severity in enumerate(("sev2", "sev1"), start=1):
        notice = Notice.model_validate(
            {"kind": UPDATE, "revision": revision, "consumer": "revenue_daily", "channel": "C0", "text": "x",
             "severity": severity}
        )  # fmt: skip
        story.says(NoticeQueued(notice=notice))
        if severity == "sev2":
            story.says(NoticeEnded(key=notice.key(story.id), how="delivered", detail="x"))

    earlier = earlier_of(story.incident, "revenue_daily", {})

    assert earlier is not None
    assert earlier.severity == "sev2"
