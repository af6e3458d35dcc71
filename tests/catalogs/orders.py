"""`sales.orders` in some catalog, as another engine sees and changes it: through a PyIceberg client of its own."""

from collections.abc import Mapping

from pyiceberg.catalog import load_catalog
from pyiceberg.io.pyarrow import PyArrowFile

from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.iceberg.format_v3 import manifests_of
from bot.adapters.storage import Opened
from bot.observation.ids import TableName
from bot.observation.table import Snapshot
from tests.adapters.conftest import StandingClock
from tests.adapters.lake import OrdersOfAnother


class Orders(OrdersOfAnother):
    """One table of three commits, and both sides' way to it."""

    def __init__(self, kind: str, namespace: str, properties: Mapping[str, str]) -> None:
        super().__init__(load_catalog("lake", **properties), TableName(f"{namespace}.orders"))
        self.kind = kind
        self.properties = properties
        self.ours = PyIcebergCatalog("lake", properties, StandingClock())
        for first in (1, 3, 5):
            self.append(first, first + 1, **{"flink.job-id": "a" * 32, "flink.max-committed-checkpoint-id": str(first)})

    def close(self) -> None:
        """Gives both sides' connections back."""
        super().close()
        self.ours.close()


def own_manifests(snapshot: Snapshot, opened: Opened) -> list[str]:
    """Paths of the manifests that it added, from its list as this opens it."""
    files, path = opened(snapshot.manifest_list)
    listed = manifests_of(PyArrowFile(path, path, files), 2)
    return [each.manifest_path for each in listed if each.added_snapshot_id == snapshot.snapshot_id]
