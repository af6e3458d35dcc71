"""Nobody hears that they need not do anything while events could not be read: their run may be in one of those."""

from collections.abc import Mapping

import pytest

from bot.domain.looked import Seen
from bot.domain.reads import Consumer, FarRead, ReadRun
from bot.notices import NoticeTemplate, facts_for, render, why_unknown
from bot.notices.affecting import affected_commits
from bot.notices.reading import ManyReaders, ReadAbove, ReadersUnknown
from bot.notices.readings import reading_of
from tests import orders_table as orders
from tests.decisions import HEAD_AFTER
from tests.incidents import Story
from tests.published import table_rewound

UNREAD = "3 lines of events.jsonl could not be read, the first is line 2"
REVENUE = Consumer(name="revenue_daily", channel="C0REVENUE1")
ROOM = Consumer(name="everybody", channel="C0REVENUE1", kind="channel")


def near(*snapshots: int, unread: str | None = None) -> Seen[ReadRun]:
    """Reads of these snapshots."""
    told = [{"consumer": "revenue_daily", "run_id": f"r{s}", "at": orders.NINE, "snapshot_id": s} for s in snapshots]
    return Seen(source="Lineage", values=tuple(map(ReadRun.model_validate, told)), unread=unread)


def far(unread: str | None = None) -> Seen[FarRead]:
    """Nobody read what others had written."""
    return Seen(source="Lineage", values=(), unread=unread)


@pytest.mark.parametrize(
    ("reads", "through"), [(near(HEAD_AFTER, unread=UNREAD), far()), (near(HEAD_AFTER), far(UNREAD))]
)
def test_a_reader_that_was_not_seen_is_asked_to_check(
    story: Story, templates: Mapping[str, NoticeTemplate], reads: Seen[ReadRun], through: Seen[FarRead]
) -> None:
    """How much could not be read is on record, for responders: it is nothing to consumers."""
    story.opens().answers().draws_the_ledger().diagnoses().proposes().approves().rewinds().verifies()
    table = table_rewound()

    facts = facts_for(
        story.incident, REVENUE, table, reads, through, kind="recovered", contract=orders.contract(),
        now=orders.NINE, next_update_minutes=30,
    )  # fmt: skip

    text = render(templates["recovered"], facts)
    assert facts.rerun.needed is None
    assert "Please check: we cannot tell whether revenue_daily read" in text
    assert UNREAD not in text
    assert "need not do anything" not in text
    assert why_unknown(affected_commits(story.incident, table), reads, through) == f"Lineage: {UNREAD}"


def test_what_was_seen_is_told_all_the_same() -> None:
    """One wrong read is enough; and a list of some readers is better than none."""
    wrong = orders.table_state().snapshots[-3:]

    assert isinstance(reading_of(REVENUE, wrong, near(orders.HEAD, unread=UNREAD), far()), ReadAbove)
    assert isinstance(reading_of(ROOM, wrong, near(orders.HEAD, unread=UNREAD), far()), ManyReaders)
    assert isinstance(reading_of(ROOM, wrong, near(unread=UNREAD), far()), ReadersUnknown)
