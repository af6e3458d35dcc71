"""A table's metadata file without what its commits tell of single partitions: partitions are values of rows."""

import gzip
import json
import zlib

from bot.adapters.manifest_cutting import CannotBeCut
from bot.domain.snapshot import PARTITIONS, without_partitions

_GZIP = b"\x1f\x8b"


def without_told_partitions(metadata: bytes) -> bytes:
    """The same file, packed as it was; byte for byte where no commit tells of a partition. Raises CannotBeCut."""
    try:
        plain = gzip.decompress(metadata) if metadata.startswith(_GZIP) else metadata
    except (OSError, EOFError, zlib.error) as error:
        raise CannotBeCut(f"it cannot be unpacked: {type(error).__name__}") from error
    if f'"{PARTITIONS}'.encode() not in plain:
        return metadata
    told = json.loads(plain)
    snapshots = told.get("snapshots") if isinstance(told, dict) else None
    for snapshot in snapshots or ():
        snapshot["summary"] = without_partitions(snapshot.get("summary") or {})
    cut = json.dumps(told).encode()
    return gzip.compress(cut, mtime=0) if plain is not metadata else cut
