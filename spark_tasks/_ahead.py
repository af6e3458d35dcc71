"""Events that lie in the future of the commit that brought them: a clock is wrong, or the time is only planned."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from bot.domain.evidence import Ask
from bot.domain.ids import SnapshotId
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted
from bot.domain.table import Column as TableColumn
from bot.domain.table import Snapshot
from spark_tasks._data_files import DataFile

_CLOCKS = timedelta(minutes=5)
"""How far the clocks of the source and of the committer may be apart."""
_ZONES = timedelta(hours=14)
"""How far local time may be ahead of UTC, where the column's type leaves out whose time it is."""
_START = datetime(1970, 1, 1, tzinfo=UTC)


def latest_of(commits: Iterable[Snapshot], event: TableColumn) -> dict[SnapshotId, int]:
    """Commit -> the latest time, in microseconds since 1970, at which what it brought can have happened."""
    allowed = _CLOCKS if event.type == "timestamptz" else _CLOCKS + _ZONES
    return {each.snapshot_id: (each.committed_at + allowed - _START) // timedelta(microseconds=1) for each in commits}


def is_ahead(file: DataFile) -> bool:
    """Whether every event of a file from `timed_files` lies in the future of its commit."""
    return file.high is None and file.low is not None


def of_the_future(ask: Ask, files: Sequence[DataFile]) -> tuple[NotSeen, ...]:
    """A NotSeen where files are of such events alone, so that they tell nothing of when the others happened."""
    ahead = [file for file in files if is_ahead(file)]
    if not ahead:
        return ()
    name = ask.contract.event_time
    has = "has" if len(ahead) == 1 else "have"
    return (
        NotSeen(
            source=f"column {name} of {ask.observation.table.name}",
            reason=f"{counted(len(ahead), 'file')} {has} no event but such that lie in the future of their commit: "
            "when these happened is not known.",
            remedy="Look at the clock and the time zone of what writes them; where such times are rightly planned, "
            "name another column as event_time: one that tells when the event happened.",
        ),
    )
