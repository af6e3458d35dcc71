"""A consumer says that it ran again: what lineage shows of it, told beside its answer, which counts either way."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.journal_sql import open_store
from bot.adapters.lineage import AllLineage, OpenLineageFile
from bot.adapters.scheduler import SchedulerTimers
from bot.adapters.table_files import FolderOfTable
from bot.domain.entries import NoticeAnswered, NoticeQueued, RerunChecked
from bot.domain.ids import SnapshotId
from bot.domain.looked import NotSeen, Seen
from bot.domain.notice import Notice
from bot.domain.reads import Consumer, FarRead, ReadRun
from bot.domain.rerun_words import rerun_words
from bot.domain.table import HeadMove, TableState
from bot.domain.told import AnswerView, NoticeView
from bot.notices.reruns import checked
from bot.ports import ReadEvents
from bot.service.background import Background
from bot.service.observing import Observer
from bot.service.rerunning import LOOKS, Reruns
from tests import orders_table as orders
from tests.decisions import ANA, HEAD_AFTER
from tests.incidents import Story
from tests.published import MENDED, publishes, table_published, undoes_the_rewind
from tests.slack.people import eventually
from tests.tables import ORDERS
from tests.web.scene import Scene, _setup

DANA = "U0DANA0004"
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


class World:
    """A real table under review, a real file of events, and the desk that looks."""

    def __init__(self, scene: Scene, *, is_many: bool = False) -> None:
        self.scene = scene
        self.file = scene.folder / "lineage.jsonl"
        self.file.touch()
        self.looks = 0
        self.key = ""
        kind = "channel" if is_many else "job"
        setup = _setup(ORDERS).model_copy(
            update={"consumers": (Consumer(name="revenue_daily", channel="C0REVENUE2", kind=kind),)}
        )
        lineage = Counted(AllLineage([OpenLineageFile(self.file, "lake")]), self)
        catalog = PyIcebergCatalog("lake", scene.catalog_properties, scene.clock)
        self.observer = Observer(catalog, {ORDERS: setup}, {}, lineage, FolderOfTable())
        self.timers = SchedulerTimers(scene.clock)
        self.background = Background(scene.incidents, lambda _name: nullcontext(True), workers=1)
        self.reruns = Reruns(scene.incidents, self.observer, self.background, scene.clock, self.timers)

    def tells(self) -> None:
        """It is told that the table is under review."""
        self.scene.opens()
        notice = Notice(
            kind="correction", revision=1, consumer="revenue_daily", channel="C0REVENUE2", text="x", answers=("re-ran",)
        )
        self.key = notice.key(self.scene.id)
        self.scene.incidents.write(self.scene.id, by=ANA, decide=lambda _now: [NoticeQueued(notice=notice)])

    def says(self) -> None:
        """It was told, ran again, and says so."""
        self.tells()
        self.scene.clock.at += timedelta(minutes=1)
        answer = NoticeAnswered(key=self.key, answer="re-ran")
        self.scene.incidents.write(self.scene.id, by=DANA, decide=lambda _now: [answer])

    def reads(self, snapshot: SnapshotId, run_id: str = "r-1") -> None:
        """An event comes, as Spark's integration writes it."""
        event = {
            "eventTime": self.scene.clock.now().isoformat(),
            "run": {"runId": run_id},
            "job": {"namespace": "spark", "name": "revenue_daily"},
            "inputs": [
                {
                    "namespace": "lake",
                    "name": str(ORDERS),
                    "facets": {"version": {"datasetVersion": str(snapshot)}},
                }
            ],
        }
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")

    @property
    def checks(self) -> list[tuple[str, str]]:
        """What was put on record."""
        entries = self.scene.incidents.get(self.scene.id).entries
        return [(e.body.found, e.body.run) for e in entries if isinstance(e.body, RerunChecked)]

    def close(self) -> None:
        """End the threads."""
        self.timers.close()
        self.background.close()


class Counted:
    """Lineage that counts how often it is asked."""

    def __init__(self, inner: ReadEvents, world: World) -> None:
        self._inner = inner
        self._world = world

    def reads(self, table: TableState, since: datetime) -> tuple[ReadRun, ...]:
        """See the port."""
        self._world.looks += 1
        return self._inner.reads(table, since)

    def downstream(self, table: TableState, since: datetime) -> tuple[FarRead, ...]:
        """See the port."""
        return self._inner.downstream(table, since)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """revenue_daily says that it ran again."""
    scene = Scene(tmp_path)
    made = World(scene)
    made.says()
    yield made
    made.close()
    scene.close()


def test_what_is_found_is_on_record_once_and_again_when_it_is_another(world: World) -> None:
    """Nothing yet; then a run on what is under review; then one on what is trusted: after that nobody looks."""
    for snapshot in (None, world.scene.commits[-1], world.scene.good):
        if snapshot is not None:
            world.reads(snapshot, f"r-{len(world.checks)}")
        world.reruns.settle(world.scene.id)
        world.reruns.settle(world.scene.id)
    looks = world.looks

    world.reruns.settle(world.scene.id)

    assert [("none", ""), ("wrong", "r-1"), ("good", "r-2")] == world.checks
    assert looks == world.looks == 5
    [view] = world.scene.incidents.get(world.scene.id).notices.values()
    assert view.answers[0].check is not None
    assert rerun_words(view.answers[0].check).endswith("which is trusted")


def test_a_lineage_that_is_away_is_said_and_looked_at_again(world: World) -> None:
    """The answer stands beside it, and an event that comes late is still found."""
    kept = world.file.read_bytes()
    world.file.unlink()
    world.reruns.settle(world.scene.id)
    world.file.write_bytes(kept)
    world.reads(world.scene.good)

    world.reruns.settle(world.scene.id)

    assert [("unknown", ""), ("good", "r-1")] == world.checks


def test_who_stands_for_many_is_not_looked_for(tmp_path: Path) -> None:
    """A channel has no run of its own."""
    scene = Scene(tmp_path)
    world = World(scene, is_many=True)
    world.says()

    world.reruns.settle(scene.id)

    assert [("unknown", "")] == world.checks
    world.close()
    scene.close()


def test_it_is_looked_at_once_and_then_by_the_clock(world: World) -> None:
    """As soon as they say so, then at some moments of a day; a restart begins with one look and forgets none."""
    world.timers.start()
    world.reruns.start()
    eventually(lambda: world.checks == [("none", "")])
    looks = world.looks
    world.scene.clock.at += LOOKS[2] + timedelta(seconds=1)
    world.reads(world.scene.good)

    world.reruns._look(world.scene.id)

    assert [("none", ""), ("good", "r-1")] == world.checks
    assert (1, 2) == (looks, world.looks)
