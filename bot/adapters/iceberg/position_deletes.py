"""Whether rows of data files are deleted by their places: by a deletion vector, or by a delete file of format 2."""

from bisect import bisect_left
from collections.abc import Sequence

from bot.adapters.iceberg.file_sources import FilesOfTable, Live
from bot.domain.paths import plain

PATH, PLACE = 2147483546, 2147483545
"""Field ids that the format reserves for the columns of a position delete file."""


def may_lack_rows(files: FilesOfTable, data: Sequence[Live]) -> bool:
    """Whether a live vector is of one of these files, or a live position delete file may name one: it is no older than
    the oldest of them, and the bounds of its paths, where it has any, let one in. Cost: delete manifests."""
    if not data:
        return False
    vectored = {plain(live.path) for live in data}
    paths = sorted(live.path.encode() for live in data)
    since = min(live.entry.sequence_number or 0 for live in data)
    return any(
        plain(str(each.of_file)) in vectored
        if each.is_vector
        else each.is_position_delete_file and (each.entry.sequence_number or 0) >= since and _may_name(each, paths)
        for each in files.deletes()
    )


def _may_name(delete: Live, paths: Sequence[bytes]) -> bool:
    """`paths` ascend."""
    file = delete.entry.data_file
    low, high = (bounds.get(PATH) for bounds in (file.lower_bounds or {}, file.upper_bounds or {}))
    place = bisect_left(paths, low) if low is not None else 0
    return place < len(paths) and (high is None or paths[place] <= high)
