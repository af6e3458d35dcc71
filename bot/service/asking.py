"""What an evidence task is asked: the world as it is now, the incident's window up to the head, and the contract."""

from bot.domain.evidence import Ask
from bot.domain.ids import SnapshotId, TableName
from bot.domain.suspicion import WATERLINE
from bot.domain.table import Window
from bot.service.observing import Observer


def ask_of(
    observer: Observer, table: TableName, window: Window, trusted: SnapshotId | None, branch: str | None = None
) -> Ask:
    """One look at the world; `branch`, if one is named, stands in the place of main. Raises CouldNotLook,
    UnknownTable."""
    observation = observer.observe(table, window=window, branch=branch)
    head, setup = observation.table.head, observer.setup(table)
    return Ask(
        observation=observation,
        window=Window(since=window.since, until=head if head is not None else window.until),
        contract=setup.contract,
        trusted=trusted if trusted is not None else observation.table.ref(WATERLINE),
        branch=branch,
        replay=setup.replay,
        copies=setup.copies,
    )
