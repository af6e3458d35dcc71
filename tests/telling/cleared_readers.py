"""A consumer who was told that it need not do anything, before lineage shows more.

A real table under review, and a real file of lineage events.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

import spark_tasks
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.lineage import OpenLineageFile
from bot.adapters.table_files import FolderOfTable
from bot.bootstrap.content import CONTENT
from bot.cli.options import NobodyThere
from bot.evidence import Collector, find_tasks
from bot.incident.notice import Notice
from bot.notices import scan
from bot.observation.ids import SnapshotId
from bot.observation.readers import Consumer, FarRead, ReadRun
from bot.observation.table import TableState
from bot.ports import ReadEvents
from bot.service.background import Background
from bot.service.diagnosing import OtherDoubts
from bot.service.notices.late_readers import LateReaders
from bot.service.notices.notifying import Telling
from bot.service.observing import NewerCommits, Observer
from bot.service.watching.finding_store import WatchFindings
from tests.decisions import ANA
from tests.slack.looking import ArrowRunner
from tests.tables import ORDERS
from tests.web.scene import Scene, _setup


class World:
    """A real table under review, and a real file of lineage events."""

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
        lineage = Counted(OpenLineageFile(self.file, "lake"), self)
        catalog = PyIcebergCatalog("lake", scene.catalog_properties, scene.clock)
        self.observer = Observer(catalog, {ORDERS: setup}, {}, lineage, FolderOfTable())
        self.background = Background(scene.incidents, lambda: True, workers=1)

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
                    "inputFacets": {"icebergScanReport": {"snapshotId": snapshot}},
                }
            ],
        }
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")

    def close(self) -> None:
        self.background.close()


class Counted:
    """Lineage that counts how often it is asked."""

    def __init__(self, inner: ReadEvents, world: World) -> None:
        self._inner = inner
        self._world = world

    def reads(self, table: TableState, since: datetime) -> tuple[ReadRun, ...]:
        self._world.looks += 1
        return self._inner.reads(table, since)

    def downstream(self, table: TableState, since: datetime) -> tuple[FarRead, ...]:
        return self._inner.downstream(table, since)


class Cleared(World):
    """A table that was rewound and proven; revenue_daily read only what is right, as far as lineage shows."""

    def __init__(self, scene: Scene, *, is_many: bool = False, read: SnapshotId | None = None) -> None:
        super().__init__(scene, is_many=is_many)
        scene.clock.at = datetime.now(UTC)  # the table's commits carry the real time
        self.others = OtherDoubts(scene.incidents, WatchFindings(scene.store.watched, [ORDERS]))
        newer = NewerCommits(Collector(find_tasks(spark_tasks), ArrowRunner(), scene.clock))
        self.telling = Telling(
            scene.incidents, self.observer, scan(CONTENT / "messages"), scene.clock, newer, self.others, NobodyThere()
        )
        self.late = self.starts()
        scene.opens()
        if not is_many:
            self.reads(read or scene.good, "right")
        scene.verifies()
        self.tells_recovered()

    def starts(self) -> LateReaders:
        """What a process looks with that has only the record."""
        return LateReaders(self.scene.incidents, self.observer, self.scene.clock)

    def tells_recovered(self) -> None:
        """The closing message, as it is made now."""
        preview = self.telling.preview(self.scene.id, "recovered")
        self.telling.send(self.scene.id, preview, by=ANA, step=None)

    @property
    def told(self) -> list[Notice]:
        """All notices, oldest first."""
        return [view.notice for view in self.scene.incidents.get(self.scene.id).notices.values()]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """A table, and its record."""
    with closing(Scene(tmp_path)) as made:
        yield made


@pytest.fixture
def world(scene: Scene) -> Iterator[Cleared]:
    """It was told that it need not do anything."""
    with closing(Cleared(scene)) as made:
        assert "You need not do anything" in made.told[0].text
        yield made


def runs_of(notice: Notice) -> set[str]:
    """Which runs it names."""
    return set(notice.data.affected_runs) if notice.data is not None else set()
