"""What anybody but the job committed to main in the window."""

from bot.diagnosis._case import in_window
from bot.domain.diagnosis import Case
from bot.domain.other_writers import changes_rows_without_flink
from bot.domain.table import Snapshot


def changes_by_others(case: Case) -> tuple[Snapshot, ...]:
    """Commits without a Flink job id that changed which rows are live, oldest first. What an approved repair of ours
    led to is looked at elsewhere."""
    table = case.observation.table
    return tuple(s for s in in_window(case) if changes_rows_without_flink(table, s))
