"""The last commits of a table, as `/waterline ledger` answers."""

from bot.domain.ids import short, short_job
from bot.domain.inert import visible
from bot.domain.sentences import column_times
from bot.domain.table import TableState

_SHOWN = 12


def last_commits(table: TableState) -> str:
    """One commit a line, the newest first; times in UTC, with their day where not all are of the day of the look."""
    said = column_times((table.read_at, *(snapshot.committed_at for snapshot in table.chain[:_SHOWN])))
    lines = [f"The last commits of {table.name}, newest first (UTC):"]
    for snapshot in table.chain[:_SHOWN]:
        who = (
            f"run {short_job(snapshot.job_id)} checkpoint {snapshot.checkpoint_id}"
            if snapshot.job_id
            else snapshot.engine
        )
        lines.append(
            f"{said(snapshot.committed_at)} {short(snapshot.snapshot_id)} {snapshot.operation}, "
            f"{snapshot.counted('added-records')} rows, {visible(who)}"
        )
    if table.rolled_back:
        lines.append(f"{len(table.rolled_back)} rolled back commits are not in this list.")
    return "\n".join(lines)
