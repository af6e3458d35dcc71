"""Commits that came after the newest ledger are read when a notice is made: nothing is left open that can be known."""

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

import spark_tasks
from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import Store, open_store
from bot.adapters.spark import SparkEvidenceRunner
from bot.evidence import Collector, find_tasks
from bot.notices.affecting import affected_commits, affected_of
from bot.observation.errors import EvidenceFailed
from bot.observation.evidence import Answer, Ask, Observation, Progress, Task, Verdict
from bot.observation.findings import LedgerFinding
from bot.observation.ledger import Ledger, LedgerRow
from bot.observation.looked import NotSeen
from bot.observation.readers import Consumer
from bot.service.observing import NewerCommits
from tests import orders_table as orders
from tests.incidents import Story
from tests.published import WRONG, table_rewound
from tests.repairs.scene import RUN, RepairScene

pytestmark = pytest.mark.slow

CONTRACT = orders.contract().model_copy(update={"event_time": "event_time"})


class Reader:
    """A runner that tells event times of the window's commits."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.is_away = False
        self.hangs = False
        self.cancelled = threading.Event()

    def run(self, task: Task, ask: Ask, *, tag: str, on_progress: Callable[[Progress], None]) -> tuple[Answer, int]:
        commits = ask.window.of(ask.observation.table)
        self.asked.append(len(commits))
        if self.is_away:
            raise EvidenceFailed("Spark went away.", "", "")
        if self.hangs:
            self.cancelled.wait(60)
        rows = {row.snapshot_id: row for row in orders.ledger().rows}
        told = tuple(timed(rows[each.snapshot_id]) for each in commits if each.snapshot_id in rows)
        finding = LedgerFinding(ledger=Ledger(rows=told, readers_known=False))
        return Answer(verdict=Verdict.CONFIRMED, headline="Broken.", finding=finding), 0

    def cancel(self, tag: str) -> bool:
        self.cancelled.set()
        return True

    def warm(self) -> None:
        """See the port."""


def timed(row: LedgerRow) -> LedgerRow:
    """With the event times of its commit's minute."""
    return row.model_copy(
        update={"event_from": row.committed_at, "event_until": row.committed_at + timedelta(seconds=59)}
    )


@pytest.fixture
def story(record: Store) -> Story:
    """An incident whose only ledger is older than its two newest wrong commits; they were taken back."""
    rows = [timed(row) for row in orders.ledger().rows[:-2]]
    story = Story(record.journal).opens().answers().draws_the_ledger(Ledger(rows=tuple(rows), readers_known=True))
    return story.diagnoses().proposes().approves().rewinds().verifies()


def untold(story: Story, reader: Reader, patience_s: float = 60.0) -> int:
    """Wrong commits of which the event times are open in a notice."""
    table, unseen = table_rewound(), NotSeen(source="x", reason="x", remedy="x")
    world = Observation(table=table, jobs=unseen, checkpoints=unseen, reads=unseen)
    newer = NewerCommits(Collector(find_tasks(spark_tasks), reader, SystemClock()), patience_s)
    found = newer.rows(story.incident, world, CONTRACT)
    affected = affected_of(story.incident, affected_commits(story.incident, table), table, CONTRACT, found)
    assert affected.snapshots == WRONG
    return affected.events_untold


def test_only_the_newer_commits_are_read_and_their_times_told(story: Story) -> None:
    """They were rolled back since: from where main left their line on, which is one commit more than the two."""
    reader = Reader()

    assert untold(story, reader) == 0
    assert reader.asked == [3]


def test_where_spark_is_away_it_is_said_as_before(story: Story) -> None:
    """How many commits it is not known of; the notice is made all the same."""
    reader = Reader()
    reader.is_away = True

    assert untold(story, reader) == 2


def test_nobody_waits_long_for_a_preview(story: Story) -> None:
    """What takes longer is given up, and cancelled."""
    reader = Reader()
    reader.hangs = True

    assert untold(story, reader, patience_s=0.05) == 2
    assert reader.cancelled.wait(60)


def test_an_incident_without_a_ledger_asks_for_none(tmp_path: Path) -> None:
    """The first warning is not kept waiting until Spark has started."""
    store = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    reader = Reader()
    story = Story(store.journal).opens().answers().diagnoses().proposes().approves().rewinds().verifies()

    assert untold(story, reader) == 3
    assert reader.asked == []
    store.close()


def test_a_notice_of_a_real_table_knows_what_was_committed_just_now(
    tmp_path: Path, runner: SparkEvidenceRunner
) -> None:
    """The job commits on while responders look; the notice tells the event times of it all."""
    scene = RepairScene(tmp_path, runner, consumers=(Consumer(name="revenue_daily", channel="C0REVENUE1"),))
    scene.flink.checkpoints(RUN, 2)
    before = scene.table.head
    scene.flink.checkpoints(RUN, 1)
    scene.opens("ledger", since=before)
    scene.flink.checkpoints(RUN, 2)

    (notice,) = scene.services.telling.preview(scene.incident, "update").notices

    assert len(notice.data.affected_snapshots) == 3
    assert notice.data.affected_event_until is not None
    assert "not fully known" not in notice.text
    scene.close()
