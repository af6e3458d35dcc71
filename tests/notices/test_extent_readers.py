"""From where each reader is to run again, and that nobody is spared who was not seen."""

from collections.abc import Mapping

import pytest

from bot.domain.ids import SnapshotId
from bot.domain.ledger import Ledger
from bot.domain.looked import Seen
from bot.domain.reads import ReadRun
from bot.domain.table import Snapshot
from bot.notices import NoticeTemplate, render
from bot.notices.condensing import ranges_of
from tests import orders_table as orders
from tests.decisions import HEAD_AFTER
from tests.incidents import Story
from tests.notices.rewound_facts import FOUND, facts_of, minute_ledger, partitioned_by, reads_of, rewound, scattered
from tests.published import MENDED, WRONG, publishes, table_published, table_rewound


def test_after_a_repair_on_top_nobody_is_sent_through_the_wrong_commits(
    story: Story, templates: Mapping[str, NoticeTemplate]
) -> None:
    """They are still in the history: an incremental read from the last good snapshot would bring their rows again."""
    publishes(story.opens().answers(finding=FOUND).draws_the_ledger(minute_ledger()))

    facts = facts_of(story, table=partitioned_by(table_published(), "day(event_time)"))

    assert (facts.rerun.needed, facts.rerun.from_snapshot, facts.rerun.resume_after) == (True, None, MENDED)
    assert f"from snapshot `{MENDED}`, and continue after it" in render(templates["recovered"], facts)


def test_a_rewind_below_what_was_trusted_sends_readers_there(story: Story) -> None:
    """What was trusted was taken back too: to read on from it would leave out what was written anew."""
    table = table_rewound()
    below = orders.COMMITS[4][1]
    first = next(s for s in table.snapshots if s.snapshot_id == HEAD_AFTER)
    moved = [s if s is not first else first.model_copy(update={"parent_id": below}) for s in table.snapshots]

    facts = facts_of(rewound(story), table=table.model_copy(update={"snapshots": tuple(moved)}))

    assert facts.rerun.from_snapshot == below


@pytest.mark.parametrize(
    ("reads", "needed"),
    [
        (reads_of(orders.HEAD), True),
        (reads_of(HEAD_AFTER), False),
        (Seen(source="lineage events", values=()), None),
        (orders.not_seen("lineage events"), None),
    ],
    ids=["read it", "read another", "no run known", "not seen"],
)
def test_nobody_is_told_that_they_need_not_run_who_was_not_seen(
    story: Story, templates: Mapping[str, NoticeTemplate], reads: Seen[ReadRun], needed: bool | None
) -> None:
    """Not seen is not known; and before the proof it is known of nobody."""
    story.opens().draws_the_ledger(minute_ledger())
    early = facts_of(story, reads=reads, table=orders.table_state(), kind="update").rerun
    story.diagnoses().proposes().approves().rewinds().verifies()

    facts = facts_of(story, reads=reads)

    assert (early.needed, early.from_snapshot) == (None, None)
    assert facts.rerun.needed is needed
    assert ("need not do anything" in render(templates["recovered"], facts)) is (needed is False)
    assert (facts.rerun.from_snapshot is None) is (needed is False)


def test_one_run_that_read_many_wrong_snapshots_is_one_run(
    story: Story, templates: Mapping[str, NoticeTemplate]
) -> None:
    """With all that it read, condensed."""
    text = render(templates["recovered"], facts_of(rewound(story), reads=reads_of(*WRONG)))

    assert f"`run-1` at 3 Nov 2026, 09:00 UTC, from snapshots `{WRONG[0]}` to `{WRONG[-1]}` (3 in a row)" in text


def test_what_one_run_read_here_and_there_is_told_whole(story: Story, templates: Mapping[str, NoticeTemplate]) -> None:
    """Its line is short; below the runs stands all that they read."""
    story.opens().draws_the_ledger(minute_ledger())
    table, apart = scattered(6)

    text = render(templates["update"], facts_of(story, reads=reads_of(*apart), table=table, kind="update"))

    assert f"from snapshots {', '.join(f'`{each}`' for each in apart[:3])}, and 3 more\n" in text
    assert f"Together they read 6 snapshots of these: {', '.join(f'`{each}`' for each in apart)}." in text


def test_many_commits_are_told_as_ranges_and_none_is_left_out() -> None:
    """Also where the line forked: each commit is in exactly one range."""
    base = orders.snapshots()[0]

    def made(number: int, parent: int | None) -> Snapshot:
        ids = {"snapshot_id": SnapshotId(number), "parent_id": None if parent is None else SnapshotId(parent)}
        return base.model_copy(update=ids)

    line = [made(number, number - 1) for number in range(1, 40)]
    fork = [made(100, 20), made(101, 100)]

    found = ranges_of([*line[:25], *fork, *line[25:]])

    assert [(each.first, each.last, each.commits) for each in found] == [(1, 39, 39), (100, 101, 2)]


def test_what_does_not_fit_is_counted(templates: Mapping[str, NoticeTemplate], story: Story) -> None:
    """Never silently: how many more, and where they stand."""
    story.opens().draws_the_ledger(Ledger(rows=(), readers_known=True))

    facts = facts_of(story, table=scattered(30)[0], kind="update")

    assert facts.affected is not None
    assert len(facts.affected.snapshots) == 33
    assert sum(each.commits for each in facts.affected.ranges) == 33
    assert "and 19 more, which the incident's record names" in render(templates["update"], facts)
