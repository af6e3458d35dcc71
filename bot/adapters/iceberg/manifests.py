"""The manifests that one commit wrote, from its manifest list."""

from collections.abc import Iterator

from pyiceberg.io.pyarrow import PyArrowFile
from pyiceberg.manifest import read_manifest_list

from bot.adapters.iceberg.storage import Opened
from bot.domain.table import Snapshot


def manifests_of(snapshot: Snapshot, opened: Opened) -> Iterator[str]:
    """Paths of the manifests that `snapshot` itself added; those it took over from others are left out.

    Cost: one manifest list. Raises OSError, ValueError when it cannot be read.
    """
    files, path = opened(snapshot.manifest_list)
    for manifest in read_manifest_list(PyArrowFile(snapshot.manifest_list, path, files)):
        if manifest.added_snapshot_id == snapshot.snapshot_id:
            yield manifest.manifest_path
