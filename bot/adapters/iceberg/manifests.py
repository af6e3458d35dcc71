"""The manifests that one commit wrote, from its manifest list."""

from collections.abc import Iterator

from pyiceberg.io import load_file_io
from pyiceberg.manifest import read_manifest_list

from bot.domain.table import Snapshot


def manifests_of(snapshot: Snapshot) -> Iterator[str]:
    """Paths of the manifests that `snapshot` itself added; those it took over from others are left out.

    Cost: one manifest list. Raises OSError, ValueError when it cannot be read.
    """
    io = load_file_io({}, location=snapshot.manifest_list)
    for manifest in read_manifest_list(io.new_input(snapshot.manifest_list)):
        if manifest.added_snapshot_id == snapshot.snapshot_id:
            yield manifest.manifest_path
