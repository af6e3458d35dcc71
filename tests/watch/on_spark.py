"""The watch over a real table of a test, whose evidence a real Spark answers; its Flink is the little one."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.adapters.checkpoint_files import CheckpointFiles
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.lineage import OpenLineageFile
from bot.adapters.spark import SparkEvidenceRunner
from bot.adapters.table_files import FolderOfTable
from bot.observation.contract import TableContract
from bot.observation.flink import JobRun, Restored
from bot.observation.ids import CheckpointId, JobId
from tests.little_flink import LittleFlink
from tests.tables import CONTRACT, OrdersTable, job
from tests.watch.watched import Told, Watched, World
from tests.web.scene import StandingClock


class FailingFlink(LittleFlink):
    """The little Flink, whose runs can fail over."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._went_back: dict[JobId, Restored] = {}

    def fails_over(self, job_id: JobId, to: int) -> None:
        """The run goes back to that checkpoint, and on from there."""
        path = f"file:{self.savepoints}/{job_id}/chk-{to}"
        self._went_back[job_id] = Restored(
            checkpoint_id=CheckpointId(to), at=datetime.now(UTC), is_savepoint=False, path=path
        )

    def run(self, job_id: JobId) -> JobRun | None:
        found = super().run(job_id)
        return found and found.model_copy(update={"restored": self._went_back.get(job_id, found.restored)})


class OrdersOnSpark:
    """Run A has committed checkpoints 1 to 3 of `sales.orders`, and goes on."""

    def __init__(self, folder: Path, orders: OrdersTable) -> None:
        self.folder = folder
        self.orders = orders
        self.lineage = folder / "lineage.jsonl"
        self.lineage.touch()
        self.flink = FailingFlink(folder)
        self.flink.submit(job("a"), at_checkpoint=0)
        self.flink.checkpoints(job("a"), 3)
        self.contract = CONTRACT

    def watched(self, closing: ExitStack, runner: SparkEvidenceRunner) -> Watched:
        """The watch as the table stands now; its clock stands, too."""
        clock = StandingClock()
        clock.at = datetime.now(UTC)
        properties = {
            "type": "sql",
            "uri": f"sqlite:///{self.folder}/catalog.db",
            "warehouse": f"file://{self.folder}/lake",
        }
        catalog = PyIcebergCatalog("lake", properties, clock)
        closing.callback(catalog.close)
        checkpoints = CheckpointFiles(None, str(self.flink.savepoints))
        world = World(catalog, self.flink, checkpoints, FolderOfTable(), OpenLineageFile(self.lineage, "lake"), runner)
        made = Watched(self.folder, world, clock, self.contract)
        closing.callback(made.close)
        return made


Prepare = Callable[[OrdersOnSpark], object]
OverOrders = Callable[..., Watched]


@contextmanager
def over_orders_in(folder: Path, runner: SparkEvidenceRunner) -> Iterator[OverOrders]:
    """`over_orders(prepare, {table property: value}, freshness=…)` is the watch over the table as `prepare` left it."""
    with ExitStack() as closing:

        def over(prepare: Prepare, properties: Mapping[str, str] | None = None, **terms: object) -> Watched:
            place = folder / f"orders-{len(list(folder.iterdir()))}"
            place.mkdir()
            orders = OrdersTable(place, properties or {})
            closing.callback(orders.close)
            scene = OrdersOnSpark(place, orders)
            scene.contract = TableContract.model_validate({**CONTRACT.model_dump(), **terms})
            prepare(scene)
            return scene.watched(closing, runner)

        yield over


def after_three_looks(watched: Watched) -> list[Told]:
    """All that is told; the looks are close together, because nothing happens in between."""
    watched.looks(3, apart=timedelta(seconds=1))
    assert len(watched.seen) == len(watched.told)
    return list(watched.told)
