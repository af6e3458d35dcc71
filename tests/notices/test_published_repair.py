"""A repair that is published on top leaves the wrong commits in main's history: their readers are still told."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from bot.domain.errors import Refused
from bot.domain.ids import SnapshotId
from bot.domain.looked import Seen
from bot.domain.reads import Consumer, FarRead, ReadRun
from bot.notices import NoticeFacts, NoticeTemplate, facts_for, observed_readers, render
from bot.notices.affecting import affected_commits
from bot.notices.reading import NotObserved, ReadAbove
from bot.service.telling_rules import refuse_false_comfort
from tests import orders_table as orders
from tests.incidents import Story
from tests.published import MENDED, NEXT, WRONG, publishes, table_published

NOBODY_FAR: Seen[FarRead] = Seen(source="lineage events", values=())
REVENUE = Consumer(name="revenue_daily", channel="C0REVENUE1", owner="team revenue")


def _reads(snapshot: SnapshotId) -> Seen[ReadRun]:
    at = orders.NINE + timedelta(minutes=12)
    run = ReadRun(consumer="revenue_daily", run_id="run-1", at=at, snapshot_id=snapshot)
    return Seen(source="lineage events", values=(run,))


def _facts(story: Story, snapshot: SnapshotId) -> NoticeFacts:
    return facts_for(
        story.incident, REVENUE, table_published(), _reads(snapshot), NOBODY_FAR, kind="recovered",
        contract=orders.contract(), now=orders.NINE, next_update_minutes=30,
    )  # fmt: skip


def test_what_a_published_repair_stands_on_stays_affected(story: Story) -> None:
    """The wrong commits are told although main contains them; the repair and what followed are not."""
    publishes(story.opens())

    facts = _facts(story, orders.HEAD)

    assert facts.affected is not None
    assert WRONG == facts.affected.snapshots
    assert (300, False) == (facts.affected.rows, facts.affected.taken_back)


@pytest.mark.parametrize("snapshot", [orders.GOOD, MENDED, NEXT])
def test_who_read_before_the_fault_or_the_repair_itself_need_not_run_again(story: Story, snapshot: SnapshotId) -> None:
    """What was trusted when the incident opened, and what came with the repair, was never wrong."""
    publishes(story.opens())

    assert NotObserved(runs_seen=1) == _facts(story, snapshot).reading


@pytest.mark.parametrize("snapshot", WRONG)
def test_who_read_the_wrong_rows_is_asked_to_run_again(
    story: Story, templates: Mapping[str, NoticeTemplate], snapshot: SnapshotId
) -> None:
    """Never 'you need not do anything'; and the notice says what became of the commits."""
    publishes(story.opens())

    facts = _facts(story, snapshot)
    text = render(templates["recovered"], facts)

    assert isinstance(facts.reading, ReadAbove)
    assert "Please run again: revenue_daily read rows that were wrong." in text
    assert f"run-1` at 3 Nov 2026, 09:12 UTC, from snapshot `{snapshot}`" in text
    assert "Repaired by a later commit: 3 commits made" in text
    assert "need not do anything" not in text
    assert "No commit had to be" not in text


def test_who_read_them_is_noted_for_the_record(story: Story) -> None:
    """Also one whom no contract declares."""
    publishes(story.opens())
    affected = affected_commits(story.incident, table_published())

    [reader] = observed_readers((), affected, _reads(orders.HEAD), NOBODY_FAR)

    assert ("revenue_daily", 1, False) == (reader.consumer, reader.runs, reader.is_declared)


def test_nobody_is_told_that_nothing_was_wrong_once_main_was_moved(story: Story) -> None:
    """What evidence says of the repaired table says nothing of those who read it before."""
    publishes(story.opens())

    with pytest.raises(Refused, match="changed main"):
        refuse_false_comfort(story.incident, "no_action_needed")
