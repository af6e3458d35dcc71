"""What another incident or a published repair takes back, and what could not be read."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from bot.notices import NoticeFacts, NoticeTemplate, facts_for, observed_readers, render, why_unknown
from bot.notices.affecting import affected_commits
from bot.notices.reading import ManyReaders, NotObserved, ReadAbove, ReadersUnknown, reading_of
from bot.observation.errors import Refused
from bot.observation.ids import SnapshotId
from bot.observation.looked import Seen
from bot.observation.readers import Consumer, FarRead, ReadRun
from bot.observation.table import HeadMove, TableState
from bot.service.notices.policy import refuse_false_comfort
from tests import orders_table as orders
from tests.decisions import HEAD_AFTER
from tests.incidents import Story
from tests.published import MENDED, NEXT, WRONG, publishes, table_published, table_rewound

NOBODY_FAR: Seen[FarRead] = Seen(source="lineage events", values=())
REVENUE = Consumer(name="revenue_daily", channel="C0REVENUE1", owner="team revenue")


def _reads(snapshot: SnapshotId) -> Seen[ReadRun]:
    at = orders.NINE + timedelta(minutes=12)
    run = ReadRun(consumer="revenue_daily", run_id="run-1", at=at, snapshot_id=snapshot)
    return Seen(source="lineage events", values=(run,))


def _facts(story: Story, table: TableState, reads: Seen[ReadRun], through: Seen[FarRead] = NOBODY_FAR) -> NoticeFacts:
    return facts_for(
        story.incident, REVENUE, table, reads, through, kind="recovered", contract=orders.contract(),
        now=orders.NINE, next_update_minutes=30,
    )  # fmt: skip


def test_what_a_published_repair_stands_on_stays_affected(story: Story) -> None:
    """The wrong commits are told although main contains them; the repair and what followed are not."""
    publishes(story.opens())

    facts = _facts(story, table_published(), _reads(orders.HEAD))

    assert WRONG == facts.affected.snapshots
    assert (300, False) == (facts.affected.rows, facts.affected.taken_back)


@pytest.mark.parametrize("snapshot", [orders.GOOD, MENDED, NEXT])
def test_who_read_before_the_fault_or_the_repair_itself_need_not_run_again(story: Story, snapshot: SnapshotId) -> None:
    """What was trusted when the incident opened, and what came with the repair, was never wrong."""
    publishes(story.opens())

    assert NotObserved(runs_seen=1) == _facts(story, table_published(), _reads(snapshot)).reading


@pytest.mark.parametrize("snapshot", WRONG)
def test_who_read_the_wrong_rows_is_asked_to_run_again(
    story: Story, templates: Mapping[str, NoticeTemplate], snapshot: SnapshotId
) -> None:
    """Never 'you need not do anything'; and the notice says what became of the commits."""
    publishes(story.opens())

    facts = _facts(story, table_published(), _reads(snapshot))
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
        refuse_false_comfort(story.incident, "no_action")


AFTER = SnapshotId(HEAD_AFTER + 1000)
"""Committed after the proof; a later incident takes it back."""
LAST = SnapshotId(HEAD_AFTER + 2000)


def _affected(story: Story, table: TableState) -> tuple[SnapshotId, ...]:
    return tuple(each.snapshot_id for each in affected_commits(story.incident, table))


def _rolled_back(table: TableState, to: SnapshotId) -> TableState:
    move = HeadMove(at=orders.NINE + timedelta(minutes=30), snapshot_id=to)
    return table.model_copy(update={"head": to, "head_moves": (*table.head_moves, move)})


def _goes_on(table: TableState) -> TableState:
    """One more commit on main."""
    at = orders.NINE + timedelta(minutes=31)
    number = max(s.sequence_number for s in table.snapshots) + 1
    commit = {"snapshot_id": LAST, "parent_id": table.head, "sequence_number": number, "committed_at": at}
    return table.model_copy(
        update={
            "head": LAST,
            "snapshots": (*table.snapshots, table.snapshots[-1].model_copy(update=commit)),
            "head_moves": (*table.head_moves, HeadMove(at=at, snapshot_id=LAST)),
        }
    )


def _earlier(table: TableState, minutes: int) -> TableState:
    moves = tuple(HeadMove(at=m.at - timedelta(minutes=minutes), snapshot_id=m.snapshot_id) for m in table.head_moves)
    return table.model_copy(update={"head_moves": moves})


def test_what_a_later_rewind_takes_back_is_not_of_the_first(story: Story) -> None:
    """Though main stands on the proven head again."""
    story.opens().proposes().approves().rewinds().verifies().closes()

    again = _goes_on(_rolled_back(table_rewound(), HEAD_AFTER))
    assert again.by_id.keys() >= {AFTER, LAST}

    assert WRONG == _affected(story, again)


def test_a_later_rewind_below_the_proof_leaves_what_was_affected(story: Story) -> None:
    """What was proven, and is taken back all the same, is told by whoever takes it back."""
    story.opens().proposes().approves().rewinds().verifies().closes()

    assert WRONG == _affected(story, _rolled_back(table_rewound(), orders.GOOD))


def test_what_a_repair_on_top_mended_stays_affected_after_a_later_rewind(story: Story) -> None:
    """Their readers were told that these were wrong, and they were."""
    publishes(story.opens())

    assert WRONG == _affected(story, _rolled_back(table_published(), orders.GOOD))


@pytest.mark.parametrize("minutes", [-600, 600])
def test_clocks_that_differ_change_nothing_where_the_log_is_plain(story: Story, minutes: int) -> None:
    """Main stood on the proven head once: whose clock is right does not matter."""
    story.opens().proposes().approves().rewinds().verifies()

    assert WRONG == _affected(story, _earlier(table_rewound(), minutes))


def test_a_proven_head_that_has_expired_leaves_the_log_up_to_the_proof(story: Story) -> None:
    """Then only the time tells what came before."""
    story.opens().proposes().approves().rewinds().verifies()
    table = _goes_on(_rolled_back(_earlier(table_rewound(), 15), orders.GOOD))
    kept = tuple(s for s in table.snapshots if s.snapshot_id not in (HEAD_AFTER, AFTER))
    moves = tuple(m for m in table.head_moves if m.snapshot_id not in (HEAD_AFTER, AFTER))

    assert WRONG == _affected(story, table.model_copy(update={"snapshots": kept, "head_moves": moves}))


def test_what_was_taken_back_is_told_before_anything_is_written_again(story: Story) -> None:
    """Main is back on an older commit, and all that was wrong is newer than it."""
    story.opens().proposes().approves().rewinds()

    assert WRONG == _affected(story, _rolled_back(orders.table_state(), orders.GOOD))


UNREAD = "3 lines of events.jsonl could not be read, the first is line 2"
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

    facts = _facts(story, table, reads, through)

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
