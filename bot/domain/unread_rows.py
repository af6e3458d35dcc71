"""A number of rows as it is told where some of what would be counted could not be read: never as none."""

from collections.abc import Iterable

from bot.domain.findings import LeakedManifest
from bot.domain.sentences import counted


def rows_told(rows: int, unread: int, deletes: int = 0) -> str:
    """`20 rows`; `0 rows and 12 deletes`; `at least 20 rows (1 manifest cannot be read)`; `an unknown number of rows
    (1 manifest cannot be read)`. `unread`: manifests whose rows are not among them."""
    told = counted(rows, "row") + (f" and {counted(deletes, 'delete')}" if deletes else "")
    if not unread:
        return told
    why = f"({counted(unread, 'manifest')} cannot be read)"
    return f"at least {told} {why}" if rows or deletes else f"an unknown number of rows {why}"


def rows_of(leaks: Iterable[LeakedManifest]) -> str:
    """The same of these manifests; `0 rows and deletes that were not counted` of one from an older version."""
    those = tuple(leaks)
    deletes = sum(leak.deletes for leak in those)
    told = rows_told(sum(leak.rows or 0 for leak in those), sum(leak.rows is None for leak in those), deletes)
    return f"{told} and deletes that were not counted" if not deletes and any(e.has_deletes for e in those) else told
