"""A consumer says that it ran again: what lineage shows of it, told beside its answer, which counts either way."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.entries import NoticeAnswered, NoticeQueued, RerunChecked
from bot.domain.ids import SnapshotId
from bot.domain.looked import NotSeen, Seen
from bot.domain.notice import Notice
from bot.domain.reads import FarRead, ReadRun
from bot.domain.rerun_words import rerun_words
from bot.domain.table import HeadMove, TableState
from bot.domain.told import AnswerView, NoticeView
from bot.notices.reruns import checked
from tests import orders_table as orders
from tests.decisions import HEAD_AFTER
from tests.incidents import Story
from tests.published import MENDED, publishes, table_published, undoes_the_rewind
from tests.telling.rerunning_world import DANA

WRONG = orders.HEAD
BEFORE = SnapshotId(orders.GOOD - 1000)
NONE: Seen[FarRead] = Seen[FarRead](source="lineage", values=())


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """Rewound and proven; revenue_daily was told, and says that it ran again."""
    store = open_store(f"sqlite:///{tmp_path / 'record.db'}")
    made = Story(store.journal).opens().proposes().approves().rewinds().verifies()
    notice = Notice(
        kind="recovered", revision=1, consumer="revenue_daily", channel="C0REVENUE2", text="x", answers=("re-ran",)
    )
    made.says(NoticeQueued(notice=notice)).says(NoticeAnswered(key=notice.key(made.id), answer="re-ran"), by=DANA)
    yield made
    store.close()


def rewound() -> TableState:
    """Run B's commits are off main; run C goes on from the good one."""
    state = orders.table_state()
    last = state.snapshots[-1]
    after = last.model_copy(
        update={
            "snapshot_id": HEAD_AFTER, "parent_id": orders.GOOD, "sequence_number": last.sequence_number + 1,
            "committed_at": orders.NINE + timedelta(minutes=12),
        }
    )  # fmt: skip
    moves = (*state.head_moves, HeadMove(at=orders.NINE + timedelta(minutes=8), snapshot_id=orders.GOOD))
    return state.model_copy(update={"head": HEAD_AFTER, "snapshots": (*state.snapshots, after), "head_moves": moves})


def told_and_answered(story: Story) -> tuple[NoticeView, AnswerView]:
    """The notice and what was said to it."""
    [view] = story.incident.notices.values()
    return view, view.answers[-1]


def seen(story: Story, *runs: ReadRun, far: Seen[FarRead] | NotSeen = NONE) -> RerunChecked:
    """What is found where lineage tells of these runs."""
    return checked(story.incident, *told_and_answered(story), rewound(), lineage(*runs), far)


def lineage(*runs: ReadRun) -> Seen[ReadRun]:
    """It tells of these."""
    return Seen[ReadRun](source="lineage", values=runs)


def run(snapshot: SnapshotId | None, at: datetime, run_id: str = "r-12", consumer: str = "revenue_daily") -> ReadRun:
    """One run."""
    return ReadRun(consumer=consumer, run_id=run_id, at=at, snapshot_id=snapshot)


LATE, EARLY = orders.NINE + timedelta(hours=1), orders.NINE - timedelta(minutes=1)


@pytest.mark.parametrize(
    ("snapshot", "at", "found", "words"),
    [
        (HEAD_AFTER, LATE, "good", "run r-12 read …140011 on 3 Nov 2026, 10:00 UTC, after the repair"),
        (HEAD_AFTER, EARLY, "good", "run r-12 read …140011 on 3 Nov 2026, 08:59 UTC, after the repair"),
        (orders.GOOD, LATE, "good", "run r-12 read …377421 on 3 Nov 2026, 10:00 UTC, after the repair"),
        (orders.GOOD, EARLY, "none", "no run of theirs is seen since"),
        (WRONG, LATE, "wrong", "run r-12 read …209903 on 3 Nov 2026, 10:00 UTC, which is from before the repair"),
        (BEFORE, LATE, "wrong", "run r-12 read …376421 on 3 Nov 2026, 10:00 UTC, which is from before the repair"),
        (WRONG, EARLY, "none", "no run of theirs is seen since"),
        (None, LATE, "unnamed", "run r-12 read it on 3 Nov 2026, 10:00 UTC, and its event does not name the snapshot"),
    ],
)
def test_a_run_counts_by_the_snapshot_that_it_read(
    story: Story, snapshot: SnapshotId | None, at: datetime, found: str, words: str
) -> None:
    """What was there before the repair counts only after it; what came later counts whatever a clock says; what was
    taken back never."""
    check = seen(story, run(snapshot, at))

    assert (found, words) == (check.found, rerun_words(check))


def test_the_run_that_read_what_can_be_trusted_is_the_one_that_is_told(story: Story) -> None:
    """Whatever else was seen of this consumer, and of others."""
    check = seen(
        story, run(WRONG, LATE, "r-13"), run(HEAD_AFTER, LATE - timedelta(minutes=5)), run(None, LATE, "r-14"),
        run(HEAD_AFTER, LATE, "x-1", "fraud_agent"),
    )  # fmt: skip

    assert ("good", "r-12") == (check.found, check.run)


def test_who_reads_through_others_is_seen_through_them(story: Story) -> None:
    """The report runs again after the job before it did."""
    far = FarRead(
        consumer="revenue_daily", run_id="r-20", at=LATE, origin="j-1", snapshot_id=HEAD_AFTER,
        path=("orders_clean", "lake.clean"),
    )  # fmt: skip

    check = seen(story, far=Seen[FarRead](source="lineage", values=(far,)))

    assert (
        rerun_words(check)
        == "run r-20 read what orders_clean had made of …140011 on 3 Nov 2026, 10:00 UTC, after the repair"
    )


def test_a_run_of_its_own_before_the_repair_hides_no_later_one_through_others(story: Story) -> None:
    """Lineage is asked from a little before the turn; what lies before it is no run since."""
    far = FarRead(
        consumer="revenue_daily", run_id="r-20", at=LATE, origin="j-1", snapshot_id=HEAD_AFTER,
        path=("orders_clean", "lake.clean"),
    )  # fmt: skip

    check = seen(story, run(WRONG, EARLY), far=Seen[FarRead](source="lineage", values=(far,)))

    assert ("good", "r-20") == (check.found, check.run)


@pytest.mark.parametrize(
    ("snapshot", "at", "found"),
    [(WRONG, LATE, "wrong"), (WRONG, EARLY, "none"), (orders.GOOD, LATE, "good"), (HEAD_AFTER, LATE, "wrong")],
)
def test_after_an_undo_no_repair_stands(story: Story, snapshot: SnapshotId, at: datetime, found: str) -> None:
    """Main is at the doubled commits again: a run on them is none after the repair, whenever it was."""
    undoes_the_rewind(story)
    [view] = story.incident.notices.values()
    story.says(NoticeAnswered(key=view.key, answer="re-ran"), by=DANA)
    state = rewound()
    undone = state.model_copy(
        update={"head": WRONG, "head_moves": (*state.head_moves, HeadMove(at=story.now, snapshot_id=WRONG))}
    )

    check = checked(story.incident, *told_and_answered(story), undone, lineage(run(snapshot, at)), NONE)

    assert (found, False) == (check.found, check.is_repaired)


@pytest.mark.parametrize(
    ("snapshot", "found", "words"),
    [(WRONG, "wrong", "which is under review"), (orders.GOOD, "good", "which is trusted"),
     (MENDED, "good", "which is trusted")],
)  # fmt: skip
def test_a_run_on_wrong_rows_stays_one_when_a_repair_is_published_on_top(
    tmp_path: Path, snapshot: SnapshotId, found: str, words: str
) -> None:
    """It answered before the repair; that main contains the commit that it read does not make its results right."""
    store = open_store(f"sqlite:///{tmp_path / 'record.db'}")
    made = Story(store.journal).opens()
    notice = Notice(
        kind="correction", revision=1, consumer="revenue_daily", channel="C0REVENUE2", text="x", answers=("re-ran",)
    )
    made.says(NoticeQueued(notice=notice)).says(NoticeAnswered(key=notice.key(made.id), answer="re-ran"), by=DANA)
    publishes(made)

    check = checked(made.incident, *told_and_answered(made), table_published(), lineage(run(snapshot, LATE)), NONE)

    assert found == check.found
    assert rerun_words(check).endswith(words)
    store.close()


@pytest.mark.parametrize("near_is_seen", [False, True])
def test_what_nobody_could_look_for_is_not_taken_for_nothing(story: Story, near_is_seen: bool) -> None:
    """Could not look is said as such."""
    away = NotSeen(source="the lineage events", reason="Marquez did not answer.", remedy="Start it.")
    reads = Seen[ReadRun](source="lineage", values=()) if near_is_seen else away

    check = checked(story.incident, *told_and_answered(story), rewound(), reads, away)

    assert "unknown" == check.found
    assert rerun_words(check, "yours") == (
        "whether a run of yours read it since could not be looked up: Marquez did not answer"
    )
