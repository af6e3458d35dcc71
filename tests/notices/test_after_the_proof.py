"""What another incident takes back after the proof of this one is not counted as taken back by this one."""

from datetime import timedelta

import pytest

from bot.domain.ids import SnapshotId
from bot.domain.table import HeadMove, TableState
from bot.notices.affecting import affected_commits
from tests import orders_table as orders
from tests.decisions import HEAD_AFTER
from tests.incidents import Story
from tests.published import WRONG, publishes, table_published, table_rewound

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
    """By another clock."""
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
