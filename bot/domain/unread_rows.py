"""A number of rows as it is told where some of what would be counted could not be read: never as none."""

from collections.abc import Iterable

from bot.domain.findings import LeakedManifest
from bot.domain.sentences import counted


def rows_told(rows: int, unread: int) -> str:
    """`20 rows`; `at least 20 rows (1 manifest cannot be read)`; `an unknown number of rows (1 manifest cannot be
    read)`. `unread`: manifests whose rows are not among them."""
    if not unread:
        return counted(rows, "row")
    why = f"({counted(unread, 'manifest')} cannot be read)"
    return f"at least {counted(rows, 'row')} {why}" if rows else f"an unknown number of rows {why}"


def rows_of(leaks: Iterable[LeakedManifest]) -> str:
    """The same of these manifests."""
    told = [leak.rows for leak in leaks]
    return rows_told(sum(rows or 0 for rows in told), sum(rows is None for rows in told))
