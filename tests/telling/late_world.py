"""A real table under review, and a real file of lineage events."""

import json
from contextlib import nullcontext
from datetime import datetime

from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.lineage import AllLineage, OpenLineageFile
from bot.adapters.scheduler import SchedulerTimers
from bot.adapters.table_files import FolderOfTable
from bot.domain.ids import SnapshotId
from bot.domain.reads import Consumer, FarRead, ReadRun
from bot.domain.table import TableState
from bot.ports import ReadEvents
from bot.service.background import Background
from bot.service.observing import Observer
from tests.tables import ORDERS
from tests.web.scene import Scene, _setup

DANA = "U0DANA0004"


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
        lineage = Counted(AllLineage([OpenLineageFile(self.file, "lake")]), self)
        catalog = PyIcebergCatalog("lake", scene.catalog_properties, scene.clock)
        self.observer = Observer(catalog, {ORDERS: setup}, {}, lineage, FolderOfTable())
        self.timers = SchedulerTimers(scene.clock)
        self.background = Background(scene.incidents, lambda _name: nullcontext(True), workers=1)

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
