"""How many rows a job would read and write again from a restore point, from bounds of files in hand; pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bot.domain.ids import SnapshotId
from bot.domain.table import Snapshot
from spark_tasks._data_files import DataFile

Brought = Mapping[SnapshotId, Sequence[DataFile]]
"""Commit -> the data files that it added, with the bounds of their source positions; commits without a look are not
in it."""


class RowsAgain(NamedTuple):
    """Rows above a restore point's table state."""

    rows: int
    is_exact: bool
    """False: so many at the most. Some may stand there twice, or below the position up to which the point has read."""


class _Above(NamedTuple):
    """One file's part above the position."""

    low: int
    high: int
    rows: int
    is_dense: bool
    """Whether the file carries each position between its bounds once, as far as a count tells."""
    is_whole: bool


def rows_again(above: Iterable[Snapshot], brought: Brought, position: int | None) -> RowsAgain:
    """Of the commits `above` those by Flink, and repairs that brought rows of Flink's, each source position above
    `position` once: a job that was restored from an older point has written rows anew that this one holds, or that
    another commit above it wrote.

    `position`: up to it the source was read; None: not known, or of several partitions. Then all their rows count.
    """
    flinks = (s for s in above if s.job_id is not None or s.written is not None)
    commits = [s for s in flinks if s.operation != "replace"]
    if position is None:
        rows = sum(s.counted("added-records") for s in commits)
        return RowsAgain(rows, is_exact=rows == 0)
    unbounded, parts = 0, list[_Above]()
    for commit in commits:
        files = brought.get(commit.snapshot_id)
        if files is None:
            unbounded += commit.counted("added-records")
            continue
        unbounded += sum(file.rows for file in files if file.low is None or file.high is None)
        parts += [part for file in files if (part := _above(file, position)) is not None]
    most, covered = sum(part.rows for part in parts), _covered(parts)
    is_apart = covered == sum(part.high - part.low + 1 for part in parts) and all(part.is_whole for part in parts)
    is_exact = unbounded == 0 and (is_apart or all(part.is_dense for part in parts))
    return RowsAgain(unbounded + min(most, covered), is_exact)


def _above(file: DataFile, position: int) -> _Above | None:
    if file.low is None or file.high is None or file.high <= position:
        return None
    low = max(file.low, position + 1)
    width = file.high - low + 1
    is_dense = file.rows == file.high - file.low + 1
    return _Above(low, file.high, min(file.rows, width), is_dense, is_whole=low == file.low)


def _covered(parts: Iterable[_Above]) -> int:
    """Positions in at least one of them."""
    count, reached = 0, None
    for low, high in sorted((part.low, part.high) for part in parts):
        begin = low if reached is None else max(low, reached + 1)
        count += max(high - begin + 1, 0)
        reached = high if reached is None else max(reached, high)
    return count
