"""A second table that the job of the scene writes."""

from bot.domain.action import Plan
from bot.domain.ids import SnapshotId, TableName
from bot.domain.table import TableState
from bot.service.proposing import siblings_of
from tests.actions.scene import Scene
from tests.little_flink import JOB, open_catalog
from tests.tables import ORDERS, of_flink, rows

ITEMS = TableName("sales.items")


def makes_items(scene: Scene, *, job: str | None = JOB) -> None:
    """The table, empty, and configured with this job."""
    catalog = open_catalog(scene.folder)
    catalog.create_table(ITEMS, schema=rows([]).schema)
    catalog.close()
    setup = scene.observer.setup(ORDERS)
    scene.observer.tables = {ORDERS: setup, ITEMS: setup.model_copy(update={"name": ITEMS, "job": job})}


def items_commit(scene: Scene, run: str, *checkpoints: int) -> None:
    """These checkpoints of a run reach it."""
    catalog = open_catalog(scene.folder)
    for number in checkpoints:
        first = (number - 1) * 10
        catalog.load_table(ITEMS).append(rows(range(first, first + 10)), snapshot_properties=of_flink(run, number))
    catalog.close()


def items_move(scene: Scene, to: SnapshotId) -> None:
    """Somebody rolls it back."""
    catalog = open_catalog(scene.folder)
    catalog.load_table(ITEMS).manage_snapshots().rollback_to_snapshot(to).commit()
    catalog.close()


def items(scene: Scene) -> TableState:
    """As the catalog tells it now."""
    return scene.catalog.load(ITEMS)


def knowing_items(scene: Scene, plan: Plan) -> Plan:
    """As the service fills it in."""
    observed = plan.case.observation
    return plan.model_copy(
        update={"siblings": lambda: siblings_of(scene.observer, scene.observer.setup(ORDERS), observed)}
    )
